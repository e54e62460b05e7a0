"""`centime versions` and `centime diff` on an archive of hand-made bodies."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from xxhash import xxh3_128_digest

from centime import open_crawl
from centime.cli import main
from centime.cli.ending import run
from centime.crawl.documents import page_texts
from centime.crawl.report.versions import with_sentences
from centime.model.document import Document
from centime.model.outcome import Outcome, PageKind
from centime.model.response import Response
from centime.store.archives.archive import Archive
from centime.store.versions.database import FILE
from centime.store.versions.writer import VersionWriter
from tests.crawl.documents.test_pdf import encrypted, pdf
from tests.crawl.report.made import hand_made

PAGE, FEED, PICTURE, BROKEN = (f"http://a.example/{name}" for name in ("", "feed.xml", "picture.png", "broken.xml"))
DAY = 86_400.0
FIRST = 1_800_000_000.0  # 2027-01-15T08:00:00Z
OLD, NEW = (f"<h1>Größe</h1><p>We open at {hour}. Come <b>in</b>.</p>".encode("iso-8859-1") for hour in ("8", "9"))
BODIES = {
    PAGE: ("text/html; charset=iso-8859-1", [OLD, NEW, NEW, OLD]),
    FEED: ("text/xml", [b"<a><b>1</b></a>", b"<a><b>2</b></a>", b"<a><b>2</b><c>a new one</c></a>"]),
    PICTURE: ("image/png", [b"\x89PNG\0\1", b"\x89PNG\0\2"]),
    BROKEN: ("text/xml", [b"<a>\none", b"<a>\ntwo", b"<a>three</a>", b"<a>\nfour", b"<a>five</a>"]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("versions") / "crawl"
    with hand_made(folder) as opened:
        opened.close()
    archive = Archive(folder / "bodies", "x")
    for url, (content_type, bodies) in BODIES.items():
        seen: set[bytes] = set()
        for day, body in enumerate(bodies):
            answer = answered(url, content_type, body, day)
            archive.keep(answer, Document(kind=PageKind.HTML), unchanged=body in seen)
            seen.add(body)
    archive.close()
    return folder


def answered(url: str, content_type: str, body: bytes, day: int) -> Response:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n".encode()
    return Response(
        url=url, outcome=Outcome.READ, status=200, headers=(("content-type", content_type),), body=body,
        asked_at=FIRST + DAY * day, response_head=head,
    )  # fmt: skip


def document(body: bytes) -> Document:
    return Document(kind=PageKind.HTML, digest=xxh3_128_digest(body))


def centime(*arguments: object) -> int:
    return run(main.app, list(map(str, arguments)))


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    said = capsys.readouterr()
    assert said.err == ""
    return json.loads(said.out)


def test_a_version_is_a_body_that_differs_from_the_one_before(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert centime("versions", folder, PAGE, "--json") == 0
    versions = told(capsys)["versions"]
    assert [(one["version"], one["time"][:10], one["last_seen"][:10], one["bytes"]) for one in versions] == [
        (1, "2027-01-15", "2027-01-15", len(OLD)),
        (2, "2027-01-16", "2027-01-17", len(NEW)),
        (3, "2027-01-18", "2027-01-18", len(OLD)),
    ]


@pytest.fixture
def switched(tmp_path: Path) -> Path:
    """A crawl whose --keep went from all to versions and back; only on the fourth day the page was another."""
    with hand_made(tmp_path / "crawl") as opened:
        opened.close()
    bodies, versions = tmp_path / "crawl" / "bodies", tmp_path / "crawl" / "versions"
    for first, days in ((0, "AA"), (2, "ABB"), (5, "BA")):
        writer = VersionWriter(versions) if first == 2 else Archive(bodies, f"x{first}")
        for day, body in enumerate(days, first):
            writer.keep(answered(PAGE, "text/html", body.encode(), day), document(body.encode()))
        writer.close()
    return tmp_path / "crawl"


def test_a_page_that_did_not_change_has_no_new_version_when_keep_does(
    switched: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert centime("versions", switched, PAGE, "--json") == 0
    versions = told(capsys)["versions"]
    assert [(one["version"], one["time"][:10], one["last_seen"][:10]) for one in versions] == [
        (1, "2027-01-15", "2027-01-17"),
        (2, "2027-01-18", "2027-01-20"),
        (3, "2027-01-21", "2027-01-21"),
    ]


def test_a_damaged_body_where_keep_was_changed_hides_no_other(
    switched: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (switched / "bodies").glob("x0*.warc.gz"):
        path.unlink()
    assert centime("text", switched, PAGE) == 0
    assert capsys.readouterr().out == "A\n"


def test_bodies_of_both_kinds_are_listed_with_the_same_facts(
    switched: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert centime("bodies", switched, PAGE, "--list") == 0
    assert len([line for line in capsys.readouterr().out.splitlines() if line.startswith("2027-01-")]) == 6
    assert centime("bodies", switched, PAGE, "--list", "--json") == 0
    captures = told(capsys)["captures"]
    assert len({tuple(one) for one in captures}) == 1
    assert [(one["version"], one["bytes"], one["offset"] is None) for one in captures[1:4]] == [
        (None, None, False), (1, 1, True), (2, 1, True),
    ]  # fmt: skip


def test_versions_of_one_text_are_told_apart_by_their_trees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with hand_made(tmp_path / "crawl") as opened:
        opened.close()
    writer = VersionWriter(tmp_path / "crawl" / "versions")
    for content_type, url, bodies in (
        ("text/xml", FEED, (b"<a><b>1</b><c/></a>", b"<a><b/><c>1</c></a>", b"<a><b></b><c>1</c></a>")),
        ("text/plain", PAGE, (b"1\n", b"1")),
    ):
        for day, body in enumerate(bodies):
            writer.keep(answered(url, content_type, body, day), document(body))
    writer.close()
    for url, new, said in (
        (FEED, 2, "; the tree differs: --xml shows where"),
        (FEED, 3, ", and so is the tree"),
        (PAGE, 2, ""),
    ):
        assert centime("diff", tmp_path / "crawl", url, "--to", new) == 0
        assert capsys.readouterr().out.splitlines()[-1] == f"the text is the same{said}"
    assert centime("diff", tmp_path / "crawl", PAGE, "--xml") == 2
    assert "text/plain is neither HTML nor XML" in capsys.readouterr().err


def test_digits_are_a_version_or_else_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with hand_made(tmp_path / "crawl") as opened:
        opened.close()
    writer = VersionWriter(tmp_path / "crawl" / "versions")
    for day, body in enumerate((b"one", b"two", b"three")):
        writer.keep(answered(PAGE, "text/html", body, day), document(body))
    writer.close()
    database = sqlite3.connect(tmp_path / "crawl" / "versions" / FILE)
    database.execute("UPDATE version SET number = number + 2025")
    database.execute("UPDATE document SET newest = newest + 2025")
    database.commit()
    database.close()
    for named, text in (
        ("2026", "one"), ("2027", "two"), ("2028", "three"), ("2029", "three"), ("20270116", "two"),
        ("20270115080000", "one"), ("2027-01-15", "one"),
    ):  # fmt: skip
        assert centime("text", tmp_path / "crawl", PAGE, "--at", named) == 0, named
        assert capsys.readouterr().out == f"{text}\n", named
    for named, code, sentence in (
        ("1000", 1, "there is no version 1000; it has 2026 to 2028"), ("2100", 1, "there is no version 2100"),
        ("20275", 1, "there is no version 20275"), ("2020", 1, "the first body was stored at"),
        ("9" * 5000, 2, "a time is written like"),
    ):  # fmt: skip
        assert centime("text", tmp_path / "crawl", PAGE, "--at", named) == code, named
        assert sentence in capsys.readouterr().err, named


def test_the_text_of_a_page_is_what_it_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert centime("text", folder, PAGE) == 0
    assert capsys.readouterr().out == "Größe\nWe open at 8. Come in.\n"
    assert centime("text", folder, PAGE, "--at", "2", "--json") == 0
    assert told(capsys)["text"] == ["Größe", "We open at 9. Come in."]
    assert centime("text", folder, PICTURE) == 1
    assert "image/png has no text that Centime reads\n" in capsys.readouterr().err


def test_a_pdf_without_a_text_says_why_and_is_no_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with hand_made(tmp_path / "crawl") as opened:
        opened.close()
    url = "http://a.example/a.pdf"
    bodies = {
        b"%PDF-1.4 nothing": "it is broken (Failed to load",
        encrypted(): "it is encrypted, and needs a password",
        pdf((" ",)): "its pages have none; they may be pictures",
        b"x" * 900: "it has more than 0 MiB",
    }
    writer = VersionWriter(tmp_path / "crawl" / "versions")
    for day, body in enumerate([*bodies, b"junk\n" * 100 + pdf(("Tea and cake.",))]):
        writer.keep(answered(url, "application/pdf", body, day), document(body))
    writer.close()
    monkeypatch.setattr(page_texts, "MOST_PDF_BYTES", 899)
    for number, reason in enumerate(bodies.values(), 1):
        assert centime("text", tmp_path / "crawl", url, "--at", str(number)) == 1, reason
        said = capsys.readouterr()
        assert f"application/pdf has no text that Centime reads: {reason}" in said.err
        assert said.out == ""
    monkeypatch.undo()
    assert centime("text", tmp_path / "crawl", url) == 0, "readers of PDFs skip what is before the header"
    assert capsys.readouterr().out == "Tea and cake.\n"
    monkeypatch.setattr(page_texts, "reads_pdf", lambda: False)
    assert centime("text", tmp_path / "crawl", url) == 1
    assert "pip install 'centime[pdf]'" in capsys.readouterr().err


def test_people_see_the_sentences_that_changed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert centime("diff", folder, PAGE) == 0
    assert capsys.readouterr().out.splitlines()[3:] == ["  Größe", "- We open at 9.", "+ We open at 8.", "  Come in."]
    assert centime("diff", folder, PAGE, "--side-by-side") == 0
    assert any("We open at 9." in line and "We open at 8." in line for line in capsys.readouterr().out.splitlines())


def test_the_history_of_a_node_is_shown_by_path_and_by_identifier(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert centime("versions", folder, FEED, "--node", "/a/b", "--json") == 0
    by_path = told(capsys)["history"]
    assert [(one["version"], one["what"]) for one in by_path] == [(1, "inserted"), (2, "changed inside")]
    assert [one["content"] for one in by_path] == ["<b>1</b>", "<b>2</b>"]
    with open_crawl(folder) as reader:
        assert reader.history(FEED, "/a/b") == reader.history(FEED, 2) == by_path
    assert centime("versions", folder, FEED, "--node", "/a/b") == 0
    assert "changed inside" in capsys.readouterr().out
    assert centime("versions", folder, FEED, "--node", "/a/z") == 1
    assert "no version has a node /a/z" in capsys.readouterr().err
    assert centime("versions", folder, PICTURE, "--node", "1") == 1


@pytest.mark.parametrize(
    ("options", "versions"),
    [
        ([], (2, 3)),
        (["--to", "2"], (1, 2)),
        (["--from", "1"], (1, 3)),
        (["--from", "2027-01-15", "--to", "2027-01-17"], (1, 2)),
        (["--from", "2", "--to", "2"], (2, 2)),
    ],
)
def test_versions_are_named_by_number_or_time(
    folder: Path, options: list[str], versions: tuple[int, int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert centime("diff", folder, PAGE, *options, "--json") == 0
    report = told(capsys)
    assert (report["from"]["version"], report["to"]["version"]) == versions
    assert bool(report["sentences"]) == bool(report["delta"]) == (versions in ((1, 2), (2, 3)))


def test_a_delta_has_identifiers_that_persist(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert centime("diff", folder, FEED, "--from", "1", "--xml") == 0
    delta = etree.fromstring(capsys.readouterr().out)
    assert [(one.tag, one.get("xid"), one.get("path")) for one in delta] == [
        ("insert", "4", "/a/c"),
        ("update", "3", "/a/b/text()"),
    ]


def test_a_page_of_changes_marks_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert centime("diff", folder, PAGE, "--html") == 0
    assert "<p>We open at <del>9.</del> <ins>8.</ins></p>" in capsys.readouterr().out


def test_what_has_no_tree_is_compared_as_far_as_it_can_be(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert centime("diff", folder, PICTURE, "--json") == 0
    report = told(capsys)
    assert (report["sentences"], report["delta"]) == ([], None)
    assert centime("diff", folder, PICTURE, "--xml") == 2
    assert "neither HTML nor XML" in capsys.readouterr().err
    assert centime("diff", folder, BROKEN, "--to", "2") == 0
    assert capsys.readouterr().out.splitlines()[3:] == ["  <a>", "- one", "+ two"]
    assert centime("diff", folder, BROKEN, "--to", "4", "--json") == 0
    assert "not well formed" in told(capsys)["no_delta"]
    assert centime("diff", folder, BROKEN, "--from", "3", "--json") == 0
    assert [(one["operation"], one["xid"]) for one in told(capsys)["delta"]] == [("update", 2)]


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ([PAGE, "--to", "1"], 1, "nothing to compare it with"),
        ([PAGE, "--from", "9"], 1, "there is no version 9; it has 1 to 3"),
        ([PAGE, "--from", "0"], 1, "there is no version 0"),
        ([PAGE, "--from", "3", "--to", "1"], 2, "is newer than version 1"),
        ([PAGE, "--from", "soon"], 2, "a time is written like"),
        ([PAGE, "--xml", "--json"], 2, "exclude each other"),
        (["http://a.example/none"], 1, "no body is stored"),
    ],
)
def test_wrong_input_is_said(
    folder: Path, arguments: list[str], code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert centime("diff", folder, *arguments) == code
    assert sentence in capsys.readouterr().err


def test_a_program_gets_what_the_command_writes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_crawl(folder) as crawl:
        assert centime("versions", folder, FEED, "--json") == 0
        assert crawl.versions(FEED) == told(capsys)["versions"]
        assert centime("diff", folder, FEED, "--from", "1", "--json") == 0
        assert crawl.diff(FEED, 1) == told(capsys)
        assert crawl.diff(FEED, old="2027-01-15", new=2)["to"]["version"] == 2


def test_a_change_has_the_sentences_that_differ_from_the_version_before(folder: Path) -> None:
    rows = [
        {"change": change, "url": url, "seen_seconds": FIRST + day * DAY + 1, "last_seen_before_seconds": before}
        for change, url, day, before in (
            ("changed", PAGE, 1, FIRST + 2),
            ("new", PAGE, 0, 0.0),
            ("changed", "http://a.example/none", 0, 0.0),
            ("changed", PAGE, 0, 0.0),
            ("changed", PAGE, 2, FIRST + DAY + 2),  # the version of that visit is not stored
        )
    ]
    assert [row["sentences"] for row in with_sentences(folder, rows)] == [
        [{"old": ["We open at 8."], "new": ["We open at 9."]}],
        None,
        None,
        None,
        None,
    ]


def test_changes_show_their_sentences(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert centime("changes", folder, "--diff") == 0
    assert " new http://" in capsys.readouterr().out
    assert centime("changes", folder, "--diff", "--json") == 0
    assert all(row["sentences"] is None for row in told(capsys)["changes"])
    assert centime("changes", folder, "--diff", "--atom") == 0
    assert "<feed" in capsys.readouterr().out
