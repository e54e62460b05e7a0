"""Stored pages as corpora, files, histories and archives: other tools read them, and all of them say the same."""

import gzip
import hashlib
import io
import json
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

from centime.cli import main
from centime.cli.ending import run
from centime.crawl.export import corpus
from centime.crawl.export.corpus import CorpusLink, links_of
from centime.store.versions.writer import VersionWriter
from tests.crawl.report.made import hand_made
from tests.crawl.search.made import ROOT, Library, crawled_versions
from tests.store.versions.test_versions import START, keep

ONE, TWO, THREE = (f"http://a.example/{name}" for name in ("one", "two/", "three.txt"))
PAGES: dict[str, Any] = {
    ONE: "<html lang=de><title>Eins</title><nav>Home</nav><h1>Eins</h1><p>Ein <a href='/two/'>Text</a>.",
    TWO: "<title>Zwei</title><p>first",
    THREE: ("text/plain", b"plain text"),
    "http://a.example/picture.png": ("image/png", b"\x89PNG\0\1"),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with closing(Library(tmp_path_factory.mktemp("export") / "crawl", PAGES)) as library:
        library.round({ONE: PAGES[ONE], TWO: "<title>Zwei</title><p>second", THREE: ("", None)})
        library.round({TWO: "<title>Zwei</title><p>first"})
        yield library


def export(library: Library, form: str, output: Path, *more: str) -> int:
    return run(main.app, ["export", str(library.folder), "--format", form, "-o", str(output), *more])


def test_a_corpus_has_the_text_of_every_page_that_is_there(library: Library, tmp_path: Path) -> None:
    assert export(library, "jsonl", tmp_path / "c.jsonl") == 0
    rows = {row["url"]: row for row in map(json.loads, (tmp_path / "c.jsonl").read_text().splitlines())}
    assert rows.keys() == {ONE, TWO}  # the root has a title only
    assert (rows[ONE]["title"], rows[ONE]["text"], rows[ONE]["language"]) == ("Eins", "Eins\nEin Text.", "de")
    assert rows[TWO]["text"] == "first"
    assert rows[TWO]["changed"] > rows[ONE]["changed"]
    assert rows[ONE]["importance"] > 0
    assert rows[ONE]["links"] == [{"url": TWO, "text": "Text", "external": False, "nofollow": False}]
    assert (rows[ONE]["content_type"], rows[ONE]["canonical"]) == ("text/html; charset=utf-8", None)
    assert export(library, "parquet", tmp_path / "c.parquet", "--text") == 0
    table = pq.read_table(tmp_path / "c.parquet").to_pylist()
    for name in ("text", "links"):
        assert [row[name] for row in table] == [rows[row["url"]][name] for row in table]
    assert [row["changed"].strftime("%Y-%m-%dT%H:%M:%SZ") for row in table] == [
        rows[row["url"]]["changed"] for row in table
    ]


def test_each_link_of_a_page_is_there_once_with_its_first_text(monkeypatch: pytest.MonkeyPatch) -> None:
    page = b"<a href=/a>One  a</a><a href='/a'>One a</a><a href=/a>other</a><a href=#x>here</a><a href='mailto:x'>m</a>"
    page += b"<a href=http://b.example/ rel=nofollow>b</a>"
    named, found = links_of(b"<link rel=canonical href=/>" + page, "text/html", "http://a.example/")
    inside = CorpusLink("http://a.example/a", "One a", external=False, nofollow=False)
    outside = CorpusLink("http://b.example/", "b", external=True, nofollow=True)
    assert named == "http://a.example/"
    assert found == [inside, outside]
    monkeypatch.setattr(corpus, "MOST_LINKS", 1)
    assert len(links_of(page, "text/html", "http://a.example/")[1]) == 1


def test_pages_are_markdown_files(library: Library, tmp_path: Path) -> None:
    assert export(library, "markdown", tmp_path / "pages") == 0
    files = {str(path.relative_to(tmp_path / "pages")): path for path in (tmp_path / "pages").rglob("*.md")}
    assert files.keys() == {"a.example_http/one.md", "a.example_http/two/index.md"}
    _, head, text = files["a.example_http/one.md"].read_text().split("---\n", 2)
    assert text == "\n# Eins\n\nEin [Text](http://a.example/two/).\n"
    assert 'title: "Eins"\nlanguage: "de"\n' in head
    assert [path.name for path in tmp_path.iterdir()] == ["pages"]


def test_git_gets_a_commit_for_each_version_in_the_order_of_time(library: Library, tmp_path: Path) -> None:
    assert export(library, "git", tmp_path / "stream") == 0
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "fast-import", "--quiet"], input=(tmp_path / "stream").read_bytes(), check=True)

    def asked(*words: str) -> str:
        return subprocess.run([*git, *words], check=True, capture_output=True, text=True).stdout

    commits = asked("log", "--reverse", "--format=%s", "main").split()
    assert sorted(commits) == sorted([ROOT, *PAGES, TWO, TWO])
    assert commits[-2:] == [TWO, TWO]
    assert asked("show", "main:a.example_http/two/index.html") == "<title>Zwei</title><p>first"
    assert asked("show", "main~1:a.example_http/two/index.html") == "<title>Zwei</title><p>second"
    cut = (tmp_path / "stream").read_bytes()[:-6]
    assert subprocess.run([*git, "fast-import", "--quiet", "--force"], input=cut, capture_output=True).returncode


def test_the_archive_is_one_warc_file_or_one_package(library: Library, tmp_path: Path) -> None:
    assert export(library, "warc", tmp_path / "c.warc.gz") == 0
    with (tmp_path / "c.warc.gz").open("rb") as file:
        joined = [record.rec_headers.get_header("WARC-Target-URI") for record in ArchiveIterator(file)]
    assert {url for url in joined if url} == {ROOT, *PAGES}
    assert export(library, "wacz", tmp_path / "c.wacz") == 0
    with zipfile.ZipFile(tmp_path / "c.wacz") as package:
        assert package.testzip() is None
        about = json.loads(package.read("datapackage.json"))
        for resource in about["resources"]:
            data = package.read(resource["path"])
            assert (resource["bytes"], resource["hash"]) == (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}")
        assert all(one.compress_type == zipfile.ZIP_STORED for one in package.infolist() if "archive" in one.filename)
        lines = package.read("indexes/index.cdx").splitlines()
        assert lines == sorted(lines)
        for line in lines:
            capture = json.loads(line.split(b" ", 2)[2])
            file_ = io.BytesIO(package.read(f"archive/{capture['filename']}"))
            file_.seek(int(capture["offset"]))
            assert capture["url"].encode() in gzip.decompress(file_.read(int(capture["length"])))
        pages = [json.loads(line) for line in package.read("pages/pages.jsonl").splitlines()]
        assert pages[0]["format"] == "json-pages-1.0"
        assert {page["url"]: page["title"] for page in pages[1:]} == {ONE: "Eins", TWO: "Zwei"}


def test_streams_are_written_as_they_come(library: Library, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert export(library, "jsonl", Path("-")) == 0
    assert len(capfdbinary.readouterr().out.splitlines()) == 2


def test_versions_are_exported_like_archived_bodies(tmp_path: Path) -> None:
    folder = crawled_versions(tmp_path / "crawl")
    for form in ("jsonl", "git"):
        assert run(main.app, ["export", str(folder), "--format", form, "-o", str(tmp_path / form)]) == 0
    assert len((tmp_path / "jsonl").read_bytes().splitlines()) > 10
    assert (tmp_path / "git").read_bytes().count(b"\ncommitter centime") > 10


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--format", "markdown", "-o", "full"], "needs a new or empty folder"),
        (["--format", "markdown", "-o", "-"], "needs a folder"),
        (["--format", "jsonl", "--text"], "--text is for the format parquet"),
        (["--format", "jsonl", "-o", "nowhere/c.jsonl"], "there is no such folder"),
        (["--format", "docx"], "the format of an export is"),
    ],
)
def test_wrong_input_is_said(
    library: Library,
    words: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("x")
    assert run(main.app, ["export", str(library.folder), *words]) == 2
    assert sentence in capsys.readouterr().err


def test_stored_versions_are_records_of_an_archive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with hand_made(tmp_path / "crawl", keep="versions") as opened:
        opened.close()
    writer = VersionWriter(tmp_path / "crawl" / "versions")
    long = f"http://a.example/{'x' * 5_000}"
    for number, url in enumerate([ONE, ONE, TWO, long]):
        keep(writer, b"<title>T</title><p>Number %d." % number, START + number, url)
    writer.close()
    command = ["export", str(tmp_path / "crawl"), "--json", "--format"]
    assert run(main.app, [*command, "warc", "-o", str(tmp_path / "c.warc.gz")]) == 0
    assert json.loads(capsys.readouterr().out)["unreadable"] == 1, "the URL is too long for a record"
    with (tmp_path / "c.warc.gz").open("rb") as file:
        found = [
            (
                record.rec_headers.get_header("WARC-Target-URI"),
                record.http_headers.get_header("Content-Type"),
                record.content_stream().read(),
            )
            for record in ArchiveIterator(file)
            if record.rec_type == "response"
        ]
    kind = "text/html; charset=utf-8"
    assert sorted(found) == [
        (url, kind, b"<title>T</title><p>Number %d." % number) for number, url in enumerate([ONE, ONE, TWO])
    ]
    assert run(main.app, [*command, "wacz", "-o", str(tmp_path / "c.wacz")]) == 0
    with zipfile.ZipFile(tmp_path / "c.wacz") as package:
        assert len(package.read("indexes/index.cdx").splitlines()) == 3


def test_a_crawl_without_bodies_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with hand_made(tmp_path / "crawl") as opened:
        opened.close()
    for form in ("jsonl", "markdown", "git", "warc", "wacz"):
        assert run(main.app, ["export", str(tmp_path / "crawl"), "--format", form, "-o", str(tmp_path / form)]) == 2
        assert "keeps no bodies (--keep none)" in capsys.readouterr().err
        assert not (tmp_path / form).exists()
