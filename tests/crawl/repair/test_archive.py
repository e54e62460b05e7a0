"""Damaged files of bodies and their indexes: what is whole stays, the rest is said, and the crawl is right again."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from centime.crawl.check.archive import check_archive
from centime.crawl.check.findings import Findings
from centime.crawl.repair.archive import repair_archive
from centime.crawl.repair.report import Repaired
from centime.model.outcome import Outcome, PageKind
from centime.model.response import Response
from centime.parse.document import read_document
from centime.store.archives.archive import Archive
from centime.store.archives.captures import every_capture, find_bodies, read_body

PAGES = 12


@pytest.fixture
def bodies(tmp_path: Path) -> Path:
    """Two closed files: the pages, then a second visit of each, half of which found the same body."""
    for visit, name in enumerate(("a", "b")):
        archive = Archive(tmp_path / "bodies", name)
        for page in range(PAGES):
            body = f"<p>page {page} of visit {visit * (page % 2)}</p>".encode() * 50
            url = f"http://a.example/{page}"
            answer = Response(
                url=url,
                outcome=Outcome.READ,
                status=200,
                body=body,
                headers=(("content-type", "text/html; charset=utf-8"),),
                asked_at=1_000_000.0 + visit * 1000 + page,
                request_head=b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
            )
            document = read_document(body, url=url, content_type="text/html")
            assert document.kind is PageKind.HTML
            archive.keep(answer, document, unchanged=bool(visit))
        archive.close()
    assert problems(tmp_path / "bodies") == []
    return tmp_path / "bodies"


def problems(bodies: Path) -> list[str]:
    findings = Findings()
    check_archive(bodies, findings)
    return [str(one) for one in findings.problems]


def repaired(bodies: Path) -> Repaired:
    foreseen, report = Repaired(), Repaired()
    before = {path.name: path.read_bytes() for path in bodies.iterdir()}
    repair_archive(bodies, bodies.parent / "damaged", foreseen, write=False)
    assert {path.name: path.read_bytes() for path in bodies.iterdir()} == before
    repair_archive(bodies, bodies.parent / "damaged", report)
    assert foreseen == report, "what a dry run says is what happens"
    assert problems(bodies) == []
    again = Repaired()
    repair_archive(bodies, bodies.parent / "damaged", again)
    assert not again.changed
    return report


def file_of(bodies: Path, name: str, ending: str) -> Path:
    return bodies / f"centime-{name}-00001{ending}"


def test_an_archive_that_is_all_right_stays_as_it_is(bodies: Path) -> None:
    assert not repaired(bodies).changed
    assert not (bodies.parent / "damaged").exists()


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda _: None,
    "empty": lambda _: b"",
    "cut": lambda data: data[: len(data) // 2],
    "zeroed": lambda data: b"\0" * len(data),
    "unordered": lambda data: b"".join(sorted(data.splitlines(keepends=True), reverse=True)),
    "not a line": lambda data: b"?" + data,
    "doubled": lambda data: data.splitlines(keepends=True)[0] + data,
    "a wrong digit": lambda data: data.replace(b'"status": "200"', b'"status": "204"', 1),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["a", "b"])
def test_an_index_is_written_anew_from_its_file_and_nothing_is_lost(bodies: Path, name: str, damage: str) -> None:
    index = file_of(bodies, name, ".cdxj")
    before = index.read_bytes()
    after = DAMAGES[damage](before)
    if after is None:
        index.unlink()
    elif after != before:
        index.write_bytes(after)
    assert bool(problems(bodies)) == (after != before)
    report = repaired(bodies)
    assert index.read_bytes() == before
    assert report.lost == []
    assert bool(report.restored) == (after != before)


def test_a_line_that_is_twice_in_an_open_index_is_a_problem(bodies: Path) -> None:
    index = file_of(bodies, "b", ".cdxj")
    opened = index.rename(index.with_name(f"{index.name}.open"))
    assert problems(bodies) == []
    opened.write_bytes(opened.read_bytes() + opened.read_bytes().splitlines(keepends=True)[2])
    assert [f"line {PAGES + 1} is line 3 again" in problem for problem in problems(bodies)] == [True]


@pytest.mark.parametrize("place", [0.0, 0.1, 0.35, 0.6, 0.97])
def test_damaged_records_cost_their_captures_and_nothing_else(bodies: Path, place: float) -> None:
    warc = file_of(bodies, "b", ".warc.gz")
    before = {(one.url, one.timestamp) for one in every_capture(bodies)}
    data = bytearray(warc.read_bytes())
    at = int(place * len(data))
    data[at : at + 40] = b"\xaa" * 40
    warc.write_bytes(data)
    report = repaired(bodies)
    after = {(one.url, one.timestamp) for one in every_capture(bodies)}
    assert len(before - after) <= 2
    assert bool(report.lost) == (after != before)
    assert report.bytes_lost > 0
    assert (bodies.parent / "damaged" / warc.name).read_bytes() == data


def test_a_revisit_of_a_body_that_is_nowhere_else_is_lost_with_it(bodies: Path) -> None:
    file_of(bodies, "a", ".warc.gz").unlink()
    report = repaired(bodies)
    assert any(f"{PAGES} captures, because" in sentence for sentence in report.lost)
    left = list(every_capture(bodies))
    assert len(left) == PAGES // 2
    assert all(read_body(bodies, one) for one in left)


def test_a_cut_file_keeps_what_is_before_the_cut(bodies: Path) -> None:
    warc = file_of(bodies, "a", ".warc.gz")
    warc.write_bytes(warc.read_bytes()[: warc.stat().st_size * 2 // 3])
    report = repaired(bodies)
    assert report.lost
    (capture,) = [one for one in find_bodies(bodies, "http://a.example/1") if one.filename == warc.name]
    assert b"page 1 of visit 0" in read_body(bodies, capture)


def test_a_repair_that_is_killed_between_file_and_index_is_finished_by_the_next(
    bodies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warc = file_of(bodies, "a", ".warc.gz")
    data = bytearray(warc.read_bytes())
    data[len(data) // 2] ^= 4
    warc.write_bytes(data)
    whole = shutil.copytree(bodies, bodies.with_name("whole"))
    expected = repaired(whole)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("centime.crawl.repair.archive.replace_file", killed)
        with pytest.raises(KeyboardInterrupt):
            repair_archive(bodies, bodies.parent / "damaged", Repaired())
    report = repaired(bodies)
    assert len(report.lost) == len(expected.lost) == 1
    assert [one.line() for one in every_capture(bodies)] == [one.line() for one in every_capture(whole)]
