"""Whatever head of an answer the fetcher accepts, the archive that keeps it is right and gives the body back."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from centime.crawl.check.archive import check_archive
from centime.crawl.check.findings import Findings
from centime.model.document import Document
from centime.model.errors import BadInput
from centime.model.outcome import Outcome, PageKind
from centime.model.response import Response
from centime.store.archives.archive import Archive, complete_open_files
from centime.store.archives.captures import every_capture, find_bodies, read_body
from centime.store.archives.warc import LONGEST_URL
from tests.fetch.hostile import closing, fetch

BODY = b"\r\n\r\nWARC/1.1\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"  # as confusing as can be
LINE_ENDS = [b"\r\n", b"\n", b"\r\n\t", b"\r\n\r", b"\n ", b"\r"]

values = st.binary(max_size=40) | st.builds(bytes.__mul__, st.sampled_from([b"a", b"\xff", b"\x1b"]), st.just(30_000))
lines = st.builds(
    b"%s: %s%s".__mod__,
    st.tuples(
        st.sampled_from([b"X-A", b"Content-Type", b"content-encoding", b"ETag", b"WARC-Type", b"x y", b"", b"\x1b"]),
        values,
        st.sampled_from(LINE_ENDS),
    ),
)


def archived(folder: Path, raw: bytes, status: bytes = b"200 OK") -> Response:
    """Fetches an answer with these lines in its head, and archives what comes of it."""
    head = b"HTTP/1.1 " + status + b"\r\n" + raw
    response = fetch({"/page": closing(head + b"Connection: close\r\n\r\n" + BODY)}, keep_heads=True)
    archive = Archive(folder, "x")
    if response.outcome is Outcome.READ:
        archive.keep(response, Document(kind=PageKind.HTML))
    else:
        archive.answered(response)
    archive.close()
    return response


def check(folder: Path, response: Response) -> None:
    findings = Findings()
    check_archive(folder, findings)
    assert findings.problems == []
    for capture in every_capture(folder):
        assert read_body(folder, capture) == response.body
    assert [capture.url for capture in find_bodies(folder, response.url)] == [response.url] * response.outcome.present


@hypothesis_settings(max_examples=60)
@given(st.lists(lines, max_size=6), st.sampled_from([b"200 OK", b"200", b"203 \x1b\xff", b"404 Not Found", b"302 x"]))
@example([b"X-A: " + b"a" * 40_000 + b"\r\n"], b"200 OK")
@example([b"X-A: " + b"a" * 30_000 + b"\r\n"] * 3, b"200 OK")
@example([b"X-A: " + b"a" * 40_000 + b"\r\n", b"X-B: " + b"b" * 200_000 + b"\r\n"], b"200 OK")
@example([b"A%d: b\r\n" % number for number in range(500)], b"200 OK")
def test_every_head_that_the_fetcher_accepts_is_kept_and_read_back(head: list[bytes], status: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        response = archived(Path(folder), b"".join(head), status)
        check(Path(folder), response)
        assert complete_open_files(Path(folder)) == []


@pytest.mark.parametrize("size", [31 << 10, 32 << 10, 63 << 10])
def test_a_head_of_up_to_64_kib_does_not_hide_its_body(size: int, tmp_path: Path) -> None:
    response = archived(tmp_path, b"X-Large: " + b"x" * size + b"\r\n")
    assert response.body == BODY
    check(tmp_path, response)


def test_a_killed_fetcher_leaves_records_with_large_heads_that_are_found_again(tmp_path: Path) -> None:
    large = archived(tmp_path / "other", b"X-Large: " + b"x" * 50_000 + b"\r\n")
    archive = Archive(tmp_path / "bodies", "killed")
    archive.keep(large, Document(kind=PageKind.HTML))  # and is never closed
    (report,) = complete_open_files(tmp_path / "bodies")
    assert (report.captures, report.lost, report.cut) == (1, 0, 0)
    check(tmp_path / "bodies", large)


def test_a_url_that_no_reader_would_find_is_not_kept(tmp_path: Path) -> None:
    long = Response(url="http://a.example/" + "a" * LONGEST_URL, outcome=Outcome.READ, status=200)
    with pytest.raises(BadInput, match="more than 4096 characters"):
        Archive(tmp_path, "x").keep(long, Document(kind=PageKind.HTML))


def test_an_empty_file_whose_index_was_never_made_is_no_problem(tmp_path: Path) -> None:
    (tmp_path / "centime-x-00001.warc.gz").touch()
    findings = Findings()
    check_archive(tmp_path, findings)
    assert findings.problems == []
