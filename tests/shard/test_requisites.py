import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.model.errors import StoreBroken
from centime.model.ids import PageId
from centime.shard.requisites import Requisites

HOSTS = np.arange(60, dtype=np.uint32) % 3


@st.composite
def grown(draw: st.DrawFn) -> tuple[Requisites, dict[int, int]]:
    """Requisites as a crawl adds them, some of which became pages; and the nesting of each page, by a plain rule."""
    found, nesting = Requisites(), dict.fromkeys(range(60), 0)
    first = draw(st.integers(1, 30))
    while first < 60 and draw(st.booleans()):
        last = draw(st.integers(first, min(60, first + 8) - 1))
        pages = np.arange(first, last + 1)
        parents = np.array([draw(st.integers(0, first - 1)) for _ in pages])
        depths = np.array([nesting[parent] + 1 for parent in parents.tolist()], dtype=np.uint8)
        found.add(pages, parents, depths, HOSTS[pages].astype(np.int32))
        nesting.update(zip(pages.tolist(), depths.tolist(), strict=True))
        pages_now = draw(st.lists(st.integers(-1, 70), max_size=3))
        found.become_pages(np.array(pages_now, dtype=np.int64))
        nesting.update((page, 0) for page in pages_now if page in nesting)
        first = last + 1 + draw(st.integers(0, 3))
    return found, nesting


@given(grown())
def test_nesting_is_that_of_what_needs_it_and_one_more_until_it_becomes_a_page(
    case: tuple[Requisites, dict[int, int]],
) -> None:
    found, nesting = case
    pages = np.arange(60)
    assert found.nesting(pages).tolist() == [nesting[page] for page in range(60)]
    assert [found.nesting_of(PageId(page)) for page in range(60)] == list(nesting.values())
    assert found.every().tolist() == [page for page in range(60) if nesting[page]]


@given(grown())
def test_a_snapshot_brings_the_same_requisites_back_and_they_are_right(
    case: tuple[Requisites, dict[int, int]],
) -> None:
    found, _ = case
    facts, arrays = found.state()
    again = Requisites.from_state(facts, arrays)
    for name, array in again.state()[1].items():
        assert np.array_equal(array, arrays[name])
    assert again.state()[0] == facts
    assert again.check(60, HOSTS) == len(found.every())


def test_a_snapshot_of_an_earlier_version_has_no_requisites() -> None:
    found = Requisites.from_state({}, {})
    assert found.check(5, HOSTS[:5]) == 0
    found.become_pages(np.array([1, 2]))
    assert found.became_pages == 0


def test_broken_requisites_are_found() -> None:
    found = Requisites()
    found.add(np.array([3, 4]), np.array([0, 3]), np.array([1, 2], dtype=np.uint8), np.array([0, 1], dtype=np.int32))
    assert found.check(60, HOSTS) == 2
    facts, arrays = found.state()
    for name, place, value in (("parent", 3, 3), ("nesting", 4, 1), ("nesting", 2, 1), ("of_host", 0, 0)):
        broken = {other: array.copy() for other, array in arrays.items()}
        broken[name][place] = value
        with pytest.raises(StoreBroken):
            Requisites.from_state(facts, broken).check(60, HOSTS)
    with pytest.raises(StoreBroken):
        found.check(4, HOSTS)
