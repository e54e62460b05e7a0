"""Each format is recognised by its content, and gives the visits and links that it has."""

import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from centime.crawl.engine.reader import read_crawl
from centime.crawl.imports.detecting import sources_of
from centime.crawl.imports.finding import Finding, Reading, Trouble
from centime.model.errors import BadInput
from centime.model.outcome import Outcome
from centime.store.record import Mark
from tests.crawl.imports.importer import history, imported, links, numbers
from tests.crawl.imports.written import BEGAN, DAY, SEED, Archive, html, page, stamp_of, wat, weekly


def test_a_wacz_file_gives_the_visits_of_its_warc_files(tmp_path: Path) -> None:
    for week in range(2):
        weekly(tmp_path / f"{week}.warc.gz", weeks=[week], pages=3)
    with zipfile.ZipFile(tmp_path / "a.wacz", "w") as archive:
        archive.writestr("datapackage.json", "{}")
        for week in range(2):
            archive.write(tmp_path / f"{week}.warc.gz", f"archive/{week}.warc.gz")
    assert imported(tmp_path / "c", tmp_path / "a.wacz").visits == 6
    assert imported(tmp_path / "c", tmp_path / "a.wacz").records == 0


CDXJ = (
    'example,museum)/page{n}.html {stamp} {{"url": "{url}", "mime": "{mime}", "status": "{status}", "digest": "{d}"}}\n'
)


def cdxj(number: int, week: int, digest: str, mime: str = "text/html", status: str = "200") -> str:
    """A line of a CDXJ index as pywb writes it."""
    stamp = stamp_of(BEGAN + 7 * DAY * week)
    return CDXJ.format(n=number, stamp=stamp, url=page(number), mime=mime, status=status, d=digest)


def test_an_index_gives_visits_and_changes_and_its_pages_are_still_read_for_their_links(tmp_path: Path) -> None:
    lines = [cdxj(0, 0, "A"), cdxj(0, 1, "A", "warc/revisit", "-"), cdxj(0, 2, "B"), cdxj(1, 0, "C", status="404")]
    (tmp_path / "i.cdxj").write_text("".join(lines))
    report = imported(tmp_path / "c", tmp_path / "i.cdxj", continuous=True, rate=10.0)
    assert (report.visits, report.trouble_count) == (4, 0)
    visits = history(tmp_path / "c", page(0))
    assert [bool(one.marks & Mark.CHANGED) for one in visits] == [False, False, True]
    assert [one.outcome for one in history(tmp_path / "c", page(1))] == [Outcome.GONE]
    crawl = read_crawl(tmp_path / "c")
    waiting = crawl.shard.placement.frontier.contains(numbers(crawl, page(0), page(1)))
    assert waiting.tolist() == [True, False]


def test_an_index_of_columns_is_read_by_its_first_line_or_by_the_number_of_columns(tmp_path: Path) -> None:
    line = f"example,museum)/page0.html {stamp_of(BEGAN)} {page(0)} text/html 200 AAA - - 100 5 a.warc.gz\n"
    (tmp_path / "usual.cdx").write_text(line)
    (tmp_path / "named.cdx").write_text(f" CDX b a s k\n{stamp_of(BEGAN + 1)} {page(0)} 200 BBB\nbroken line\n")
    assert imported(tmp_path / "c", tmp_path / "usual.cdx").visits == 1
    report = imported(tmp_path / "c", tmp_path / "named.cdx")
    assert (report.visits, report.trouble_count) == (1, 1)
    assert Mark.CHANGED in history(tmp_path / "c", page(0))[-1].marks


def test_a_gzipped_index_is_read_as_far_as_it_is_whole(tmp_path: Path) -> None:
    lines = "".join(cdxj(number, 0, f"{number:032}") for number in range(2000))
    packed = gzip.compress(lines.encode())
    (tmp_path / "i.cdxj.gz").write_bytes(packed[: len(packed) // 2])
    report = imported(tmp_path / "c", tmp_path / "i.cdxj.gz")
    assert 0 < report.visits < 2000
    assert len(report.troubles) == 1
    assert "cut" in report.troubles[0]


def test_the_columnar_index_of_common_crawl_gives_visits_and_redirects(tmp_path: Path) -> None:
    times = pa.array([int(BEGAN * 1000), int(BEGAN * 1000) + 1000], pa.timestamp("ms"))
    table = pa.table(
        {
            "url": [page(0), page(1)],
            "fetch_time": times,
            "fetch_status": pa.array([200, 301], pa.int16()),
            "content_digest": ["AAA", "BBB"],
            "content_mime_type": ["text/html", None],
            "fetch_redirect": [None, page(5)],
        }
    )
    pq.write_table(table, tmp_path / "part.parquet")
    assert imported(tmp_path / "c", tmp_path / "part.parquet").visits == 2
    assert history(tmp_path / "c", page(0))[0].time == BEGAN
    assert links(tmp_path / "c", page(1)) == {page(5)}


def test_a_web_graph_gives_links_between_home_pages_without_visits(tmp_path: Path) -> None:
    (tmp_path / "vertices.txt").write_text("0\tcom.example\n1\texample.museum\n2\torg.example.www\n")
    (tmp_path / "edges.txt.gz").write_bytes(gzip.compress(b"0\t1\n0\t2\n1\t2\nwrong\n"))
    report = imported(tmp_path / "c", tmp_path / "edges.txt.gz", tmp_path / "vertices.txt", scope="any")
    assert (report.visits, report.links, report.trouble_count) == (0, 2, 1)
    assert links(tmp_path / "c", "https://example.com/") == {SEED, "https://www.example.org/"}
    crawl = read_crawl(tmp_path / "c")
    assert crawl.shard.placement.frontier.contains(numbers(crawl, "https://example.com/")).all()
    with pytest.raises(BadInput, match="together"):
        sources_of([tmp_path / "vertices.txt"], "", Reading(1000))


def test_a_crawl_log_of_heritrix_gives_visits(tmp_path: Path) -> None:
    tail = "L http://b.example/ text/html #001 {0}123+80 sha1:AAA - -"
    lines = [
        f"2026-01-01T00:00:01.000Z   200       5120 {page(0)} {tail.format(stamp_of(BEGAN))}",
        f"2026-01-01T00:00:02.000Z   404        200 {page(1)} {tail.format(stamp_of(BEGAN))}",
        f"2026-01-01T00:00:03.000Z    -2          - {page(2)} {tail.format(stamp_of(BEGAN))}",
        f"2026-01-01T00:00:04.000Z     1         60 dns:museum.example {tail.format(stamp_of(BEGAN))}",
        "no line of a log",
    ]
    (tmp_path / "crawl.log").write_text("\n".join(lines) + "\n")
    report = imported(tmp_path / "c", tmp_path / "crawl.log")
    assert (report.visits, report.left_out, report.trouble_count) == (2, {"failure": 1}, 1)
    assert history(tmp_path / "c", page(0))[0].time == BEGAN


def log_line(number: int, status: str = "200", size: str = "5120") -> str:
    """A line of a crawl log of Heritrix."""
    return f"2026-01-01T00:00:01.000Z {status} {size} {page(number)} L - text/html #001 {stamp_of(BEGAN)}123+80 - - -\n"


@pytest.mark.parametrize("status", ["-6", "-9999999999", "0", "9" * 5000])
def test_a_failure_is_counted_in_a_crawl_log_and_in_an_index(tmp_path: Path, status: str) -> None:
    (tmp_path / "crawl.log").write_text(log_line(0) + log_line(1, status) + log_line(2))
    (tmp_path / "i.cdxj").write_text(cdxj(3, 0, "A") + cdxj(4, 0, "B", status=status) + cdxj(5, 0, "C", status="-"))
    report = imported(tmp_path / "c", tmp_path / "crawl.log", tmp_path / "i.cdxj")
    assert (report.visits, report.left_out, report.trouble_count) == (3, {"failure": 2}, 0)


def test_a_response_without_a_status_is_counted_as_a_failure(tmp_path: Path) -> None:
    data = weekly(tmp_path / "a.warc", weeks=[0], pages=3, gzip=False).read_bytes()
    (tmp_path / "b.warc").write_bytes(data.replace(b"HTTP/1.1 200 OK", b"HTTP/1.1 -06 OK", 1))
    report = imported(tmp_path / "c", tmp_path / "b.warc")
    assert (report.visits, report.left_out) == (2, {"failure": 1})


def test_a_size_that_is_larger_than_any_record_can_say_does_not_end_the_import(tmp_path: Path) -> None:
    sizes = (2**33, 10**15 - 1, 10**30)
    archive = Archive(tmp_path / "a.warc.wat.gz")
    for number, size in enumerate(sizes):
        length: dict[str, Any] = {"Entity-Length": size}
        archive.metadata(page(number), BEGAN, wat(page(number), BEGAN, [], **length))
    archive.close()
    lines = [log_line(number, size=str(size)) for number, size in enumerate(sizes, 3)]
    (tmp_path / "crawl.log").write_text("".join(lines))
    table = {"url": [page(6), page(7)], "fetch_time": ["2026-01-01", "2026-01-01"], "warc_record_length": [-1, 2**40]}
    pq.write_table(pa.table(table), tmp_path / "part.parquet")
    paths = [tmp_path / name for name in ("a.warc.wat.gz", "crawl.log", "part.parquet")]
    assert imported(tmp_path / "c", *paths).visits == 8
    assert history(tmp_path / "c", page(3))[0].body_bytes == 2**32 - 1


def test_a_mirror_of_wget_gives_pages_with_their_links(tmp_path: Path) -> None:
    site = tmp_path / "mirror" / "museum.example"
    (site / "rooms").mkdir(parents=True)
    (site / "index.html").write_bytes(html("home", ["rooms/"]))
    (site / "rooms" / "index.html").write_bytes(html("rooms", ["../page1.html"]))
    (site / "list?page=2.html").write_bytes(html("second page"))
    (site / "robots.txt").write_text("User-agent: *")
    report = imported(tmp_path / "c", tmp_path / "mirror")
    assert (report.visits, report.left_out) == (3, {"robots.txt": 1})
    assert links(tmp_path / "c", SEED) == {f"{SEED}rooms/"}
    assert links(tmp_path / "c", f"{SEED}rooms/") == {page(1)}
    assert history(tmp_path / "c", f"{SEED}list?page=2")


def test_of_a_page_whose_links_were_converted_the_original_is_read(tmp_path: Path) -> None:
    site = tmp_path / "mirror" / "museum.example"
    site.mkdir(parents=True)
    (site / "index.html").write_bytes(html("home", ["list%3Fpage=2.html"]))
    (site / "index.html.orig").write_bytes(html("home", ["list?page=2"]))
    (tmp_path / "mirror" / "lost.html").write_bytes(html("from a mirror without folders of hosts"))
    report = imported(tmp_path / "c", tmp_path / "mirror")
    assert (report.visits, report.left_out) == (1, {"in no folder of a host": 1})
    assert links(tmp_path / "c", SEED) == {f"{SEED}list?page=2"}


def test_items_of_scrapy_give_what_they_have(tmp_path: Path) -> None:
    items = [
        {"url": page(0), "timestamp": BEGAN, "links": ["/page1.html", {"url": "page2.html"}]},
        {"url": page(1), "crawled_at": "2026-01-02T00:00:00Z", "html": html("one", [page(3)]).decode()},
        {"url": page(2), "title": "no time and no links"},
        {"title": "no url"},
    ]
    lines = "".join(json.dumps(item) + "\n" for item in items)
    (tmp_path / "items.jsonl").write_text(lines + "{broken\n")
    report = imported(tmp_path / "c", tmp_path / "items.jsonl")
    assert (report.visits, report.trouble_count) == (3, 2)
    assert links(tmp_path / "c", page(0)) == {page(1), page(2)}
    assert links(tmp_path / "c", page(1)) == {page(3)}
    assert [history(tmp_path / "c", page(number))[0].time for number in (0, 1)] == [BEGAN, BEGAN + DAY]


DEEP = "[" * 2000 + "]" * 2000


def deep_items(path: Path) -> None:
    """Writes items of which the second is nested too deeply."""
    items = [json.dumps({"url": page(number), "time": BEGAN, "x": []}) for number in range(3)]
    path.write_text("\n".join([items[0], items[1].replace("[]", DEEP), items[2]]))


def deep_index(path: Path) -> None:
    """The same as an index."""
    path.write_text(cdxj(0, 0, "A") + cdxj(1, 0, "B").replace("}", f', "x": {DEEP}}}') + cdxj(2, 0, "C"))


def deep_metadata(path: Path) -> None:
    """The same as records of a WAT file."""
    archive = Archive(path)
    for number in range(3):
        metadata = wat(page(number), BEGAN, [])
        deep = b'{"x": ' + DEEP.encode() + b", " + metadata[1:]
        archive.metadata(page(number), BEGAN, deep if number == 1 else metadata)
    archive.close()


@pytest.mark.parametrize("write", [deep_items, deep_index, deep_metadata])
def test_json_that_is_nested_too_deeply_is_named_and_costs_itself_alone(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    write(tmp_path / "deep")
    report = imported(tmp_path / "c", tmp_path / "deep")
    assert (report.visits, report.trouble_count) == (2, 1)
    assert "nested too deeply" in report.troubles[0]


def test_an_item_with_a_time_that_is_too_large_for_a_float_is_left_out_alone(tmp_path: Path) -> None:
    lines = [f'{{"url": "{page(number)}", "time": {time}}}\n' for number, time in enumerate((BEGAN, 10**400, BEGAN))]
    (tmp_path / "items.jsonl").write_text("".join(lines))
    report = imported(tmp_path / "c", tmp_path / "items.jsonl")
    assert (report.visits, report.left_out) == (2, {"no possible time": 1})


def test_a_sitemap_makes_its_pages_known(tmp_path: Path) -> None:
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in (page(0), page(1), "https://elsewhere.example/"))
    (tmp_path / "sitemap.xml").write_text(f"<urlset>{entries}</urlset>")
    report = imported(tmp_path / "c", tmp_path / "sitemap.xml")
    assert (report.listed, report.left_out) == (2, {"out of scope": 1})
    assert read_crawl(tmp_path / "c").shard.pages.count == 3


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x1f\x8b\x08broken", b"PK\x03\x04no zip", b"PAR1no parquet"])
def test_what_is_not_recognised_is_an_error_that_names_the_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "what").write_bytes(content)
    with pytest.raises(BadInput, match="what: "):
        sources_of([tmp_path / "what"], "", Reading(1000))


@pytest.mark.parametrize("at", [10, 60])
def test_a_damaged_first_record_does_not_hide_the_others(tmp_path: Path, at: int) -> None:
    data = bytearray(weekly(tmp_path / "a.warc.gz", weeks=[0], pages=3).read_bytes())
    data[at : at + 8] = b"damaged!"
    (tmp_path / "b.warc.gz").write_bytes(data)
    report = imported(tmp_path / "c", tmp_path / "b.warc.gz")
    assert (report.visits, report.trouble_count) == (3, 1)


def test_a_url_that_is_not_utf8_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    weekly(tmp_path / "a.warc", weeks=[0], pages=3, gzip=False)
    data = (tmp_path / "a.warc").read_bytes().replace(b"page1.html", b"pa\xff\xfe1.html")
    (tmp_path / "b.warc").write_bytes(data)
    (source,) = sources_of([tmp_path / "b.warc"], "", Reading(10_000))
    found = [item for _, item in source.items(0)]
    assert [isinstance(item, Finding) for item in found if item] == [True, False, True]
    assert any(isinstance(item, Trouble) and "UTF-8" in item.text for item in found)
