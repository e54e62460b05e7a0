"""Slices: every link is where it belongs, on disk and in memory, and a damaged folder says so."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from centime.model.errors import DamagedFile
from centime.model.graph import Graph, graph_from_links
from centime.rank.sliced.memory import MemorySlices
from centime.rank.sliced.slices import Manifest, SliceWriter, read_manifest, slice_path
from centime.rank.sliced.solver import DiskSlices, Slices

Link = tuple[int, int]


def written(folder: Path, graph: Graph, bits: int, at_once: int = 7) -> DiskSlices:
    folder.mkdir(exist_ok=True)
    writer = SliceWriter(folder, graph.pages, bits, 0)
    sources = np.repeat(np.arange(graph.pages, dtype=np.int32), graph.out_degree)
    for start in range(0, graph.links, at_once):
        writer.deal(sources[start : start + at_once], graph.targets[start : start + at_once])
    return DiskSlices(folder, writer.finish({"name": "test"}))


def links_in(slices: Slices) -> list[Link]:
    """The links of all slices, read word by word."""
    found = []
    for number in range(slices.slices):
        first = number << slices.bits
        for before, _, words in slices.units(number, np.empty(1 << 10, dtype=np.uint32)):
            source = before
            for word in words.tolist():
                source += word >> (slices.bits + 1)
                target = word & ((1 << (slices.bits + 1)) - 1)
                if target < 1 << slices.bits:
                    found.append((source, first + target))
    return sorted(found)


@given(
    pages=st.integers(1, 9000),
    links=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=60),
    bits=st.sampled_from([2, 10, 20]),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_slices_hold_every_link_but_those_of_a_page_to_itself(
    pages: int, links: list[Link], bits: int, tmp_path: Path
) -> None:
    pages = min(pages, 200) if bits == 2 else pages
    links = [(source % pages, target % pages) for source, target in links]
    graph = graph_from_links(pages, [source for source, _ in links], [target for _, target in links])
    expected = sorted(link for link in links if link[0] != link[1])
    own = np.bincount([source for source, target in links if source == target], minlength=pages)
    for slices in (written(tmp_path / "slices", graph, bits), MemorySlices(graph, bits)):
        assert links_in(slices) == expected
        assert np.array_equal(slices.degrees(0, pages), graph.out_degree)
        assert np.array_equal(slices.own(0, pages), own)
        assert (slices.pages, slices.links) == (pages, graph.links)


def test_a_page_with_a_thousand_links_to_itself_keeps_count(tmp_path: Path) -> None:
    graph = graph_from_links(2, [0] * 1001, [0] * 1000 + [1])
    for slices in (written(tmp_path, graph, 10), MemorySlices(graph)):
        assert slices.own(0, 2).tolist() == [1000, 0]
        assert links_in(slices) == [(0, 1)]


def test_a_slice_of_many_units_is_read_in_pieces_that_know_where_they_begin(tmp_path: Path) -> None:
    chance = np.random.default_rng(0)
    graph = graph_from_links(3000, chance.integers(0, 3000, 20_000), chance.integers(0, 3000, 20_000))
    slices = written(tmp_path, graph, 10, at_once=5000)
    assert slices.manifest.unit == 256
    whole = links_in(slices)
    for first, end, words in slices.units(1, np.empty(512, dtype=np.uint32)):
        assert first + int((words >> np.uint32(11)).sum()) <= end
    assert len(whole) == int((np.repeat(np.arange(3000), graph.out_degree) != graph.targets).sum())


def test_a_folder_without_its_manifest_is_not_finished(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) is None
    slices = written(tmp_path, graph_from_links(5, [0, 3], [1, 2]), 10)
    found = read_manifest(tmp_path)
    assert isinstance(found, Manifest)
    assert found == slices.manifest
    assert found.dangling == 3


def test_a_damaged_folder_says_so(tmp_path: Path) -> None:
    slices = written(tmp_path, graph_from_links(5, [0, 3], [1, 2]), 10)
    slice_path(tmp_path, 0).write_bytes(b"1234")
    with pytest.raises(DamagedFile, match="should have 8 bytes"):
        read_manifest(tmp_path)
    with pytest.raises(DamagedFile, match="cut short"):
        list(slices.units(0, np.empty(1 << 10, dtype=np.uint32)))
    for text, sentence in (("no json", "not a manifest"), ("{}", "not a manifest")):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(DamagedFile, match=sentence):
            read_manifest(tmp_path)
    written(tmp_path, graph_from_links(5, [0, 3], [1, 2]), 10)
    text = (tmp_path / "manifest.json").read_text()
    (tmp_path / "manifest.json").write_text(text.replace('"format": 1', '"format": 7'))
    with pytest.raises(DamagedFile, match="format 7"):
        read_manifest(tmp_path)
