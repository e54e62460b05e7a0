import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.graphs.names import NamedGraph, NameTable, PageNames
from centime.model.errors import BadGraph
from centime.model.graph import graph_from_links

NAMES = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(NAMES, unique=True), st.lists(NAMES))
def test_every_name_is_found_by_its_number_and_every_number_by_its_name(names: list[str], others: list[str]) -> None:
    pages = PageNames.of(names)
    assert list(pages) == names
    assert [pages.find(name) for name in names] == list(range(len(names)))
    assert [pages.find(name) for name in others] == [names.index(name) if name in names else None for name in others]


@given(st.lists(st.lists(NAMES)))
def test_a_name_keeps_the_number_of_its_first_mention(lists: list[list[str]]) -> None:
    table = NameTable()
    numbers = [number for names in lists for number in table.add(names).tolist()]
    mentioned = [name for names in lists for name in names]
    order = list(dict.fromkeys(mentioned))
    assert numbers == [order.index(name) for name in mentioned]
    assert list(table.names()) == order


@given(st.lists(NAMES), st.lists(NAMES))
def test_a_closed_table_finds_old_names_and_takes_no_new_ones(old: list[str], asked: list[str]) -> None:
    table = NameTable()
    table.add(old)
    names = table.names()
    order = list(dict.fromkeys(old))
    assert table.add(asked).tolist() == [order.index(name) if name in order else -1 for name in asked]
    assert list(names) == list(table.names()) == order


def test_many_similar_names_stay_apart() -> None:
    names = [f"http://www.example.org/{'x' * (page % 5)}{page}" for page in range(20_000)]
    pages = PageNames.of(names)
    assert all(pages.find(name) == page for page, name in enumerate(names))
    assert pages.find("http://www.example.org/") is None


def test_what_no_page_can_be_called_is_not_found() -> None:
    assert PageNames.of(["a", "?"]).find("\ud800") is None
    with pytest.raises(BadGraph, match="cannot be encoded in UTF-8"):
        PageNames.of(["\ud800"])


def test_numbers_without_names_are_refused() -> None:
    names = PageNames.of(["a", "b"])
    for page in (-1, 2):
        with pytest.raises(IndexError, match=f"no page {page} among 2 names"):
            names[page]
    with pytest.raises(BadGraph, match="two pages have the name 'a'"):
        PageNames.of(["a", "b", "a"])
    with pytest.raises(BadGraph, match="2 names for 3 pages"):
        NamedGraph(graph_from_links(3, [0], [1]), names)
