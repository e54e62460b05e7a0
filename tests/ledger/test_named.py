"""The named front: pages by any hashable name, in a notebook."""

from pathlib import Path
from typing import Any

import pytest

from centime import Ledger
from centime.ledger.exact import ExactLedger
from centime.ledger.file import save
from centime.model.errors import BadInput, BadRow, BadSetting, DamagedFile, UnknownPage


def small_ledger() -> Ledger:
    ledger = Ledger()
    ledger.visit("home", ["news", ("a", 1)])
    ledger.visit("news", {"home": 3.0, "archive": 1.0})
    return ledger


def test_pages_are_known_when_they_are_named() -> None:
    ledger = small_ledger()
    assert len(ledger) == 4
    assert ("a", 1) in ledger
    assert "nobody" not in ledger
    with pytest.raises(UnknownPage, match="'nobody'"):
        ledger.importance("nobody")


def test_ten_lines_lead_to_ranked_pages_with_their_error() -> None:
    ledger = small_ledger()
    assert ledger.settle(error=1e-9).finished
    ledger.check()
    best, *rest = ledger.top()
    assert best.name == "home"
    assert best.importance == ledger.importance("home") > rest[0].importance
    assert best.error == pytest.approx(2 * ledger.error())
    assert ledger.statistics()["pages"] == 4


def test_dead_pages_redirects_and_focus() -> None:
    ledger = small_ledger()
    ledger.redirect("archive", "old archive")
    ledger.forget("news")
    ledger.focus(["old archive"], 9.0)
    ledger.focus(["home"], 1.0)
    ledger.settle(error=1e-9)
    ledger.check()
    assert ledger.top(1)[0].name == "old archive"


def test_a_focus_names_pages_that_are_known_and_weights_that_are_exact() -> None:
    ledger = small_ledger()
    with pytest.raises(UnknownPage, match="'nobody'"):
        ledger.focus(["nobody"], 2.0)
    with pytest.raises(BadInput, match="multiple of 1/16"):
        ledger.focus(["home"], 1.3)
    assert len(ledger) == 4


def test_a_ledger_shows_what_it_knows() -> None:
    assert repr(Ledger()) == "<Ledger of 0 pages, mean error at most 0.0e+00, best none>"
    assert repr(small_ledger()).startswith("<Ledger of 4 pages, mean error at most ")


def test_one_text_is_not_a_list_of_links() -> None:
    with pytest.raises(BadRow, match="not a single string"):
        Ledger().visit("home", "news")


def test_names_are_saved_and_come_back(tmp_path: Path) -> None:
    ledger = Ledger(damping=0.6)
    ledger.visit("home", [1, 2])
    ledger.focus([1], 2.0)
    ledger.save(tmp_path / "ledger")
    again = Ledger.load(tmp_path / "ledger")
    assert again.top() == ledger.top()
    again.focus([2], 2.0)
    again.check()
    assert again.importance(1) == pytest.approx(again.importance(2))


def test_names_that_cannot_be_saved_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"\('a', 1\)"):
        small_ledger().save(tmp_path / "ledger")
    save(ExactLedger(), tmp_path / "numbers")
    with pytest.raises(DamagedFile, match="without names"):
        Ledger.load(tmp_path / "numbers")


def test_a_ledger_reads_every_page_of_a_graph_at_once() -> None:
    links = [("a", "b", 2.0), ("a", "c", 1.0), ("b", "a", 1.0)]
    ledger = Ledger()
    ledger.visit("c", ["d"])
    ledger.visit_all(links)
    one_by_one = Ledger()
    one_by_one.visit("c", ["d"])
    for page, row in (("a", {"b": 2.0, "c": 1.0}), ("b", ["a"]), ("c", [])):
        one_by_one.visit(page, row)
    for each in (ledger, one_by_one):
        each.settle(error=1e-10)
        each.check()
    assert len(ledger) == 4
    for page in "abcd":
        assert ledger.importance(page) == pytest.approx(one_by_one.importance(page), abs=1e-8)


@pytest.mark.parametrize("count", [float("nan"), 2.5, -1])
def test_a_count_that_is_no_whole_number_gets_a_sentence(count: Any) -> None:
    for ledger in (Ledger(), ExactLedger()):
        with pytest.raises(BadSetting, match="count must be a whole number"):
            ledger.top(count)
