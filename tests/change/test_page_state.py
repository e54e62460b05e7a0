import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from centime.change.page_state import MOST_ENTRIES, PageState, hidden_of, state_of, unpacked, version_of, with_hidden

PLACES = st.lists(
    st.tuples(st.integers(0, 2**20 - 1), st.integers(0, 2**53 - 1)), unique_by=lambda one: one[0], max_size=200
)


def made(entries: list[tuple[int, int]], watched: int = 0, volatile: int = 0, version: int = 7) -> PageState:
    places = np.array([place for place, _ in entries], dtype=np.int64)
    values = np.array([value for _, value in entries], dtype=np.int64)
    number = np.arange(len(entries))
    return state_of(
        version, places, values, number < watched, (number >= watched) & (number < watched + volatile), bytes(range(16))
    )


@given(PLACES, st.integers(0, 5), st.integers(0, 5))
def test_a_state_is_read_as_it_was_written(entries: list[tuple[int, int]], watched: int, volatile: int) -> None:
    state = made(entries, watched, volatile)
    octets = state.packed()
    again = unpacked(octets)
    assert again.same_as(state)
    assert (again.version, again.shift, again.hidden) == (7, state.shift, bytes(range(16)))
    assert again.places() == state.places()
    assert len(octets) <= 500
    assert version_of(octets) == 7
    assert hidden_of(with_hidden(octets, bytes(16))) == bytes(16)


@given(PLACES.filter(lambda entries: len(entries) > 0), st.data())
def test_another_value_anywhere_is_a_difference(entries: list[tuple[int, int]], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(entries) - 1))
    other = list(entries)
    other[at] = (entries[at][0], entries[at][1] ^ (1 << data.draw(st.integers(0, 19))))
    one, two = made(entries), made(other)
    assert one.shift == two.shift
    assert len(one.differences(two)) == 1


def test_places_are_merged_only_if_there_are_too_many() -> None:
    entries = [(place * 5_003, place) for place in range(MOST_ENTRIES)]
    assert made(entries).shift == 0
    assert made([*entries, (3, 3)]).shift > 0
