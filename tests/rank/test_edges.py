from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.model.errors import BadGraph
from centime.model.graph import Graph
from centime.rank.edges import parse_edges


def links_of(graph: Graph) -> list[tuple[int, int]]:
    return [(page, int(target)) for page in range(graph.pages) for target in graph.row(page)]


@pytest.mark.parametrize(
    "text",
    [
        "0 1\n1 2\n1 0\n",
        "0\t1\n1\t2\n1\t0",
        "0,1\r\n1 , 2\r\n1,\t0\r\n",
        "# a comment 7 7\n\n% another\n  0   1  \n1 2\n\n1 0\n  # the end",
        "from to\n0 1\n1 2\n1 0\n",
        "\ufeffsource,target\n0,1\n1,2\n1,0\n",
        "1 2\n2 3\n2 1\n",
        "000 01\n1 2\n1 0\n",
    ],
)
def test_the_same_links_are_read_in_every_way_to_write_them(text: str) -> None:
    graph = parse_edges(text.encode(), "x.txt")
    assert graph.pages == 3
    assert links_of(graph) == [(0, 1), (1, 2), (1, 0)]


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=1),
    st.sampled_from([" ", "\t", ",", ", ", " \t "]),
    st.sampled_from(["\n", "\r\n", "\n\n", "\n#1 2\n"]),
)
def test_what_was_written_is_read_back(links: list[tuple[int, int]], separator: str, end: str) -> None:
    links = [*links, (0, 0)]
    text = "".join(f"{source}{separator}{target}{end}" for source, target in links)
    graph = parse_edges(text.encode(), "x.txt")
    assert graph.pages == 1 + max(max(link) for link in links)
    assert links_of(graph) == sorted(links, key=lambda link: link[0])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0 1\n1\n", "x.txt, line 2: expected two page numbers"),
        ("0 1\n\n# x\n1 2 3\n", "x.txt, line 4: expected two"),
        ("0 1\n1 2.5\n", "line 2: expected two"),
        ("0 1\n1 -2\n", "line 2: expected two"),
        ("0 1\n1,,2\n", "line 2: expected two"),
        ("0 1\n,1 2\n", "line 2: expected two"),
        ("0 1\none two\n", "line 2: expected two"),
        ("from to\nfrom to\n0 1\n", "line 2: expected two"),
        ("1 2x\n", "line 1: expected two"),
        ("1x 2\n", "line 1: expected two"),
        ("0 1\n0 2147483647\n", "line 2: a page number is above 2147483646"),
        ("0 1\n99999999999999999999999999 1\n", "line 2: a page number is above"),
        ("0 1\n0 2000000000\n", "2000000000 is too large for 2 links"),
        ("# nothing\n\n", "there is no link"),
        ("from to", "there is no link"),
    ],
)
def test_a_line_that_is_no_link_is_named(text: str, sentence: str) -> None:
    with pytest.raises(BadGraph, match=sentence):
        parse_edges(text.encode(), "x.txt")


@given(st.binary(max_size=60) | st.text(alphabet="019 ,\t\r\n#%x-", max_size=60).map(str.encode))
def test_any_bytes_give_a_graph_or_a_named_error(data: bytes) -> None:
    with suppress(BadGraph):
        assert parse_edges(data, "x.txt").links > 0
