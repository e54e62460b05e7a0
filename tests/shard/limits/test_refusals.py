"""Refused URLs are counted once each, exactly up to a bound and closely beyond it; the list is bounded and says why."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.discover.refusal import OPTIONS, REASONS, Reason
from centime.model.address import fingerprint
from centime.model.errors import StoreBroken
from centime.model.ids import PageId
from centime.shard.limits import refusals as module
from centime.shard.limits.refusals import Refusals
from centime.store.url_table import UrlTable


def url(number: int) -> str:
    return f"http://h{number % 5}.example/{number}"


def refuse(refusals: Refusals, *links: tuple[int, Reason, int]) -> None:
    """Refuses links: the number of a URL, the reason and the key of its shape."""
    prints = [fingerprint(url(number)) for number, _, _ in links]
    refusals.add(np.array(prints, dtype=np.uint64), np.array([reason for _, reason, _ in links], dtype=np.uint8))
    for one, (number, reason, key) in zip(prints, links, strict=True):
        refusals.enlist(one, reason, url(number), PageId(number + 1), key)


def again(refusals: Refusals) -> Refusals:
    """The same from a snapshot."""
    facts, arrays = refusals.state()
    listed = np.frombuffer(refusals.packed_list(), dtype=np.uint8)
    return Refusals.from_state(facts, arrays | {"listed": listed})


STORED = [reason for reason in Reason if reason is not Reason.ROBOTS]
LINKS = st.tuples(st.integers(0, 12), st.sampled_from(STORED), st.integers(0, 3))
STEPS = st.lists(st.tuples(st.lists(LINKS, max_size=5), st.lists(st.integers(0, 12), max_size=2)), max_size=8)


@given(STEPS, st.integers(0, 8))
def test_counts_and_list_are_those_of_a_plain_dictionary(
    steps: list[tuple[list[tuple[int, Reason, int]], list[int]]], cut: int
) -> None:
    refusals = Refusals()
    reasons: dict[int, Reason] = {}
    times: Counter[int] = Counter()
    for place, (refused, admitted) in enumerate(steps):
        if place == cut:
            refusals = again(refusals)
        refuse(refusals, *refused)
        for number, reason, _ in refused:
            reasons[number] = reason
            times[number] += 1
        refusals.admitted(np.array([fingerprint(url(number)) for number in admitted], dtype=np.uint64))
        for number in admitted:
            reasons.pop(number, None)
            times.pop(number, None)
        refusals.check(UrlTable())
    assert refusals.counts() == Counter(reasons.values())
    assert len(refusals) == len(reasons)
    assert {reason: refusals.links[reason] for reason in Reason} == {
        reason: sum(times[number] for number, its in reasons.items() if its is reason) for reason in Reason
    }
    assert {one.url: (one.reason, one.times) for one in refusals.listed()} == {
        url(number): (reason, times[number]) for number, reason in reasons.items()
    }
    assert again(refusals).packed_list() == refusals.packed_list()


def test_what_waits_for_evidence_is_found_by_its_shape_the_oldest_first() -> None:
    refusals = Refusals()
    refuse(refusals, *((number, Reason.TRAP, 7 + number % 2) for number in range(10)))
    assert [one.url for _, one in refusals.pending(7, 3)] == [url(0), url(2), url(4)]
    refusals.admitted(np.array([fingerprint(url(0))], dtype=np.uint64))
    refuse(refusals, (2, Reason.EXCLUDE, 0))
    for one in (refusals, again(refusals)):
        assert [found.url for _, found in one.pending(7, float("inf"))] == [url(4), url(6), url(8)]
        assert one.pending(99, 5) == []


def test_the_list_is_bounded_for_each_reason_and_counts_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LISTED", 20)
    refusals = Refusals()
    refuse(refusals, *((number, Reason.SCOPE, 0) for number in range(100)), (1_000, Reason.TRAP, 5))
    assert Counter(one.reason for one in refusals.listed()) == {Reason.SCOPE: 20, Reason.TRAP: 1}
    assert refusals.counts() == {Reason.SCOPE: 100, Reason.TRAP: 1}
    refusals.admitted(np.array([fingerprint(url(3))], dtype=np.uint64))
    refuse(refusals, (500, Reason.SCOPE, 0))
    assert {url(500), url(4)} < {one.url for one in refusals.listed()}, "there is room again"


def test_beyond_the_bound_frequent_reasons_are_estimated_and_rare_ones_stay_exact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_COUNTED", 4_000)
    refusals = Refusals()
    for begin in range(0, 100_000, 1_000):
        prints = np.array([fingerprint(url(number)) for number in range(begin, begin + 1_000)], dtype=np.uint64)
        for _ in range(2):  # a link that is repeated counts once
            refusals.add(prints, np.full(1_000, Reason.SCOPE, dtype=np.uint8))
    refuse(refusals, *((200_000 + number, Reason.TRAP, 0) for number in range(14)))
    counts = refusals.counts()
    assert counts[Reason.TRAP] == 14
    assert counts[Reason.SCOPE] == pytest.approx(100_000, rel=4 / 2_000**0.5)
    assert refusals.links[Reason.SCOPE] == 200_000
    assert refusals.facts()["refused_estimated"] == ["scope"]
    assert refusals.nbytes < 200_000
    refusals.check(UrlTable())
    assert again(refusals).counts() == counts


def test_a_refused_url_that_is_a_page_is_a_broken_invariant() -> None:
    refusals, known = Refusals(), UrlTable()
    refuse(refusals, (1, Reason.SCOPE, 0))
    refusals.check(known)
    known.find_or_add(np.array([fingerprint(url(1))], dtype=np.uint64))
    with pytest.raises(StoreBroken, match="known page"):
        refusals.check(known)


def test_every_reason_has_a_name_and_says_what_lets_a_url_in() -> None:
    assert set(OPTIONS) == set(Reason) == set(REASONS.values())
    assert max(Reason) < 16, "a verdict has four bits for it"
