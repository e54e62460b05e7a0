from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from centime.change.page_state import (
    MOST_ENTRIES,
    MOST_GONE,
    PageState,
    hidden_after,
    state_of,
    unpacked,
    version_of,
    with_hidden,
)

PLACES = st.lists(
    st.tuples(st.integers(0, 2**20 - 1), st.integers(0, 2**53 - 1)), unique_by=lambda one: one[0], max_size=200
)


def made(entries: list[tuple[int, int]], watched: int = 0, hidden: int = 0, version: int = 7) -> PageState:
    places = np.array([place for place, _ in entries], dtype=np.int64)
    values = np.array([value for _, value in entries], dtype=np.int64)
    number = np.arange(len(entries))
    veiled = {int(place): int(value) for place, value in zip(places[:hidden], values[:hidden], strict=True)}
    return state_of(version, places, values, number < watched, number < 0, veiled)


def listed(state: PageState) -> list[list[int]]:
    return [state.apart.tolist(), state.entries.tolist(), state.veiled.tolist()]


@given(PLACES, st.integers(0, 40), st.integers(0, 40))
def test_a_state_is_read_as_it_was_written(entries: list[tuple[int, int]], watched: int, hidden: int) -> None:
    state = made(entries, watched, hidden)
    octets = state.packed()
    again = unpacked(octets)
    assert listed(again) == listed(state)
    assert (again.version, again.shift) == (7, state.shift)
    assert len(octets) <= 500
    assert version_of(octets) == 7
    assert with_hidden(octets, b"") == octets


@given(PLACES, st.lists(st.lists(st.booleans(), min_size=5, max_size=5), max_size=9))
def test_what_is_written_of_minor_reads_keeps_the_histories_of_all_entries(
    entries: list[tuple[int, int]], reads: list[list[bool]]
) -> None:
    hidden = min(5, len(entries))
    first = made([(place, 16) for place, _ in entries], hidden=hidden)
    stored = octets = first.packed()
    expected: dict[int, list[bool]] = {place: [] for place, _ in entries[:hidden]}
    turns = dict.fromkeys(expected, 0)
    written = b""
    for differ in reads:
        for (place, _), differs in zip(entries[:hidden], differ, strict=False):
            turns[place] += differs
            expected[place].append(differs)
        now = made([(place, 16 + turns.get(place, 0)) for place, _ in entries], hidden=hidden)
        now = replace(now, apart=first.apart, entries=first.entries)
        written = hidden_after(octets, now.compared_with(unpacked(octets)))
        octets = with_hidden(stored, written)
        assert len(written) <= 1 + 3 * hidden
    last = unpacked(octets)
    for place, differed in expected.items():
        assert bin(last.veiled_histories()[place])[3:] == "".join("01"[one] for one in differed[-5:])
    for history in last.histories().values():
        assert bin(history)[3:] == "0" * min(5, len(reads))


@given(PLACES, st.integers(1, 9))
def test_a_read_with_the_same_bytes_is_written_as_one_in_which_nothing_differs(
    entries: list[tuple[int, int]], hidden: int
) -> None:
    state = made(entries, hidden=hidden)
    octets = state.packed()
    assert hidden_after(octets) == hidden_after(octets, state.compared_with(state))


@given(PLACES, st.integers(0, 5), st.integers(0, 9))
def test_histories_follow_places_to_the_state_of_a_newer_version(
    entries: list[tuple[int, int]], watched: int, more: int
) -> None:
    old = made(entries)
    old = old.compared_with(made([(place, value ^ 1) for place, value in entries]))
    new = made(entries, watched, hidden=more, version=8)
    found = new.continuing(old, {place: place for place, _ in entries})
    differed = 0b11
    assert set(found.veiled_histories().values()) <= {differed}
    assert set(found.histories().values()) <= {differed}
    assert found.count <= MOST_ENTRIES


@given(PLACES.filter(lambda entries: len(entries) > 0), st.data())
def test_another_value_anywhere_is_a_difference(entries: list[tuple[int, int]], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(entries) - 1))
    other = list(entries)
    other[at] = (entries[at][0], entries[at][1] ^ (1 << data.draw(st.integers(0, 13))))
    one, two = made(entries), made(other)
    assert one.shift == two.shift
    assert len(one.differences(two)) == 1


def test_places_are_merged_only_if_there_are_too_many() -> None:
    entries = [(place * 5_003, place) for place in range(MOST_ENTRIES - MOST_GONE)]
    assert made(entries).shift == 0
    assert made([*entries, (3, 3)]).shift > 0
