"""How stored documents are read: encodings by the Content-Type, parts behind redirects, and what limits cut off."""

from typing import Any

import pytest

from centime.cli import main
from centime.cli.ending import run
from centime.crawl.documents.catalog import updated_catalog
from centime.crawl.report.opening import look_at
from centime.warehouse.loader import State
from tests.crawl.documents.test_documents import told, xml
from tests.crawl.served import Crawled, Routes, crawled, html
from tests.fetch.hostile import answer

LATIN = "application/xml; charset=iso-8859-1"
UTF8 = "application/xml; charset=utf-8"
WHOLE = b"x" * (11 << 20)


def routes(url: str) -> Routes:
    pages: Routes = {
        "/latin.xml": answer(b"<?xml version='1.0'?><r>caf\xe9</r>", content_type=LATIN),
        "/utf8.xml": answer("<?xml version='1.0' encoding='ISO-8859-1'?><r>caf\xe9</r>".encode(), content_type=UTF8),
        "/wrong.xml": answer(b"<r>caf\xe9</r>", content_type=UTF8),
        "/wide.xml": xml("<?xml version='1.0' encoding='UTF-32'?><r>caf\xe9</r>".encode("utf-32")),
        "/part.xml": xml(b"<!DOCTYPE r SYSTEM 'latin.dtd'><r>&x;</r>"),
        "/moved.xml": xml(b"<!DOCTYPE r SYSTEM 'old.dtd'><r>&y;</r>"),
        "/loop.xml": xml(b"<!DOCTYPE r SYSTEM 'loop.dtd'><r/>"),
        "/deeper.xml": xml(b"<a>" * 3_000 + b"<z/>" + b"</a>" * 3_000),
        "/deep.xml": xml(b"<a>" * 1_000 + b"<z/>" + b"</a>" * 1_000),
        "/hidden.xml": xml(b"<a>" + b"<b>&no;</b>" * 200 + b"<a>" * 3_000 + b"<z/>" + b"</a>" * 3_001),
        "/deep": answer(b"<div>" * 1_000 + b"<h1>z</h1>", content_type="text/html"),
        "/large": answer(b"<!--" + WHOLE + b"--><p>" + b"<h1>z</h1>", content_type="text/html"),
    }
    parts: Routes = {
        "/latin.dtd": answer(
            b"<!ELEMENT r (#PCDATA)><!ENTITY x 'caf\xe9'>", content_type="application/xml-dtd; charset=iso-8859-1"
        ),
        "/old.dtd": answer(status="301 Moved", location="/older.dtd"),
        "/older.dtd": answer(status="302 Found", location="/new/r.dtd"),
        "/new/r.dtd": answer(
            b"<!ELEMENT r (#PCDATA)><!ENTITY % m SYSTEM 'm.ent'>%m;", content_type="application/xml-dtd"
        ),
        "/new/m.ent": answer(b"<!ENTITY y 'yes'>", content_type="application/xml-external-parsed-entity"),
        "/loop.dtd": answer(status="302 Found", location="/loop2.dtd"),
        "/loop2.dtd": answer(status="302 Found", location="/loop.dtd"),
    }
    return {"/": html(*pages), **pages, **parts}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    folder = tmp_path_factory.mktemp("reading") / "c"
    given: dict[str, Any] = {"keep": "versions", "parts": True, "scope": "host", "most-page-bytes": 32 << 20}
    return crawled(folder, routes, "/", given=given)


def test_documents_are_loaded_by_their_content_type_and_parts_are_found_behind_redirects(site: Crawled) -> None:
    opened = look_at(site.folder)
    entries = {entry.url.removeprefix(site.url): entry for entry in updated_catalog(opened)}
    opened.close()
    assert {path: entry.state for path, entry in entries.items()} == {
        "/latin.xml": State.WELL_FORMED,
        "/utf8.xml": State.WELL_FORMED,
        "/wrong.xml": State.BROKEN,
        "/wide.xml": State.WELL_FORMED,
        "/part.xml": State.VALID,
        "/moved.xml": State.VALID,
        "/loop.xml": State.WAITING,
        "/deep.xml": State.GIVEN_UP,
        "/deeper.xml": State.GIVEN_UP,
        "/hidden.xml": State.BROKEN,
    }
    assert entries["/loop.xml"].wanted == [f"{site.url}/loop.dtd"]


def test_a_query_reads_text_in_the_encoding_of_the_content_type(
    site: Crawled, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = told(capsys, "query", site.folder, "/r/text()", "--match", "/(latin|utf8|wide).xml")["results"]
    assert [row["found"] for row in rows] == [["caf\xe9"]] * 3


def test_a_query_examines_whole_pages_or_says_that_it_did_not(
    site: Crawled, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = told(capsys, "query", site.folder, "//z | //h1", "--match", "/(deep|deep.xml|large)$")["results"]
    assert [(row["count"], row.get("trouble")) for row in rows] == [(1, None)] * 3
    cut = told(capsys, "query", site.folder, "//z", "--match", "/(deeper|hidden).xml")["troubles"]
    assert [(row["count"], "found" in row) for row in cut] == [(0, False)] * 2
    assert all(row["trouble"].startswith("only a part of it was examined") for row in cut)
    few = told(capsys, "query", site.folder, "//z", "--match", "[.]xml$", "-n", "1")
    assert [row["url"] for row in few["results"]] == [f"{site.url}/deep.xml"], "pages with trouble do not count"
    (both,) = told(capsys, "query", site.folder, "/a", "--match", "/deeper.xml")["results"]
    assert (both["count"], "2048" in both["trouble"]) == (1, True)
    assert run(main.app, ["query", str(site.folder), "//z", "--match", "/deeper.xml"]) == 0
    assert "trouble: only a part of it was examined" in capsys.readouterr().out
