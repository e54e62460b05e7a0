"""The index of paths on disk: segments replace each other page by page, merging changes nothing, damage is seen."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.search import path_index as module
from centime.search.path_index import BrokenPaths, PathIndex, Segment
from centime.search.path_terms import EVERYTHING, Terms, hashed
from centime.search.xpath_condition import ANYTHING, All, AnyOf, Condition


def terms(*names: str) -> Terms:
    return np.unique(np.array([hashed(name) for name in names], dtype=np.uint64))


def made(folder: Path, *parts: dict[int, str]) -> PathIndex:
    index = PathIndex(folder / "paths", 5)
    for number, part in enumerate(parts, 1):
        index.add({page: (number, terms(*names)) for page, names in part.items()})
    return index


CONDITIONS: list[Condition] = ["a", "b", All(("a", "b")), AnyOf(("a", "c")), All(("a", AnyOf(("b", "c")))), ANYTHING]


@given(st.lists(st.dictionaries(st.integers(0, 9), st.text("abc*", max_size=3), max_size=5), max_size=5))
def test_the_newest_segment_of_a_page_counts_and_merging_changes_nothing(parts: list[dict[int, str]]) -> None:
    segments = [Segment.of({page: (1, terms(*names)) for page, names in part.items()}) for part in parts]
    index = PathIndex(Path("/nowhere"), 5)
    index.segments = segments
    newest = {page: names for part in parts for page, names in part.items()}
    for condition in CONDITIONS:
        wanted = [page for page, names in sorted(newest.items()) if EVERYTHING in names or holds(condition, set(names))]
        assert index.candidates(condition).tolist() == wanted
        if segments:
            assert Segment.merged(segments).candidates(condition).tolist() == wanted


def holds(condition: Condition, names: set[str]) -> bool:
    if isinstance(condition, str):
        return condition in names
    parts = [holds(part, names) for part in condition.parts]
    return all(parts) if isinstance(condition, All) else any(parts)


def test_an_index_is_read_back_and_made_one_when_it_has_many_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_SEGMENTS", 3)
    parts = [{number: "a", number + 1: "b"} for number in range(8)]
    index = made(tmp_path, *parts)
    assert len(index.segments) <= 3
    again = PathIndex(tmp_path / "paths", 5)
    assert again.state() == index.state()
    assert again.load()
    assert again.candidates("a").tolist() == list(range(8))
    assert again.candidates("b").tolist() == [8]
    assert again.digests(12).tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 8, 0, 0, 0]
    assert len(list((tmp_path / "paths").glob("*.seg"))) == len(again.segments), "others are removed"
    kept = again.segments[0]
    assert again.load()
    assert again.segments[0] is kept, "what is open is not read again"


def test_documents_without_any_element_are_written_and_read_back(tmp_path: Path) -> None:
    made(tmp_path, {3: ""}, {5: "a"}, {})
    again = PathIndex(tmp_path / "paths", 5)
    assert again.load()
    assert again.candidates("a").tolist() == [5]
    assert again.digests(6).tolist() == [0, 0, 0, 1, 0, 2]


def test_an_index_that_is_damaged_or_of_another_crawl_cannot_be_used(tmp_path: Path) -> None:
    made(tmp_path, {1: "a"})
    with pytest.raises(BrokenPaths, match="another crawl"):
        PathIndex(tmp_path / "paths", 6).load()
    segment = tmp_path / "paths" / "1.seg"
    whole = segment.read_bytes()
    for broken in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), b"", whole[:20]):
        segment.write_bytes(broken)
        with pytest.raises(BrokenPaths):
            PathIndex(tmp_path / "paths", 5).load()
    segment.unlink()
    with pytest.raises(BrokenPaths):
        PathIndex(tmp_path / "paths", 5).load()
    (tmp_path / "paths" / "manifest.json").write_bytes(b"{}")
    with pytest.raises(BrokenPaths, match="damaged"):
        PathIndex(tmp_path / "paths", 5).load()
    index = PathIndex(tmp_path / "paths", 5)
    index.clear()
    assert not index.load()
    assert index.state() is None
