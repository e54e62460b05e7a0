"""What is whole of a WACZ file is imported, whatever is missing or damaged."""

import io
import random
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from centime.crawl.imports.detecting import sources_of
from centime.crawl.imports.finding import Finding, Reading, Trouble
from centime.crawl.report.bodies import captures_of, typed_body_of
from centime.model.errors import BadInput
from tests.crawl.imports.importer import imported
from tests.crawl.imports.written import BEGAN, Archive, html, page, weekly

PAGES = 4
METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]


class Pipe(io.RawIOBase):
    """Takes bytes and cannot go back: who writes a zip file to it gives lengths behind the files."""

    def __init__(self) -> None:
        self.taken = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.taken += data
        return len(data)


def collection(folder: Path, method: int, *, piped: bool, gzip: bool = True) -> bytes:
    """A WACZ file with a visit of each page in each of two weeks, a WARC file for each."""
    file = Pipe() if piped else io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("datapackage.json", "{}" * 100)
        for week in range(2):
            written = weekly(folder / f"{week}.warc", weeks=[week], pages=PAGES, gzip=gzip).read_bytes()
            archive.writestr(f"archive/{week}.warc{'.gz' if gzip else ''}", written)
    return bytes(file.taken) if isinstance(file, Pipe) else file.getvalue()


def read(path: Path, data: bytes) -> tuple[list[str], list[str]]:
    """The URLs and troubles of a WACZ file, behind whose last position there is nothing."""
    path.write_bytes(data)
    (source,) = sources_of([path], "", Reading(100_000))
    found = list(source.items(0))
    assert [end for end, _ in found] == sorted(end for end, _ in found)
    assert not list(source.items(found[-1][0]))
    urls = [item.url for _, item in found if isinstance(item, Finding)]
    return urls, [item.text for _, item in found if isinstance(item, Trouble)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize("gzip", [False, True])
def test_a_cut_file_gives_the_records_that_are_whole(tmp_path: Path, method: int, piped: bool, gzip: bool) -> None:
    whole = collection(tmp_path, method, piped=piped, gzip=gzip)
    urls, troubles = read(tmp_path / "whole.wacz", whole)
    assert (len(urls), troubles) == (2 * PAGES, [])
    second, directory = whole.rindex(b"PK\x03\x04"), whole.index(b"PK\x01\x02")
    counts = []
    for cut in (*range(second, directory, 97), directory, directory + 20, len(whole) - 1):
        found, troubles = read(tmp_path / f"{cut}.wacz", whole[:cut])
        assert found == urls[: len(found)]
        assert "without its directory" in troubles[-1]
        counts.append(len(found))
    assert counts == sorted(counts)
    assert counts[0] == PAGES
    assert counts[-3:] == [2 * PAGES] * 3
    assert len(set(counts)) == PAGES + 1 or method == zipfile.ZIP_DEFLATED


def test_bodies_in_a_cut_file_are_read_from_there_and_nothing_is_imported_twice(tmp_path: Path) -> None:
    (tmp_path / "a.wacz").write_bytes(collection(tmp_path, zipfile.ZIP_STORED, piped=True)[:-600])
    report = imported(tmp_path / "c", tmp_path / "a.wacz")
    assert PAGES < report.visits < 2 * PAGES
    assert report.trouble_count == 2
    body, _ = typed_body_of(tmp_path / "c", captures_of(tmp_path / "c", page(1))[0])
    assert b"page 1 says 0" in body
    again = imported(tmp_path / "c", tmp_path / "a.wacz")
    assert (again.records, again.trouble_count) == (0, 0)


def test_a_file_that_is_cut_before_its_first_archive_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.wacz").write_bytes(collection(tmp_path, zipfile.ZIP_STORED, piped=False)[:100])
    with pytest.raises(BadInput, match="no WARC file begins in it"):
        sources_of([tmp_path / "a.wacz"], "", Reading(1000))


def test_a_damaged_byte_costs_its_record_alone(tmp_path: Path) -> None:
    data = bytearray(collection(tmp_path, zipfile.ZIP_STORED, piped=False))
    first = data.index(b"\x1f\x8b\x08")
    data[data.index(b"\x1f\x8b\x08", first + 1) + 40] ^= 0xFF
    urls, troubles = read(tmp_path / "a.wacz", bytes(data))
    assert len(urls) == 2 * PAGES - 1
    assert ["was skipped" in troubles[0], "differs from its checksum" in troubles[1]] == [True, True]


def test_what_deflate_packed_before_a_damaged_place_is_read(tmp_path: Path) -> None:
    noise = random.Random(1)
    archive = Archive(tmp_path / "a.warc", gzip=False)
    for number in range(9):
        archive.response(page(number), BEGAN, html(noise.randbytes(9_000).hex()))
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.write(archive.close(), "archive/a.warc")
    data = (tmp_path / "a.zip").read_bytes()
    place = len(data) * 3 // 4
    for damage in (bytes(400), b"\xff" * 400, noise.randbytes(4_000)):
        urls, troubles = read(tmp_path / "a.wacz", data[:place] + damage + data[place + len(damage) :])
        assert 5 < len(urls) < 9
        assert "archive/a.warc" in troubles[-1]


@pytest.mark.parametrize("cut", [0, 60])
def test_a_bomb_takes_no_memory(tmp_path: Path, cut: int) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("archive/a.warc", b"WARC/1.0\r\n" + bytes(64 << 20))
    data = (tmp_path / "a.zip").read_bytes()
    tracemalloc.start()
    urls, troubles = read(tmp_path / "b.wacz", data[: len(data) - cut])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 48 << 20
    assert (urls, len(troubles)) == ([], 2 if cut else 1)
