"""Stored XML documents and queries: a real site with DTDs, entities, bombs and parts that come later."""

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from centime import open_crawl
from centime.cli import main
from centime.cli.ending import run
from centime.crawl.documents.catalog import FILE, FOLDER, filtered, updated_catalog
from centime.crawl.documents.examiner import examiner
from centime.crawl.documents.examining import Task
from centime.crawl.report.opening import look_at
from centime.warehouse.loader import State
from tests.crawl.served import Crawled, Routes, crawled, html
from tests.fetch.hostile import answer

DTD = b"<!ELEMENT list (item*)><!ATTLIST list size CDATA #IMPLIED><!ELEMENT item (#PCDATA)><!ENTITY x SYSTEM 'x.ent'>"
BOMB = b"<!DOCTYPE a [<!ENTITY a0 'lol'>%s]><a>&a9;</a>" % b"".join(
    b"<!ENTITY a%d '%s'>" % (one, b"&a%d;" % (one - 1) * 10) for one in range(1, 10)
)


def xml(body: bytes) -> bytes:
    return answer(body, content_type="application/xml")


def routes(url: str) -> Routes:
    elsewhere = url.replace("127.0.0.1", "localhost")
    return {
        "/": answer(
            html(
                "/valid.xml",
                "/invalid.xml",
                "/plain.xml",
                "/broken.xml",
                "/lacking.xml",
                "/bomb.xml",
                "/file.xml",
                "/other.xml",
                "/page",
            ),
            content_type="text/html",
        ),
        "/valid.xml": xml(b"<!DOCTYPE list SYSTEM 'd/list.dtd'><list size='2'><item>a</item>&x;</list>"),
        "/invalid.xml": xml(b"<!DOCTYPE list SYSTEM 'd/list.dtd'><list><thing/></list>"),
        "/plain.xml": xml(b"<rss xmlns:p='urn:p'><p:price>7</p:price><p:price>107</p:price></rss>"),
        "/broken.xml": xml(b"<list><item></list>"),
        "/lacking.xml": xml(b"<!DOCTYPE list SYSTEM 'missing.dtd'><list>&unknown;</list>"),
        "/bomb.xml": xml(BOMB),
        "/file.xml": xml(b"<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/hostname'>]><a>&x;</a>"),
        "/other.xml": xml(f"<!DOCTYPE list SYSTEM '{elsewhere}/far.dtd'><list><item>f</item></list>".encode()),
        "/d/list.dtd": answer(DTD, content_type="application/xml-dtd"),
        "/d/x.ent": answer(b"<item>b</item>", content_type="text/plain"),
        "/far.dtd": answer(DTD.partition(b"<!ENTITY")[0], content_type="application/xml-dtd"),
        "/page": answer(b"<h1>A page</h1><p class=price>9", content_type="text/html"),
    }


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    folder = tmp_path_factory.mktemp("documents") / "c"
    return crawled(folder, routes, "/", given={"keep": "versions", "parts": True, "scope": "host"})


def states(site: Crawled) -> dict[str, State]:
    opened = look_at(site.folder)
    try:
        return {entry.url.removeprefix(site.url): entry.state for entry in updated_catalog(opened)}
    finally:
        opened.close()


EXPECTED = {
    "/valid.xml": State.VALID,
    "/invalid.xml": State.INVALID,
    "/plain.xml": State.WELL_FORMED,
    "/broken.xml": State.BROKEN,
    "/lacking.xml": State.WAITING,
    "/bomb.xml": State.GIVEN_UP,
    "/file.xml": State.GIVEN_UP,
    "/other.xml": State.VALID,
    "/d/x.ent": State.WELL_FORMED,  # an entity that is a document too
}


def test_every_stored_document_has_a_state_and_parts_of_other_hosts_are_fetched(site: Crawled) -> None:
    assert states(site) == EXPECTED
    assert states(site) == EXPECTED, "the second time it comes from the catalog"


def test_a_catalog_that_is_damaged_is_made_anew(site: Crawled) -> None:
    (site.folder / FOLDER / FILE).write_bytes(b"nothing of ours" * 500)
    assert states(site) == EXPECTED


def told(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> Any:
    assert run(main.app, [*map(str, words), "--json"]) == code
    out = capsys.readouterr().out
    return json.loads(out) if out else None


def test_documents_are_counted_and_listed(site: Crawled, capsys: pytest.CaptureFixture[str]) -> None:
    report = told(capsys, "documents", site.folder)
    assert report["documents"] == len(EXPECTED) == report["stored"]
    assert report["states"]["valid"] == 2
    assert report["dtds"]["d/list.dtd"] == 2
    (row,) = told(capsys, "documents", site.folder, "--state", "waiting")["list"]
    assert row["wanted"] == [f"{site.url}/missing.dtd"]
    (row,) = told(capsys, "documents", site.folder, "--root", "list", "--dtd", "far")["list"]
    assert row["url"].endswith("/other.xml")
    (row,) = told(capsys, "documents", site.folder, "--namespace", "urn:p")["list"]
    assert row["facts"]["elements"] == 3
    assert run(main.app, ["documents", str(site.folder)]) == 0
    assert "lacks" in capsys.readouterr().out
    assert run(main.app, ["documents", str(site.folder), "--state", "odd"]) == 2
    assert run(main.app, ["documents", str(site.folder), "-n", "-1"]) == 2


def test_the_record_of_a_page_says_what_its_document_is(site: Crawled, capsys: pytest.CaptureFixture[str]) -> None:
    document = told(capsys, "page", site.folder, f"{site.url}/valid.xml")["document"]
    assert (document["state"], document["root"], document["system_id"]) == ("valid", "list", "d/list.dtd")
    assert run(main.app, ["page", str(site.folder), f"{site.url}/invalid.xml"]) == 0
    assert "invalid" in capsys.readouterr().out
    assert "document" not in told(capsys, "page", site.folder, f"{site.url}/page")


def test_the_filters_exclude_what_has_no_facts(site: Crawled) -> None:
    opened = look_at(site.folder)
    found = list(filtered(updated_catalog(opened), root="nothing"))
    opened.close()
    assert found == []


def test_a_query_finds_values_in_the_order_of_importance(site: Crawled, capsys: pytest.CaptureFixture[str]) -> None:
    report = told(capsys, "query", site.folder, "//p:price[. < 100]/text()")
    assert [(row["url"], row["found"], row["count"]) for row in report["results"]] == [
        (f"{site.url}/plain.xml", ["7"], 1)
    ]
    report = told(capsys, "query", site.folder, "//*[@class='price']", "--kind", "html")
    assert [row["found"] for row in report["results"]] == [['<p class="price">9</p>']]
    report = told(capsys, "query", site.folder, "count(//item)", "--kind", "xml", "--match", "other")
    assert [row["found"] for row in report["results"]] == [["1"]]
    assert told(capsys, "query", site.folder, "//nothing")["results"] == []
    first = told(capsys, "query", site.folder, "/*", "-n", "1", "--results", "1")
    assert len(first["results"]) == 1 == first["examined"]
    every = told(capsys, "query", site.folder, "/*", "-n", "99")["results"]
    ordered = [row["importance"] for row in every]
    assert ordered == sorted(ordered, reverse=True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["//["], "is not an XPath"),
        (["foo()"], "is not an XPath"),
        (["/" * 20_000], "at most 10000 characters"),
        (["//a", "--kind", "pdf"], "kind of pages is one of"),
        (["//a", "--at", "soon"], "a time is written like"),
        (["//a", "-n", "0"], "at least 1"),
        (["//a", "--match", "("], "pattern"),
    ],
)
def test_wrong_queries_are_refused(
    words: list[str], said: str, site: Crawled, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(main.app, ["query", str(site.folder), *words]) == 2
    assert said in capsys.readouterr().err


def test_people_see_results_and_how_many_pages_were_examined(site: Crawled, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(main.app, ["query", str(site.folder), "//item", "--match", "valid.xml"]) == 0
    assert "<item>a</item>" in capsys.readouterr().out
    assert run(main.app, ["query", str(site.folder), "//nothing"]) == 0
    assert "no stored page has a result" in capsys.readouterr().err


def test_a_prefix_that_a_page_does_not_declare_names_nothing_in_it_and_hides_nothing_else(
    site: Crawled, capsys: pytest.CaptureFixture[str]
) -> None:
    def found(xpath: str) -> list[tuple[str, int]]:
        assert run(main.app, ["query", str(site.folder), xpath, "--json"]) == 0
        return [(one["url"], one["count"]) for one in json.loads(capsys.readouterr().out)["results"]]

    assert found("//item")
    assert found("//item | //nope:thing") == found("//item")
    assert found("//nope:thing") == []


def test_a_document_that_takes_too_long_is_given_up_and_the_next_is_examined(site: Crawled) -> None:
    slow = "//*"
    for _ in range(30):
        slow = f"//*[count({slow}) > 0]"  # each of these takes as many times longer as there are elements
    with examiner(site.folder, 0.5) as asking:
        assert asking.examine(Task(f"{site.url}/plain.xml", "//*")).count == 3
        asking._seconds = 0.2
        given_up = asking.examine(Task(f"{site.url}/valid.xml", slow))
        assert (given_up.state, "seconds" in given_up.error) == (State.GIVEN_UP, True)
        asking._seconds = 20.0
        assert asking.examine(Task(f"{site.url}/plain.xml", "//*")).count == 3
        assert "UnknownPage" in asking.examine(Task(f"{site.url}/nowhere", "//*")).error


def test_a_process_that_ends_gives_the_document_up(site: Crawled) -> None:
    with examiner(site.folder) as asking:
        asking.examine(Task(f"{site.url}/plain.xml"))
        assert asking._child is not None
        asking._child._process.kill()
        assert asking.examine(Task(f"{site.url}/plain.xml")).state == State.GIVEN_UP
        assert asking.examine(Task(f"{site.url}/plain.xml")).state == State.WELL_FORMED


def test_parts_that_are_not_stored_come_from_a_catalog(
    site: Crawled, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.dtd").write_text("<!ELEMENT list (#PCDATA)><!ENTITY unknown 'x'>")
    named = tmp_path / "catalog.xml"
    entry = f"<system systemId='{site.url}/missing.dtd' uri='a.dtd'/>"
    named.write_text(f"<catalog xmlns='urn:oasis:names:tc:entity:xmlns:xml:catalog'>{entry}</catalog>")
    copy = tmp_path / "copy"
    shutil.copytree(site.folder, copy)
    command = ["documents", str(copy), "--json"]
    for more, state in (([], "waiting"), (["--catalog", str(named)], "valid")):
        assert run(main.app, [*command, *more]) == 0
        rows = json.loads(capsys.readouterr().out)["list"]
        assert [row["state"] for row in rows if row["url"].endswith("/lacking.xml")] == [state]
    assert run(main.app, [*command, "--catalog", str(tmp_path / "a.dtd")]) == 2


def test_a_part_that_redirects_out_of_scope_is_not_waited_for(tmp_path: Path) -> None:
    elsewhere = answer(status="302 Found", location="http://elsewhere.example/x.dtd")
    document = xml(b"<!DOCTYPE list SYSTEM '/moved.dtd'><list/>")
    found = crawled(
        tmp_path / "c",
        {"/": html("/a.xml", "/moved.dtd"), "/a.xml": document, "/moved.dtd": elsewhere},
        "/",
        given={"keep": "versions", "scope": "host"},
    )
    opened = look_at(tmp_path / "c")
    (entry,) = updated_catalog(opened)
    opened.close()
    assert entry.state is State.GIVEN_UP
    assert f"{found.url}/moved.dtd, which it needs, redirects to where the crawl does not go" in entry.error
    assert entry.wanted, "it is tried again"


def test_many_documents_are_examined_though_one_ends_the_process(site: Crawled) -> None:
    tasks = [Task(f"{site.url}/{name}.xml", "//*") for name in ("plain", "valid", "invalid")]
    with examiner(site.folder) as asking:
        expected = [asking.examine(task) for task in tasks]
        assert asking.examine_many(tasks) == expected
        assert asking._child is not None
        os.kill(asking._child.pid, signal.SIGKILL)
        assert asking.examine_many(tasks) == expected
        assert asking.examine_many([]) == []


def test_python_programs_query_too(site: Crawled) -> None:
    with open_crawl(site.folder) as crawl:
        (answer,) = crawl.query("//p:price", most=1)
    assert answer["url"] == f"{site.url}/plain.xml"
    assert answer["count"] == 2


def test_without_stored_bodies_there_are_no_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = crawled(tmp_path / "c", routes, "/")
    report = told(capsys, "documents", found.folder)
    assert (report["documents"], report["stored"]) == (9, 0)
    assert told(capsys, "query", found.folder, "//*")["results"] == []
