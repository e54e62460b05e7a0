from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from centime.graphs.webgraph.reader import WebGraph, read_webgraph
from centime.model.errors import BadGraph, BadInput
from centime.model.graph import Graph
from tests.graphs.webgraph.encoder import encode

CODES = ["UNARY", "GAMMA", "DELTA", "ZETA", "NIBBLE", "GOLOMB"]
PARTS = ["OUTDEGREES", "REFERENCES", "BLOCK_COUNT", "BLOCKS", "RESIDUALS"]


@st.composite
def similar_rows(draw: st.DrawFn) -> list[list[int]]:
    """Rows that share targets and have runs, so that every part of the format is used."""
    pages = draw(st.integers(1, 40))
    target = st.integers(0, pages - 1)
    rows: list[list[int]] = []
    for _ in range(pages):
        row: set[int] = draw(st.sets(target, max_size=5))
        left = draw(target)
        row |= set(range(left, min(pages, left + draw(st.integers(0, 9)))))
        similar = draw(st.booleans())
        if rows and similar:
            row |= set(rows[-1]) - draw(st.sets(target, max_size=4))
        rows.append(sorted(row))
    return rows


def rows_of(graph: Graph) -> list[list[int]]:
    return [graph.row(page).tolist() for page in range(graph.pages)]


@given(
    similar_rows(),
    st.lists(st.integers(0, 9), min_size=40, max_size=40),
    st.integers(0, 9),
    st.integers(0, 5),
    st.integers(1, 16),
    st.fixed_dictionaries({}, optional={part: st.sampled_from(CODES) for part in PARTS}),
)
@settings(deadline=None)
def test_what_was_encoded_is_read_back(
    rows: list[list[int]], references: list[int], window: int, least_interval: int, k: int, codes: dict[str, str]
) -> None:
    data, properties = encode(rows, references, window=window, least_interval=least_interval, k=k, codes=codes)
    assert rows_of(read_webgraph(data, properties, "x.graph")) == rows


def test_a_stream_written_by_hand_is_read() -> None:
    # page 0: out-degree 2 (gamma 011), reference 0 (1), no interval (1), residuals 1 and 2: zeta_3 of 2 and 0 (1011 and
    # 100)
    # page 1: out-degree 2 (011), reference 1 (01), no blocks, so all is copied (1); page 2: out-degree 0 (1)
    bits = "011111011100011011100000"
    data = int(bits, 2).to_bytes(3, "big")
    properties = "graphclass=it.unimi.dsi.webgraph.BVGraph\nversion=0\nnodes=3\narcs=4\n"
    properties += "windowsize=7\nminintervallength=4\nzetak=3\n"
    assert rows_of(read_webgraph(data, properties, "x.graph")) == [[1, 2], [1, 2], []]


@pytest.mark.parametrize("code", ["GAMMA", "DELTA", "ZETA", "NIBBLE"])
def test_far_targets_are_read_in_every_code_that_can_hold_them(code: str) -> None:
    pages = 60_000
    rows: list[list[int]] = [[] for _ in range(pages)]
    rows[0], rows[-1] = [0, pages - 1], [0, 30_000, pages - 1]
    data, properties = encode(rows, [0] * pages, codes={"RESIDUALS": code})
    graph = read_webgraph(data, properties, "x.graph")
    assert graph.row(0).tolist() == rows[0]
    assert graph.row(pages - 1).tolist() == rows[-1]


@given(similar_rows(), st.sampled_from(CODES), st.data())
@settings(deadline=None, max_examples=100)
def test_damage_gives_a_graph_or_a_named_error_and_nothing_else(
    rows: list[list[int]], code: str, data: st.DataObject
) -> None:
    good, properties = encode(rows, [1, 0, 2] * 14, least_interval=2, codes={"RESIDUALS": code, "REFERENCES": code})
    damaged = bytearray(good)
    for place in data.draw(st.lists(st.integers(0, len(good) - 1), max_size=4)):
        damaged[place] ^= data.draw(st.integers(1, 255))
    cut = bytes(damaged[: data.draw(st.integers(0, len(good)))])
    with suppress(BadGraph):
        graph = read_webgraph(cut + data.draw(st.binary(max_size=12)), properties, "x.graph")
        assert all(np.all(np.diff(row) > 0) for row in rows_of(graph))


@given(st.binary(max_size=300), st.integers(0, 300), st.integers(0, 1000), st.sampled_from(CODES))
@settings(deadline=None, max_examples=100)
@example(bytes(300), 300, 0, "UNARY")
@example(b"\xff" * 300, 300, 0, "NIBBLE")
def test_noise_gives_a_graph_or_a_named_error_and_nothing_else(noise: bytes, pages: int, links: int, code: str) -> None:
    _, properties = encode([[]], [0], least_interval=1, codes=dict.fromkeys(PARTS, code))
    properties += f"nodes={pages}\narcs={links}\n"
    with suppress(BadGraph):
        assert read_webgraph(noise, properties, "x.graph").links == links


def test_a_file_cut_anywhere_is_refused() -> None:
    rows = [[1, 2, 3, 4, 5, 9], [1, 2, 3, 9], [0, 9], [], [0, 1, 2, 3, 4, 5, 6, 7], [3], [], [2], [1, 2], [0, 5, 9]]
    data, properties = encode(rows, [1] * 10)
    for length in range(1, len(data)):
        with pytest.raises(BadGraph, match=r"x\.graph, byte \d+|cut off"):
            read_webgraph(data[:length], properties, "x.graph")


def bits_file(bits: str, pages: int = 2, links: int = 9) -> tuple[bytes, str]:
    """A file of the given bits, with a window of 1, intervals of 2 and more, and gamma residuals."""
    text = f"nodes={pages}\narcs={links}\nwindowsize=1\nminintervallength=2\n"
    text += "compressionflags=RESIDUALS_GAMMA | OUTDEGREES_GAMMA\n"
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big"), text


@pytest.mark.parametrize(
    ("bits", "sentence"),
    [
        ("00100", "byte 0, page 0: the out-degree is malformed or larger"),
        ("00000000", "byte 1, page 0: the file is cut off here"),
        ("01001", "the reference leads out of the window or before the first page"),
        ("0101110100100101", "the copied blocks do not fit"),
        ("01011101001010011", "the copied blocks do not fit"),
        ("011101011010011", "the copied links are more than the out-degree"),
        ("010101011", "the intervals do not fit"),
        ("010100101", "the intervals do not fit"),
        ("01110100101", "the intervals do not fit"),
        ("0101100101", "a residual leads out of the graph or is cut off"),
        ("011111010", "a residual leads out of the graph or is cut off"),
        ("0101110110111010", "a link occurs twice"),
    ],
)
def test_each_fault_has_its_sentence_and_its_place(bits: str, sentence: str) -> None:
    data, properties = bits_file(bits)
    with pytest.raises(BadGraph, match=sentence):
        read_webgraph(data, properties, "x.graph")


def test_properties_of_another_file_are_noticed() -> None:
    data, properties = encode([[1, 2], [2], [0, 1]] * 20, [0] * 60)
    changes: list[tuple[str, str]] = [
        ("nodes=3\narcs=5", "declare too few pages"),
        ("arcs=99", "more links than the properties declare"),
        ("arcs=101", "the properties declare 101"),
        ("nodes=1000000", "cannot hold"),
        ("arcs=4611686018427387904", "not enough memory"),
    ]
    for change, sentence in changes:
        with pytest.raises(BadGraph, match=sentence):
            read_webgraph(data, f"{properties}{change}\n", "x.graph")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda text: text.replace("nodes=", "knots="), "have no nodes"),
        (lambda text: text.replace("zetak=3", "zetak=0"), "zetak in the properties must be a number from 1 to 16"),
        (lambda text: text.replace("arcs=1", "arcs=many"), "not 'many'"),
        (lambda text: text.replace("version=0", "version=1"), "only version 0"),
        (lambda text: text + "endianness=little\n", "big-endian"),
        (lambda text: text.replace("BVGraph\nnodes", "EFGraph\nnodes"), "only BVGraph"),
        (lambda text: text.replace("flags=", "flags=BLOCKS_MORSE"), "BLOCKS_MORSE is unknown"),
    ],
)
def test_properties_that_cannot_be_followed_are_refused(change: Callable[[str], str], sentence: str) -> None:
    data, properties = encode([[1], []], [0, 0])
    with pytest.raises(BadGraph, match=sentence):
        read_webgraph(data, change(properties), "x.graph")


def test_a_graph_without_pages_is_read() -> None:
    data, properties = encode([], [])
    assert read_webgraph(data, properties, "x.graph").pages == 0


@given(similar_rows(), st.lists(st.integers(0, 9), min_size=40, max_size=40), st.integers(0, 9))
@settings(deadline=None)
def test_blocks_hold_what_the_whole_graph_holds(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]], references: list[int], window: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "blocks.graph"
    data, properties = encode(rows, references, window=window)
    path.write_bytes(data)
    path.with_suffix(".properties").write_text(properties)
    file = WebGraph(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("centime.graphs.webgraph.reader.BLOCK_ROWS", 3)
        patch.setattr("centime.graphs.webgraph.reader.BLOCK_LINKS", 8)
        links = [
            link for block in file.blocks() for link in zip(block.sources.tolist(), block.targets.tolist(), strict=True)
        ]
    assert links == [(page, target) for page, row in enumerate(rows) for target in row]
    assert rows_of(file.graph()) == rows


@given(similar_rows(), st.data())
@settings(deadline=None)
def test_damage_is_seen_alike_by_blocks_and_by_the_whole_graph(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]], data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.graph"
    good, properties = encode(rows, [1, 0, 2] * 14, least_interval=2)
    damaged = bytearray(good)
    for place in data.draw(st.lists(st.integers(0, len(good) - 1), max_size=4)):
        damaged[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(damaged[: data.draw(st.integers(1, len(good)) | st.just(len(good)))])
    path.with_suffix(".properties").write_text(properties)

    def found(read: Callable[[WebGraph], list[int]]) -> list[int] | None:
        try:
            return read(WebGraph(path))
        except BadGraph:
            return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("centime.graphs.webgraph.reader.BLOCK_LINKS", 8)
        in_blocks = found(lambda file: [target for block in file.blocks() for target in block.targets.tolist()])
    assert in_blocks == found(lambda file: file.graph().targets.tolist())


@given(st.binary(min_size=1, max_size=100) | st.text("nodesarcwiz=0123\n#", min_size=1).map(str.encode))
def test_noise_in_properties_gives_a_named_error(tmp_path_factory: pytest.TempPathFactory, noise: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "noise.graph"
    path.write_bytes(b"xyz")
    path.with_suffix(".properties").write_bytes(noise)
    with suppress(BadInput):
        WebGraph(path).graph()
