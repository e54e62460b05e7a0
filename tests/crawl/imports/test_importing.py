"""Visits of archives become visits of the crawl, at their own times, each once."""

import gzip
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from centime.api.reader import open_crawl
from centime.crawl.check.check import check_crawl
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.crawl.imports.importing import importing
from centime.crawl.imports.warc_records import WarcRecord, WarcRecords
from centime.crawl.report.bodies import captures_of, typed_body_of
from centime.crawl.search.finding import CrawlSearch
from centime.crawl.search.updating import update_index
from centime.model.errors import FileGone
from centime.model.outcome import Outcome
from centime.store.record import Mark
from tests.crawl.imports.importer import all_records, history, imported, links, numbers, rates
from tests.crawl.imports.written import BEGAN, DAY, SEED, Archive, html, page, wat, weekly


class Killed(BaseException):
    """Stands for kill -9: nothing that the program does at its end is done."""


@pytest.fixture(scope="module")
def museum(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl into which four weeks of an archive were imported."""
    place = tmp_path_factory.mktemp("museum")
    report = imported(place / "c", weekly(place / "a.warc.gz"), continuous=True, rate=100.0)
    assert report.visits == report.records == 40
    return place / "c"


def test_visits_have_their_own_times_and_changes_are_seen(museum: Path) -> None:
    visits = history(museum, page(1))
    assert [one.time for one in visits] == [BEGAN + 7 * DAY * week + 1 for week in range(4)]
    assert [bool(one.marks & Mark.CHANGED) for one in visits] == [False, True, True, True]
    assert not any(one.marks & Mark.CHANGED for one in history(museum, page(2)))


def test_change_rates_are_learned_from_imported_visits(museum: Path) -> None:
    changing, quiet = rates(museum, page(1), page(2))
    assert changing > 4 * quiet
    assert 0.3 < changing * 7 * DAY < 10


def test_importance_is_learned_from_imported_links(museum: Path) -> None:
    assert links(museum, page(0)) == {page(1), page(2), page(5)}
    with open_crawl(museum) as crawl:
        assert crawl.page(page(5))["importance"] > crawl.page(SEED)["importance"]


def test_pages_that_are_only_linked_to_wait_to_be_read(museum: Path) -> None:
    crawl = read_crawl(museum)
    waiting = crawl.shard.placement.frontier.contains(numbers(crawl, page(14), page(3)))
    assert waiting.tolist() == [True, False]


def test_importing_again_imports_nothing(museum: Path, tmp_path: Path) -> None:
    before = all_records(museum)
    report = imported(museum, weekly(tmp_path / "copy.warc.gz"))
    assert (report.visits, report.left_out) == (0, {"known": 40})
    assert all_records(museum) == before


@pytest.mark.parametrize("frames", [1, 4])
def test_an_import_that_is_killed_goes_on_where_it_was(
    frames: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("centime.crawl.imports.importing.BATCH", 6)
    archive = weekly(tmp_path / "a.warc.gz", weeks=range(3))
    left = frames

    def step(done: float, what: str) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise Killed

    with pytest.raises(Killed):
        imported(tmp_path / "c", archive, keep="versions", step=step)
    taken = sum(read_crawl(tmp_path / "c").shard.outcomes.values())
    assert 0 < taken < 30
    report = imported(tmp_path / "c", archive, keep="versions")
    assert report.visits == 30 - taken
    assert report.records <= 30 - taken + 6
    imported(tmp_path / "whole", archive, keep="versions")
    assert all_records(tmp_path / "c") == all_records(tmp_path / "whole")


def test_a_body_that_was_kept_before_a_kill_is_not_kept_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = weekly(tmp_path / "a.warc.gz", weeks=[0])
    monkeypatch.setattr("centime.crawl.imports.importing.Importer._write", _killed)
    with pytest.raises(Killed):
        imported(tmp_path / "c", archive, keep="all")
    monkeypatch.undo()
    assert imported(tmp_path / "c", archive, keep="all").visits == 10
    lines = [line for file in (tmp_path / "c" / "bodies").glob("*.cdxj") for line in file.read_bytes().splitlines()]
    assert len(lines) == 10


def _killed(*_: object) -> None:
    raise Killed


def test_files_are_imported_in_the_order_of_their_times(tmp_path: Path) -> None:
    late = weekly(tmp_path / "a-late.warc.gz", weeks=range(2, 4))
    early = weekly(tmp_path / "b-early.warc", weeks=range(2), gzip=False)
    report = imported(tmp_path / "c", late, early)
    assert (report.visits, report.left_out) == (40, {})


def test_visits_older_than_the_last_one_are_left_out_as_known(tmp_path: Path) -> None:
    imported(tmp_path / "c", weekly(tmp_path / "late.warc.gz", weeks=[3]))
    report = imported(tmp_path / "c", weekly(tmp_path / "early.warc.gz", weeks=[0, 1]))
    assert (report.visits, report.left_out) == (0, {"known": 20})


def test_what_the_crawl_does_not_accept_is_left_out_with_the_reason(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "a.warc.gz")
    archive.response("https://elsewhere.example/", BEGAN, html("elsewhere"))
    archive.response(f"{SEED}picture.jpg", BEGAN, b"\xff\xd8\xff", Content_Type="image/jpeg")
    archive.response(f"{SEED}style?x", BEGAN, b"a {}", Content_Type="text/css")
    archive.response(f"{SEED}robots.txt", BEGAN, b"User-agent: *", Content_Type="text/plain")
    archive.response(f"{SEED}busy", BEGAN, b"", "503 Busy")
    archive.response(f"{SEED}future", BEGAN * 2, html("of the future"))
    report = imported(tmp_path / "c", archive.close())
    assert report.left_out == {
        "scope": 1,
        "suffix": 1,
        "part of a page": 1,
        "robots.txt": 1,
        "failure": 1,
        "no possible time": 1,
    }
    assert report.visits == 0


def test_redirects_gone_pages_and_revisits_are_what_a_fetcher_would_have_seen(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "a.warc.gz")
    archive.response(f"{SEED}old", BEGAN, b"", "301 Moved", Location="/new")
    archive.response(f"{SEED}new", BEGAN + 1, html("it is here"))
    archive.revisit(f"{SEED}new", BEGAN + DAY, BEGAN + 1)
    archive.revisit(f"{SEED}new", BEGAN + 2 * DAY, BEGAN + 1, target=f"{SEED}another")
    archive.response(f"{SEED}new", BEGAN + 3 * DAY, html("no"), "404 Not Found")
    archive.revisit(f"{SEED}never", BEGAN + DAY, BEGAN)
    report = imported(tmp_path / "c", archive.close())
    assert report.left_out == {"revisit of nothing": 1}
    assert links(tmp_path / "c", f"{SEED}old") == {f"{SEED}new"}
    seen = [one.outcome for one in history(tmp_path / "c", f"{SEED}new")]
    assert seen == [Outcome.READ, Outcome.UNCHANGED, Outcome.GONE]


def test_a_revisit_of_a_body_that_has_been_replaced_is_no_proof_of_the_new_one(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "a.warc.gz").response(page(0), BEGAN, html("first"))
    archive.response(page(0), BEGAN + DAY, html("second")).revisit(page(0), BEGAN + 2 * DAY, BEGAN)
    assert imported(tmp_path / "c", archive.close()).left_out == {"revisit of an older body": 1}


def test_bodies_are_kept_if_that_is_wanted_and_stay_where_they_are_if_not(tmp_path: Path) -> None:
    archive = weekly(tmp_path / "a.warc.gz")
    imported(tmp_path / "kept", archive, keep="versions")
    imported(tmp_path / "not", archive)
    with open_crawl(tmp_path / "kept") as crawl:
        assert [len(crawl.versions(page(number))) for number in (1, 2)] == [4, 1]
    assert not (tmp_path / "not" / "versions").exists()
    place = history(tmp_path / "not", page(1))[-1].detail.removeprefix(f"its body is in {archive} at byte ")
    with archive.open("rb") as file:
        file.seek(int(place))
        assert b"page 1 says 3" in zlib.decompressobj(31).decompress(file.read())
    imported(tmp_path / "archived", archive, keep="all")
    assert len(list((tmp_path / "archived" / "bodies").glob("*.warc.gz"))) == 1


def test_bodies_that_stay_where_they_are_are_read_from_there(tmp_path: Path) -> None:
    folder, packed = tmp_path / "c", gzip.compress(html("packed"))
    archive = Archive(tmp_path / "a.warc.gz").response(page(0), BEGAN, html("first"))
    archive.response(page(0), BEGAN + DAY, html("second")).revisit(page(0), BEGAN + 2 * DAY, BEGAN + DAY)
    archive.response(page(1), BEGAN, packed, Content_Encoding="gzip")
    plain = Archive(tmp_path / "plain.warc", gzip=False).response(page(2), BEGAN, html("plain"))
    one = gzip.compress(b"".join(_records(weekly(tmp_path / "w.warc.gz", [0]))))
    (tmp_path / "one.warc.gz").write_bytes(one)  # one member with all records
    other = Archive(tmp_path / "other.warc", gzip=False).response(page(12), BEGAN, html("in Zstandard"))
    (tmp_path / "other.warc.zst").write_bytes(zstd.compress(other.close().read_bytes()))
    with zipfile.ZipFile(tmp_path / "z.wacz", "w") as collection:
        inside = Archive(tmp_path / "inside.warc.gz").response(page(3), BEGAN + 9 * DAY, html("in a collection"))
        collection.write(inside.close(), "archive/inside.warc.gz")
    paths = [tmp_path / name for name in ("z.wacz", "one.warc.gz", "other.warc.zst")]
    imported(folder, archive.close(), plain.close(), *paths)
    assert not list((folder / "bodies").iterdir())
    bodies = {n: [typed_body_of(folder, one)[0] for one in captures_of(folder, page(n))] for n in range(5)}
    assert bodies[0][-1] == html("second")
    assert html("first") in bodies[0]
    assert html("packed") in bodies[1]
    assert html("plain") in bodies[2]
    assert bodies[3][-1] == html("in a collection")
    assert b"page 4 says the same" in bodies[4][-1]
    assert typed_body_of(folder, captures_of(folder, page(12))[0]) == (
        html("in Zstandard"),
        "text/html; charset=utf-8",
    )
    reader = read_crawl(folder)
    assert update_index(reader).added == 11
    assert [found.url for found in CrawlSearch(reader).find("collection")] == [page(3)]
    (tmp_path / "plain.warc").unlink()
    with pytest.raises(FileGone, match=r"plain.warc: this file, in which the body of .* was left"):
        typed_body_of(folder, captures_of(folder, page(2))[0])
    (tmp_path / "a.warc.gz").write_bytes((tmp_path / "w.warc.gz").read_bytes())
    assert any("plain.warc: this imported file" in note for note in check_crawl(folder).notes)
    with pytest.raises(FileGone, match="replaced or damaged"):
        typed_body_of(folder, captures_of(folder, page(1))[0])


def test_an_archive_that_needs_a_dictionary_which_it_does_not_have_says_so(tmp_path: Path) -> None:
    data = weekly(tmp_path / "a.warc", weeks=[0], pages=3, gzip=False).read_bytes()
    words = zstd.train_dict([data[at : at + 200] for at in range(0, len(data), 50)], 512)
    (tmp_path / "a.warc.zst").write_bytes(zstd.compress(data, zstd_dict=words))
    report = imported(tmp_path / "c", tmp_path / "a.warc.zst")
    assert (report.visits, report.trouble_count) == (0, 1)
    assert "Dictionary mismatch" in report.troubles[0]


def test_an_archive_in_zstandard_inside_a_collection_is_read_too(tmp_path: Path) -> None:
    data = weekly(tmp_path / "a.warc", weeks=[0], pages=3, gzip=False).read_bytes()
    with zipfile.ZipFile(tmp_path / "a.wacz", "w") as packed:
        packed.writestr("archive/a.warc.zst", zstd.compress(data))
    assert imported(tmp_path / "c", tmp_path / "a.wacz").visits == 3


def _records(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        records = WarcRecords(file, path.stat().st_size)
        for _, record in records.read(0):
            assert isinstance(record, WarcRecord)
            yield record.head + b"\r\n\r\n" + record.content + b"\r\n\r\n"


def test_coded_and_chunked_bodies_are_decoded_and_broken_ones_are_told(tmp_path: Path) -> None:
    packed = gzip.compress(html("packed", [page(7)]))
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (packed[:9], packed[9:])) + b"0\r\n\r\n"
    archive = Archive(tmp_path / "a.warc.gz")
    archive.response(page(0), BEGAN, chunks, Transfer_Encoding="chunked", Content_Encoding="gzip")
    archive.response(page(1), BEGAN, packed[:-20], Content_Encoding="gzip")
    archive.response(page(2), BEGAN, html("says that it is packed", [page(8)]), Content_Encoding="gzip")
    report = imported(tmp_path / "c", archive.close())
    assert report.visits == 2
    assert links(tmp_path / "c", page(0)) == {page(7)}
    assert links(tmp_path / "c", page(2)) == {page(8)}
    assert [page(1) in trouble for trouble in report.troubles] == [True]


def test_a_wat_file_gives_links_and_changes_without_bodies(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "a.warc.wat.gz")
    found = [
        {"path": "A@/href", "url": "/page1.html"},
        {"path": "IMG@/src", "url": "/picture.jpg"},
        {"path": "A@/href", "url": "/page2.html", "rel": "nofollow"},
        {"path": "AREA@/href", "url": "https://elsewhere.example/"},
    ]
    for week, digest in enumerate(["sha1:A", "sha1:A", "sha1:B"]):
        time = BEGAN + 7 * DAY * week
        archive.metadata(page(0), time, b'{"Envelope": {"Payload-Metadata": {"HTTP-Request-Metadata": {}}}}')
        archive.metadata(page(0), time, wat(page(0), time, found, digest))
    report = imported(tmp_path / "c", archive.close(), continuous=True, rate=100.0)
    assert (report.records, report.visits) == (3, 3)
    assert links(tmp_path / "c", page(0)) == {page(1)}
    visits = history(tmp_path / "c", page(0))
    assert [bool(one.marks & Mark.CHANGED) for one in visits] == [False, False, True]
    assert all(Mark.FOREIGN in one.marks for one in visits)
    assert visits[-1].etag == '"e"'


def test_what_another_program_saw_is_not_compared_with_what_is_read_here(tmp_path: Path) -> None:
    imported(tmp_path / "c", Archive(tmp_path / "w.gz").metadata(page(0), BEGAN, wat(page(0), BEGAN, [])).close())
    imported(tmp_path / "c", Archive(tmp_path / "a.gz").response(page(0), BEGAN + DAY, html("now")).close())
    last = history(tmp_path / "c", page(0))[-1]
    assert not last.marks & (Mark.CHANGED | Mark.FOREIGN)
    seen, never = rates(tmp_path / "c", page(0), SEED)
    assert seen == never


def test_an_import_into_a_crawl_that_has_visits_of_its_own_teaches_it_the_years_before(tmp_path: Path) -> None:
    imported(tmp_path / "c", Archive(tmp_path / "n.gz").response(page(9), BEGAN + 90 * DAY, html("new")).close())
    report = imported(tmp_path / "c", weekly(tmp_path / "a.warc.gz", pages=4), continuous=True, rate=100.0)
    assert report.visits == 16
    changing, quiet = rates(tmp_path / "c", page(1), page(2))
    assert changing > 4 * quiet


def test_a_journal_with_imports_is_replayed_to_the_same_state(tmp_path: Path) -> None:
    archive = weekly(tmp_path / "a.warc.gz")
    with suppress(Killed), open_writer(tmp_path / "c", (SEED,), {}) as opened, importing(opened) as importer:
        importer.run(importer.sources([archive]))
        money = opened.shard.ledger.importance(np.arange(opened.shard.pages.count)).tolist()
        raise Killed
    shard = read_crawl(tmp_path / "c").shard
    assert shard.ledger.importance(np.arange(shard.pages.count)).tolist() == money
    assert sum(shard.outcomes.values()) == 40
