from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from centime.graphs.edges import EdgeList
from centime.graphs.link_blocks import collect
from centime.graphs.names import NamedGraph
from centime.model.errors import BadGraph, BadInput

Read = Callable[..., NamedGraph]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    folder = tmp_path_factory.mktemp("edges")

    def read_text(text: str | bytes, name: str = "x.txt") -> NamedGraph:
        path = folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return collect(EdgeList(path))

    return read_text


def links_of(named: NamedGraph) -> list[tuple[object, ...]]:
    """Every link with its end points by name, if they have names, and its weight, if it has one."""
    graph, names = named.graph, named.names
    found: list[tuple[object, ...]] = []
    for page in range(graph.pages):
        for link in range(graph.offsets[page], graph.offsets[page + 1]):
            ends = (page, int(graph.targets[link]))
            weight = () if graph.weights is None else (float(graph.weights[link]),)
            found.append((*(ends if names is None else (names[end] for end in ends)), *weight))
    return found


@pytest.mark.parametrize(
    "text",
    [
        "0 1\n1 2\n1 0\n",
        "0\t1\n1\t2\n1\t0",
        "0,1\r\n1 , 2\r\n1,\t0\r\n",
        "# a comment 7 7\n\n% another\n  0   1  \n1 2\n\n1 0\n  # the end",
        "from to\n0 1\n1 2\n1 0\n",
        "a heading in so many words, none a number\n0 1\n1 2\n1 0\n",
        "\ufeffsource,target\n0,1\n1,2\n1,0\n",
        "\ufeff0,1\n1,2\n1,0\n",
        "1 2\n2 3\n2 1\n",
        "000 01\n1 2\n1 0\n",
        "1 2\n1 0\n0 1\n",
        "0 1 1\n1 2 1.0\n1 0 1e0\n",
    ],
)
def test_the_same_links_are_read_in_every_way_to_write_them(read: Read, text: str) -> None:
    named = read(text)
    assert named.graph.pages == 3
    assert named.names is None
    assert links_of(named) == [(0, 1), (1, 2), (1, 0)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a b\nb c d\n".replace(" d", ""), "x.txt"),
        ("a\tb\r\nb\tc\r\n", "x.tsv"),
        ("a,b\nb,c", "x.txt"),
        ("a, b\n b ,c\n", "x.txt"),
        ('"a","b"\nb,"c"\n', "x.csv"),
        ("Source Target\na b\nb c\n", "x.txt"),
        ('"source","target"\na,b\n# x y\n\nb,c\n', "x.csv"),
        ("from\tto\n \n% c\na\tb\nb\tc\n", "x.tsv"),
    ],
)
def test_named_pages_are_numbered_by_first_mention(read: Read, text: str, name: str) -> None:
    named = read(text, name)
    assert named.names is not None
    assert list(named.names) == ["a", "b", "c"]
    assert links_of(named) == [("a", "b"), ("b", "c")]


def test_names_keep_blanks_between_tabs_and_commas_between_quotes(read: Read) -> None:
    assert links_of(read("The Beatles\tAbbey Road, 1969\n")) == [("The Beatles", "Abbey Road, 1969")]
    assert links_of(read('"He said ""no"", twice", x y \n', "x.csv")) == [('He said "no", twice', "x y")]
    assert links_of(read("http://a/?x=1,2 http://b/\n")) == [("http://a/?x=1,2", "http://b/")]
    assert links_of(read("Ærø Köln\nΔ 東京\n")) == [("Ærø", "Köln"), ("Δ", "東京")]
    assert links_of(read("12 a\n13 14\n")) == [("12", "a"), ("13", "14")]


def test_a_third_column_is_the_weight(read: Read) -> None:
    assert links_of(read("0 1 2\n1 0 0.5\n")) == [(0, 1, 2.0), (1, 0, 0.5)]
    assert links_of(read("a,b,2e-3\nb,a,.5\n")) == [("a", "b", 0.002), ("b", "a", 0.5)]
    assert links_of(read("source\ttarget\tweight\na\tb\t 7. \nb\ta\t+3\n")) == [("a", "b", 7.0), ("b", "a", 3.0)]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.floats(0, allow_infinity=False)), min_size=1),
    st.sampled_from([" ", "\t", ","]),
)
def test_weights_are_read_to_the_last_bit(read: Read, weights: list[tuple[int, float]], separator: str) -> None:
    text = "".join(f"{source}{separator}0{separator}{weight!r}\n" for source, weight in [*weights, (0, 0.0)])
    expected = sorted([*weights, (0, 0.0)], key=lambda link: link[0])
    assert links_of(read(text)) == [(source, 0, weight) for source, weight in expected]


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=1),
    st.sampled_from([" ", "\t", ",", ", ", " \t "]),
    st.sampled_from(["\n", "\r\n", "\n\n", "\n#1 2\n"]),
)
def test_what_was_written_is_read_back(read: Read, links: list[tuple[int, int]], separator: str, end: str) -> None:
    links = [*links, (0, 0)]
    text = "".join(f"{source}{separator}{target}{end}" for source, target in links)
    named = read(text)
    assert named.graph.pages == 1 + max(max(link) for link in links)
    assert links_of(named) == sorted(links, key=lambda link: link[0])


NAMES = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters=',#%"'), min_size=1).map(
    lambda name: f"p{name}"
)


@given(
    st.lists(st.tuples(NAMES, NAMES), min_size=1),
    st.sampled_from([" ", "\t", ","]),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
)
def test_names_that_were_written_are_read_back(
    read: Read, links: list[tuple[str, str]], separator: str, end: str
) -> None:
    named = read("".join(f"{source}{separator}{target}{end}" for source, target in links))
    number = {name: None for link in links for name in link}
    assert named.names is not None
    assert list(named.names) == list(number)
    order = {name: place for place, name in enumerate(number)}
    assert links_of(named) == sorted(links, key=lambda link: order[link[0]])


def test_a_list_of_many_blocks_is_read_whole(read: Read) -> None:
    links = [(page * 7919 % 50_000, page * page % 50_000) for page in range(200_000)]
    expected = sorted(links, key=lambda link: link[0])
    assert links_of(read("".join(f"{source} {target}\n" for source, target in links))) == expected
    named = read("".join(f"n{source} n{target} 2\n" for source, target in links))
    assert sorted(links_of(named)) == sorted((f"n{source}", f"n{target}", 2.0) for source, target in links)


def test_a_comment_of_ours_tells_of_pages_without_links(read: Read) -> None:
    assert read("# centime: numbers, 9 pages\n3 4\n").graph.pages == 9
    assert read("# centime: numbers, 9 pages\n").graph.pages == 9
    assert links_of(read("# centime: numbers, 9 pages\n3 4\n")) == [(3, 4)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0 1\n1\n", r"x\.txt, line 2: expected two page numbers"),
        ("0 1\n\n# x\n1 2 3\n", r"x\.txt, line 4: expected two"),
        ("0 1 1\n1 2\n", "line 2: expected two page numbers, a weight and nothing else"),
        ("0 1\n1 2.5\n", "line 2: expected two"),
        ("0 1\n1 -2\n", "line 2: expected two"),
        ("0 -1\n1 2\n", "line 1: expected two"),
        ("0 1\n1,,2\n", "line 2: expected two"),
        ("0 1\n,1 2\n", "line 2: expected two"),
        ("0 1\none two\n", "line 2: expected two"),
        ("one heading\nanother heading\n0 1 2 3\n", "line 3: expected two names and"),
        ("from to\n0 1\n1x 2\n", "line 3: expected two"),
        ("a b\nc\n", "line 2: expected two names and"),
        ("a\tb\nc d\n", "line 2: expected two names with a tab between"),
        ("a,b\n,d\n", "line 2: expected two names with a comma between"),
        ('"a",b\n"c,d\n', "line 2: expected two names with a comma"),
        ("a b\nc \x01d\n", "line 2: expected two names"),
        (b"a b\nc d\xff\n", "line 2: the name b'd.xff' is not UTF-8"),
        (b"a b\nc\xc3 \xa4d\n", "line 2: the name .* is not UTF-8"),
        ("0 1\n0 2147483647\n", "line 2: a page number is not from 0 to 2147483646"),
        ("0 1\n99999999999999999999999999 1\n", "line 2: a page number is not from"),
        ("0 1\n0 2000000000\n", "2000000000 is too large for 2 links"),
        ("0 1 1\n1 2 -1\n", "line 2: a weight must be a finite number, zero or more, not '-1'"),
        ("0 1 1\n1 2 nan\n", "line 2: a weight must .* not 'nan'"),
        ("0 1 1\n1 2 inf\n", "line 2: a weight must"),
        ("0 1 1\n1 2 1e999\n", "line 2: a weight must"),
        ("0 1 1\n1 2 1_0\n", "line 2: a weight must"),
        ("a b c\n", "line 1: a weight must .* not 'c'"),
        ("a b c d\n", "line 1: expected a link"),
        ("a\n", "line 1: expected a link"),
        ("# centime: numbers, 3 pages\n0 3\n", "line 2: a page number is not among the 3 pages"),
        ("# centime: numbers, 2147483647 pages\n0 3\n", "too many for 1 links"),
        ("# centime: numbers, 0 pages\n", "the graph has no pages"),
        ("# nothing\n\n", "the file has no links"),
        ("from to", "the file has no links"),
        ("0 1\n" + "#" * 300_000, "byte 4: the line is longer than 262144 bytes"),
    ],
)
def test_a_line_that_is_no_link_is_named(read: Read, text: str | bytes, sentence: str) -> None:
    with pytest.raises(BadGraph, match=sentence):
        read(text)


ALPHABET = '019 ,\t\r\n#%x-.e"ä\x00'


@given(
    st.binary(min_size=1, max_size=60) | st.text(alphabet=ALPHABET, min_size=1, max_size=60).map(str.encode),
    st.sampled_from(["x.txt", "x.csv", "x.tsv"]),
)
@example(b'a,"', "x.csv")
@example(b'a,""', "x.csv")
@example(b"0 1 ", "x.txt")
@example(b"0 1 1\n0 1 ", "x.txt")
def test_any_bytes_give_a_graph_or_a_named_error(read: Read, data: bytes, name: str) -> None:
    with suppress(BadInput):
        assert read(data, name).graph.pages > 0


@given(st.binary(max_size=80), st.sampled_from([".gz", ".zst"]), st.booleans())
def test_noise_in_packed_files_gives_a_named_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, packing: str, marked: bool
) -> None:
    path = Path(tmp_path_factory.getbasetemp()) / f"noise.txt{packing}"
    path.write_bytes((b"\x1f\x8b\x08" if packing == ".gz" else b"\x28\xb5\x2f\xfd") * marked + data)
    with suppress(BadInput):
        collect(EdgeList(path))
