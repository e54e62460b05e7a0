"""The archive: what is kept is read back by ours and by others' tools, through revisits, kills and full disks.

Over 400 lines: all cases share the pages and readers at the top."""

import base64
import errno
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from centime.fetch.answer import outcome_of
from centime.model.document import Document
from centime.model.errors import BadSetting, DamagedFile, NoRoom
from centime.model.outcome import Outcome, PageKind
from centime.model.response import Response
from centime.store.archives import archive as archive_module
from centime.store.archives.archive import Archive, complete_open_files
from centime.store.archives.captures import Capture, capture_of, find_bodies, read_body

HTML, XML = Document(kind=PageKind.HTML), Document(kind=PageKind.XML)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\n"
HEAD += b"TRANSFER-ENCODING : chunked\r\nContent-Length: 3\r\n\r\n"


def response(
    url: str, body: bytes, at: float = 1_700_000_000.25, head: bytes = HEAD, truncated: bool = False
) -> Response:
    return Response(
        url=url,
        outcome=Outcome.READ,
        status=200,
        headers=(("content-type", "text/html; charset=utf-8"), ("x-ä", "ö")),
        body=body,
        address="127.0.0.1",
        asked_at=at,
        truncated=truncated,
        request_head=b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        response_head=head,
    )


def kept(capture: Capture | None) -> Capture:
    assert capture is not None
    return capture


def with_warcio(folder: Path) -> list[tuple[str, dict[str, str], bytes]]:
    """Type, headers and payload of every record, digests checked by warcio itself."""
    found = []
    for path in sorted(folder.glob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                found.append((record.rec_type, dict(record.rec_headers.headers), record.content_stream().read()))
    return found


def test_others_read_what_was_kept(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "bodies", "20260102-0001")
    body = "<html>grüße</html>".encode() * 50
    capture = kept(archive.keep(response("http://a.example/x", body), HTML))
    archive.keep(response("http://b.example/", b"", head=b"", truncated=True), HTML)
    archive.close()
    info, request, answer, _, empty = with_warcio(tmp_path / "bodies")
    assert (info[0], info[1]["WARC-Filename"]) == ("warcinfo", "centime-20260102-0001-00001.warc.gz")
    assert b"software: centime" in info[2]
    assert (request[0], request[1]["WARC-Concurrent-To"]) == ("request", answer[1]["WARC-Record-ID"])
    assert answer[0] == "response"
    assert answer[2] == body
    assert answer[1]["WARC-Date"] == "2023-11-14T22:13:20.250000Z"
    assert answer[1]["WARC-IP-Address"] == "127.0.0.1"
    assert answer[1]["WARC-Target-URI"] == "http://a.example/x"
    assert answer[1]["WARC-Warcinfo-ID"] == info[1]["WARC-Record-ID"]
    digest = base64.b32encode(hashlib.sha1(body).digest()).decode()
    assert answer[1]["WARC-Payload-Digest"] == f"sha1:{digest}"
    assert (empty[2], empty[1]["WARC-Truncated"]) == (b"", "length")
    assert capture.digest == digest
    assert find_bodies(tmp_path / "bodies", "http://a.example/x") == [capture]
    assert read_body(tmp_path / "bodies", capture) == body


def test_what_the_wire_did_to_a_body_is_kept_under_other_names(tmp_path: Path) -> None:
    archive = Archive(tmp_path, "x")
    archive.keep(response("http://a.example/", b"four"), HTML)
    archive.close()
    with next(tmp_path.glob("*.warc.gz")).open("rb") as file:
        headers = next(record.http_headers.headers for record in ArchiveIterator(file) if record.rec_type == "response")
    assert headers == [
        ("Content-Type", "text/html; charset=utf-8"),
        ("X-Archive-Orig-Content-Encoding", "gzip"),
        ("X-Archive-Orig-TRANSFER-ENCODING", "chunked"),
        ("X-Archive-Orig-Content-Length", "3"),
        ("Content-Length", "4"),
    ]


def test_the_index_is_sorted_and_as_pywb_has_it(tmp_path: Path) -> None:
    archive = Archive(tmp_path, "x")
    for name in ("c", "a", "b"):
        archive.keep(response(f"http://{name}.example/", name.encode()), HTML)
    assert len(find_bodies(tmp_path, "http://b.example/")) == 1  # also while the file is open
    archive.close()
    lines = (tmp_path / "centime-x-00001.cdxj").read_bytes().splitlines()
    assert lines == sorted(lines)
    key, timestamp, said = lines[0].decode().split(" ", 2)
    assert (key, timestamp) == ("example,a)/", "20231114221320")
    assert list(json.loads(said)) == ["url", "mime", "status", "digest", "length", "offset", "filename"]
    assert json.loads(said)["mime"] == "text/html"
    assert [path.suffix for path in sorted(tmp_path.iterdir())] == [".cdxj", ".gz"]


@pytest.mark.parametrize("closed_between", [False, True])
def test_the_same_body_again_is_a_revisit_and_leads_to_the_first(tmp_path: Path, closed_between: bool) -> None:
    archive = Archive(tmp_path, "first")
    original = kept(archive.keep(response("http://a.example/", b"the same"), HTML))
    if closed_between:
        archive.close()
        archive = Archive(tmp_path, "second")
    again = kept(archive.keep(response("http://a.example/", b"the same", at=1_700_000_100.0), HTML, unchanged=True))
    other = kept(archive.keep(response("http://other.example/", b"the same"), HTML, unchanged=True))
    archive.close()
    assert (original.revisit, again.revisit, other.revisit) == (False, True, False)
    assert find_bodies(tmp_path, "http://a.example/") == [original, again]
    assert read_body(tmp_path, again) == b"the same"
    assert b"status" not in again.line()
    headers = next(headers for kind, headers, _ in with_warcio(tmp_path) if kind == "revisit")
    assert headers["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert headers["WARC-Refers-To-Target-URI"] == "http://a.example/"
    dates = {
        headers["WARC-Target-URI"]: headers["WARC-Date"]
        for kind, headers, _ in with_warcio(tmp_path)
        if kind == "response"
    }
    assert headers["WARC-Refers-To-Date"] == dates["http://a.example/"] == "2023-11-14T22:13:20.250000Z"
    assert headers["WARC-Payload-Digest"] == f"sha1:{original.digest}"


def test_a_revisit_without_its_original_says_so(tmp_path: Path) -> None:
    lost = Capture(
        url="http://a.example/",
        timestamp="20260101000000",
        mime="warc/revisit",
        digest="X",
        offset=0,
        length=1,
        filename="x",
    )
    with pytest.raises(
        DamagedFile, match=r"the body that http://a\.example/ had at 20260101000000 is not in the archive"
    ):
        read_body(tmp_path, lost)


def test_only_the_kinds_asked_for_are_kept_and_nothing_kept_makes_no_file(tmp_path: Path) -> None:
    archive = Archive(tmp_path, "x", keep="xml")
    assert archive.keep(response("http://a.example/", b"<p>"), HTML) is None
    archive.close()
    assert list(tmp_path.iterdir()) == []
    assert kept(archive.keep(response("http://a.example/x.xml", b"<x/>"), XML)).offset > 0
    archive.close()
    with pytest.raises(BadSetting, match="all or xml, not 'some'"):
        Archive(tmp_path, "y", keep="some")


def test_files_are_rotated_and_names_in_use_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_module, "LARGEST_FILE", 3000)
    (tmp_path / "centime-x-00001.warc.gz").write_bytes(b"not ours to touch")
    archive = Archive(tmp_path, "x")
    chance = random.Random(1)
    bodies = {f"http://a.example/{number}": chance.randbytes(800) for number in range(12)}
    for url, body in bodies.items():
        archive.keep(response(url, body), HTML)
    archive.close()
    assert (tmp_path / "centime-x-00001.warc.gz").read_bytes() == b"not ours to touch"
    (tmp_path / "centime-x-00001.warc.gz").unlink()
    assert len(list(tmp_path.glob("*.warc.gz"))) >= 4
    assert [read_body(tmp_path, find_bodies(tmp_path, url)[0]) for url in bodies] == list(bodies.values())
    assert sum(kind == "response" for kind, _, _ in with_warcio(tmp_path)) == 12


def test_damage_is_found_by_reading(tmp_path: Path) -> None:
    archive = Archive(tmp_path, "x")
    capture = kept(archive.keep(response("http://a.example/", b"body" * 100), HTML))
    archive.close()
    path = tmp_path / capture.filename
    data = bytearray(path.read_bytes())
    for place in (capture.offset, capture.offset + capture.length // 2, capture.offset + capture.length - 9):
        wrong = bytearray(data)
        wrong[place] ^= 255
        path.write_bytes(wrong)
        with pytest.raises(DamagedFile, match=f"the record at byte {capture.offset} is damaged"):
            read_body(tmp_path, capture)


def test_a_body_whose_file_is_missing_or_no_file_is_said(tmp_path: Path) -> None:
    archive = Archive(tmp_path, "one")
    capture = kept(archive.keep(response("http://a.example/", b"one"), HTML))
    archive.close()
    path = tmp_path / capture.filename
    path.unlink()
    with pytest.raises(DamagedFile, match=f"{path}: is missing"):
        read_body(tmp_path, capture)
    os.mkfifo(path)  # whoever opened it would wait for ever
    with pytest.raises(DamagedFile, match=f"{path}: this is a pipe, not a file"):
        read_body(tmp_path, capture)
    with pytest.raises(DamagedFile, match=f"{path}: this is a pipe, not a file"):
        complete_open_files(tmp_path)


def test_a_full_disk_leaves_the_archive_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = Archive(tmp_path, "x")
    first = kept(archive.keep(response("http://a.example/", b"one"), HTML))
    real = os.pwrite

    def full(handle: int, data: memoryview, at: int) -> int:
        if handle == archive._index:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle, data, at)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(NoRoom):
        archive.keep(response("http://b.example/", b"two"), HTML)
    monkeypatch.setattr(os, "pwrite", real)
    third = kept(archive.keep(response("http://c.example/", b"three"), HTML))
    archive.close()
    assert [read_body(tmp_path, capture) for capture in (first, third)] == [b"one", b"three"]
    assert find_bodies(tmp_path, "http://b.example/") == []
    assert [kind for kind, _, _ in with_warcio(tmp_path)] == ["warcinfo", "request", "response", "request", "response"]


WRITER = """
import sys
sys.path.insert(0, sys.argv[3])
from centime.store.archives.archive import Archive
from tests.store.archives.test_archive import HTML, response
archive = Archive(sys.argv[1], sys.argv[2])
number = 0
while True:
    archive.keep(response(f"http://a.example/{sys.argv[2]}/{number}", b"%d " % number * (number % 4000)), HTML)
    print(number, flush=True)
    number += 1
"""


def test_killed_writers_lose_nothing_that_they_said_was_kept(tmp_path: Path) -> None:
    chance = random.Random(2)
    root = str(Path(__file__).parents[2])
    for turn in range(4):
        command = [sys.executable, "-c", WRITER, str(tmp_path), f"w{turn}", root]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        for _ in range(chance.randrange(1, 200)):
            writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        promised = max(int(line) for line in ["0", *writer.stdout.read().splitlines()])
        writer.wait()
        writer.stdout.close()
        path = next(tmp_path.glob(f"centime-w{turn}-*.warc.gz"))
        if turn == 1:
            path.write_bytes(path.read_bytes() + b"\x1f\x8b\x08 torn")
        if turn == 2:
            index = next(tmp_path.glob("*.cdxj.open"))
            index.write_bytes(index.read_bytes()[:-3])  # its last record is there, but no longer named
            promised -= 1
        assert len(complete_open_files(tmp_path)) == 1
        assert not list(tmp_path.glob("*.open"))
        lines = path.with_name(path.name.replace(".warc.gz", ".cdxj")).read_bytes().splitlines()
        assert lines == sorted(lines)
        assert len(lines) >= promised
        for line in lines[:: max(1, len(lines) // 20)]:
            capture = capture_of(line)
            number = int(capture.url.rsplit("/", 1)[1])
            assert read_body(tmp_path, capture) == b"%d " % number * (number % 4000)
    assert {kind for kind, _, _ in with_warcio(tmp_path)} == {"warcinfo", "request", "response"}
    assert complete_open_files(tmp_path) == []


def test_an_index_that_a_killed_writer_left_half_written_is_not_read(tmp_path: Path) -> None:
    archive = Archive(tmp_path, "w")
    capture = kept(archive.keep(response("http://a.example/", b"body"), HTML))
    archive.close()
    index = next(tmp_path.glob("*.cdxj"))
    index.with_name(f".{index.name}").write_bytes(index.read_bytes()[:-5])
    assert find_bodies(tmp_path, "http://a.example/") == [capture]


@pytest.mark.parametrize("missing", [True, False])
def test_captures_that_an_index_names_and_that_are_gone_are_counted(tmp_path: Path, missing: bool) -> None:
    archive = Archive(tmp_path, "x")
    for name in ("one", "two", "three"):
        archive.keep(response(f"http://a.example/{name}", name.encode()), HTML)
    path = next(tmp_path.glob("*.warc.gz"))
    if missing:
        path.unlink()
    else:
        os.truncate(path, path.stat().st_size - 5)
    [completed] = complete_open_files(tmp_path)
    assert completed.lost == (3 if missing else 1)
    assert f"{completed.lost} captures that its index names are not there" in completed.loss
    assert complete_open_files(tmp_path) == []


def test_a_file_of_which_nothing_was_named_is_removed(tmp_path: Path) -> None:
    archive = Archive(tmp_path, "x")
    archive.keep(response("http://a.example/", b"one"), HTML)
    index = next(tmp_path.glob("*.open"))
    index.write_bytes(b"garbage without an end")
    assert complete_open_files(tmp_path)[0].captures == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("reopened", [False, True])
def test_a_page_that_the_server_calls_unchanged_leaves_a_revisit_of_what_was_kept(
    tmp_path: Path, reopened: bool
) -> None:
    archive = Archive(tmp_path, "a")
    url = "http://a.example/"
    kept(archive.keep(response(url, b"one"), Document(kind=PageKind.HTML)))
    if reopened:
        archive.close()
        archive = Archive(tmp_path, "b")
    head = b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n"
    verified = Response(
        url=url,
        outcome=Outcome.UNCHANGED,
        status=304,
        asked_at=1_700_000_100.0,
        request_head=b"GET / HTTP/1.1\r\n\r\n",
        response_head=head,
    )
    capture = kept(archive.verified(verified))
    assert archive.verified(Response(url="http://a.example/other", outcome=Outcome.UNCHANGED, status=304)) is None
    archive.close()
    assert capture.revisit
    assert [one.revisit for one in find_bodies(tmp_path, url)] == [False, True]
    assert read_body(tmp_path, capture) == b"one"
    [headers] = [headers for kind, headers, _ in with_warcio(tmp_path) if kind == "revisit"]
    assert headers["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    assert headers["WARC-Refers-To-Date"] == "2023-11-14T22:13:20.250000Z"


@pytest.mark.parametrize("damage", ["torn", "gone"])
def test_what_can_no_longer_be_read_is_kept_again_and_not_referred_to(tmp_path: Path, damage: str) -> None:
    archive = Archive(tmp_path, "a")
    first = kept(archive.keep(response("http://a.example/", b"one"), HTML))
    archive.close()
    path = tmp_path / first.filename
    path.write_bytes(path.read_bytes()[: first.offset + 4]) if damage == "torn" else path.unlink()
    archive = Archive(tmp_path, "b")
    assert archive.verified(answered(304)) is None
    assert not kept(archive.keep(response("http://a.example/", b"one"), HTML, unchanged=True)).revisit


def answered(status: int, url: str = "http://a.example/", body: bytes = b"", at: float = 1_700_000_050.5) -> Response:
    """An answer without a document."""
    head = f"HTTP/1.1 {status} So\r\nLocation: /there\r\nContent-Length: 77\r\n\r\n".encode()
    headers = (("location", "/there"), ("content-length", "77"))
    return Response(
        url=url,
        outcome=outcome_of(status, conditional=True),
        status=status,
        headers=headers,
        body=body,
        asked_at=at,
        request_head=b"GET / HTTP/1.1\r\n\r\n",
        response_head=head,
    )


STATUSES = [300, 301, 302, 303, 307, 308, 401, 404, 410, 429, 500, 503, 666]


def test_redirects_and_errors_are_kept_with_everything_else(tmp_path: Path) -> None:
    archive = Archive(tmp_path, "x")
    captures = [kept(archive.answered(answered(status, f"http://a.example/{status}"))) for status in STATUSES]
    assert archive.answered(Response(url="http://a.example/", outcome=Outcome.DISALLOWED)) is None
    archive.close()
    assert [(one.status, one.mime) for one in captures] == [(status, "unk") for status in STATUSES]
    lines = [capture_of(line) for line in (tmp_path / "centime-x-00001.cdxj").read_bytes().splitlines()]
    assert sorted(lines, key=lambda one: one.offset) == captures
    assert [kind for kind, _, _ in with_warcio(tmp_path)] == ["warcinfo", *["request", "response"] * len(STATUSES)]
    with (tmp_path / "centime-x-00001.warc.gz").open("rb") as file:
        heads = [record.http_headers for record in ArchiveIterator(file) if record.rec_type == "response"]
    assert [head.get_statuscode() for head in heads] == [str(status) for status in STATUSES]
    assert {(head.get_header("Location"), head.get_header("Content-Length")) for head in heads} == {("/there", "0")}


@pytest.mark.parametrize(
    ("status", "announced", "said"),
    [
        (404, (("content-length", "77"),), "unspecified"),
        (301, (("transfer-encoding", "chunked"),), "unspecified"),
        (301, (("content-length", "0"),), None),
        (301, (), None),
        (304, (("content-length", "77"),), None),
    ],
)
def test_an_error_whose_body_was_left_out_is_said_to_be_truncated(
    tmp_path: Path, status: int, announced: tuple[tuple[str, str], ...], said: str | None
) -> None:
    archive = Archive(tmp_path, "x")
    archive.answered(replace(answered(status), headers=announced))
    archive.close()
    assert [headers.get("WARC-Truncated") for kind, headers, _ in with_warcio(tmp_path) if kind == "response"] == [said]


def test_who_keeps_only_xml_keeps_no_redirects_or_errors(tmp_path: Path) -> None:
    archive = Archive(tmp_path, "x", keep="xml")
    assert [archive.answered(answered(status)) for status in STATUSES] == [None] * len(STATUSES)
    archive.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("reopened", [False, True])
def test_a_redirect_or_error_is_no_body_of_the_page_and_nothing_is_a_revisit_of_it(
    tmp_path: Path, reopened: bool
) -> None:
    archive = Archive(tmp_path, "a")
    url = "http://a.example/"
    read = kept(archive.keep(response(url, b"one"), HTML))
    for status in (302, 404):
        archive.answered(answered(status, body=b"two"))
    if reopened:
        archive.close()
        archive = Archive(tmp_path, "b")
    verified = kept(archive.verified(answered(304, at=1_700_000_100.0)))
    two = kept(archive.keep(response(url, b"two", at=1_700_000_200.0), HTML, unchanged=True))
    archive.answered(answered(404, "http://a.example/gone"))
    archive.close()
    assert (verified.digest, two.revisit) == (read.digest, False)
    assert find_bodies(tmp_path, url) == [read, verified, two]
    assert [read_body(tmp_path, capture) for capture in (read, verified, two)] == [b"one", b"one", b"two"]
    assert find_bodies(tmp_path, "http://a.example/gone") == []


def test_redirects_and_errors_survive_a_killed_writer(tmp_path: Path) -> None:
    archive = Archive(tmp_path, "x")
    captures = [kept(archive.answered(answered(status, f"http://a.example/{status}"))) for status in STATUSES]
    path = tmp_path / "centime-x-00001.warc.gz"
    path.write_bytes(path.read_bytes()[:-5])
    assert complete_open_files(tmp_path)[0].captures == len(STATUSES) - 1
    assert path.stat().st_size == captures[-2].offset + captures[-2].length
    assert sum(kind == "response" for kind, _, _ in with_warcio(tmp_path)) == len(STATUSES) - 1


def test_no_server_can_pass_its_body_off_as_a_revisit(tmp_path: Path) -> None:
    archive = Archive(tmp_path, "x")
    said = replace(response("http://a.example/", b"one"), headers=(("content-type", "warc/revisit"),))
    capture = kept(archive.keep(said, HTML))
    assert (capture.mime, capture.revisit, read_body(tmp_path, capture)) == ("unk", False, b"one")


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_an_index_whose_last_line_is_torn_is_read_up_to_there(tmp_path: Path, cut: int) -> None:
    archive = Archive(str(tmp_path), "x", "all")
    for name in ("a", "b", "c"):
        archive.keep(response(f"http://{name}.example/", name.encode()), HTML, unchanged=False)
    archive.close()
    index = next(tmp_path.glob("*.cdxj"))
    index.write_bytes(index.read_bytes()[:-cut])
    assert len(find_bodies(tmp_path, "http://a.example/")) == 1
    assert find_bodies(tmp_path, "http://c.example/") == []
    assert find_bodies(tmp_path, "http://zzz.example/") == []
