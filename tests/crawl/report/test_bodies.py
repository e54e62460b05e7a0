import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from centime.crawl.check.archive import check_archive
from centime.crawl.check.check import check_crawl
from centime.crawl.check.findings import Findings
from centime.crawl.engine.reader import read_crawl
from centime.crawl.report.bodies import body_of, capture_at, captures_of, when
from centime.model.errors import BadInput, DamagedFile, UnknownPage
from centime.model.ids import PageId
from centime.store.archives.captures import Capture, capture_of


@pytest.fixture(scope="session")
def seed(box: Path) -> str:
    return read_crawl(box).shard.pages.texts.get(PageId(0))


def test_the_body_of_a_page_is_the_one_that_was_read(box: Path, seed: str) -> None:
    captures = captures_of(box, seed)
    body = body_of(box, captures[-1])
    record = read_crawl(box).shard.pages.last(PageId(0))
    assert record is not None
    assert len(body) == record.body_bytes
    assert b"<html" in body.lower()


def test_a_body_is_found_by_time_and_a_day_means_its_end() -> None:
    captures = [
        Capture(
            url="http://a.example/",
            timestamp=time,
            mime="text/html",
            digest="A",
            offset=0,
            length=1,
            filename="f",
            status=200,
        )
        for time in ("20260101120000", "20260105120000")
    ]
    assert capture_at(captures, None) is captures[1]
    assert capture_at(captures, "2026-01-01") is captures[0]
    assert capture_at(captures, "2026-01-05T11:59:59Z") is captures[0]
    assert capture_at(captures, "20260105120000") is captures[1]
    assert capture_at(captures, "2026") is captures[1]
    assert when(captures[0]) == "2026-01-01T12:00:00Z"
    with pytest.raises(UnknownPage, match="first body was stored at 2026-01-01T12:00:00Z, after 2025"):
        capture_at(captures, "2025")
    for nonsense in ("yesterday", "202", "2026-01-01-01-01-01-01-01"):
        with pytest.raises(BadInput, match="a time is written like"):
            capture_at(captures, nonsense)


def test_a_page_without_a_body_is_an_error_with_the_reason(box: Path, small_folder: Path) -> None:
    with pytest.raises(UnknownPage, match=r"keeps no bodies \(--keep none\)"):
        captures_of(small_folder, "http://a.example/")
    with pytest.raises(UnknownPage, match="this crawl keeps all"):
        captures_of(box, "http://nobody.example/")
    with pytest.raises(BadInput, match="not the URL of a page"):
        captures_of(box, "nothing")


def test_no_bit_of_a_line_of_the_index_flips_unseen(box: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(box / "bodies", tmp_path / "bodies"))
    (index,) = folder.glob("*.cdxj")
    (warc,) = folder.glob("*.warc.gz")
    capture = capture_of(index.read_bytes().splitlines(keepends=True)[7])
    with warc.open("rb") as file:
        file.seek(capture.offset)
        alone = file.read(capture.length)
    warc.write_bytes(alone)
    line = replace(capture, offset=0).line()
    index.write_bytes(line)
    findings = Findings()
    check_archive(folder, findings)
    assert findings.problems == []
    for place in range(len(line)):
        for bit in range(8):
            data = bytearray(line)
            data[place] ^= 1 << bit
            index.write_bytes(data)
            findings = Findings()
            check_archive(folder, findings)
            assert findings.problems, (place, bit, line)


def test_damage_in_the_archive_is_found_wherever_it_is(box: Path, seed: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(box, tmp_path / "copy"))
    (warc,) = (folder / "bodies").glob("*.warc.gz")
    (index,) = (folder / "bodies").glob("*.cdxj")
    for path in (warc, index):
        kept = path.read_bytes()
        for place in (5 if path == index else 400, len(kept) // 2, len(kept) - 3):
            data = bytearray(kept)
            data[place] ^= 0x04
            path.write_bytes(data)
            problems = [problem for problem in check_crawl(folder).problems if problem.part == "bodies"]
            assert problems, (path, place)
            assert {problem.file for problem in problems} <= {str(warc), str(index)}
        path.write_bytes(kept[:-20])
        assert [problem for problem in check_crawl(folder).problems if problem.part == "bodies"]
        path.unlink()
        assert [problem for problem in check_crawl(folder).problems if problem.part == "bodies"]
        path.write_bytes(kept)
    assert check_crawl(folder).problems == []
    (capture,) = captures_of(folder, seed)
    assert isinstance(capture, Capture)
    data = bytearray(warc.read_bytes())
    data[capture.offset + capture.length // 2] ^= 0xFF
    warc.write_bytes(data)
    with pytest.raises(DamagedFile, match=f"the record at byte {capture.offset} is damaged"):
        body_of(folder, capture)


def test_a_changed_character_of_the_index_is_found(box: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(box / "bodies", tmp_path / "bodies"))
    (index,) = folder.glob("*.cdxj")
    kept = index.read_bytes()
    line = kept.splitlines()[0]
    mime = range(line.index(b'"mime"') + 9, line.index(b'", "status"'))  # the server's word, stored nowhere else
    for place in (place for place in range(0, len(line), 11) if place not in mime):
        data = bytearray(kept)
        data[place] ^= 0x01
        index.write_bytes(data)
        findings = Findings()
        check_archive(folder, findings)
        assert findings.problems, (place, bytes(data[: len(line)]))
    index.write_bytes(kept[len(line) + 1 :])
    findings = Findings()
    check_archive(folder, findings)
    assert ["no line of its index names the response" in problem.what for problem in findings.problems] == [True]


def test_what_a_killed_fetcher_left_after_the_last_capture_is_no_problem(box: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(box, tmp_path / "copy"))
    (warc,) = (folder / "bodies").glob("*.warc.gz")
    (index,) = (folder / "bodies").glob("*.cdxj")
    index.with_name(f".{index.name}").write_bytes(index.read_bytes()[:-5])  # killed while it sorted the index
    index.rename(index.with_name(f"{index.name}.open"))
    with warc.open("ab") as file:
        file.write(b"\x1f\x8b torn")
    findings = check_crawl(folder)
    assert findings.problems == []
    assert findings.notes == [f"{warc}: 7 bytes after the last whole record, which no index names"]
