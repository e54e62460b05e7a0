"""Outcomes and kinds are written to disk, so their numbers stay; an outcome has at most one of three properties."""

import pytest

from centime.model.outcome import Outcome, PageKind


def test_the_numbers_on_disk_stay_what_they_are() -> None:
    assert [outcome.value for outcome in Outcome] == list(range(18))
    assert [kind.name for kind in PageKind] == ["UNREAD", "HTML", "XML", "DTD", "OTHER", "ERROR", "DEAD"]


@pytest.mark.parametrize("outcome", Outcome)
def test_an_outcome_is_found_or_leads_on_or_passes_or_is_final(outcome: Outcome) -> None:
    assert outcome.present + outcome.redirect + outcome.transient + outcome.denied <= 1
    final = {Outcome.GONE, Outcome.CLIENT_ERROR, Outcome.DISALLOWED, Outcome.EXCLUDED, Outcome.REFUSED_ADDRESS}
    assert (outcome in final) == (not (outcome.present or outcome.redirect or outcome.transient))
