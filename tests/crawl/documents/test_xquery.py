"""XQuery over stored pages: its answers, and that it reaches neither files nor the environment and always ends."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from centime.cli import main
from centime.cli.ending import run
from centime.crawl.documents import xquery as module
from centime.crawl.documents.examiner import examiner
from centime.crawl.documents.examining import Task
from tests.crawl.documents.test_documents import routes
from tests.crawl.served import Crawled, crawled
from tests.parse.test_queried_tree import XHTML

needs_saxon = pytest.mark.skipif(find_spec("saxonche") is None, reason="the extra centime[xquery] is not installed")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    folder = tmp_path_factory.mktemp("xquery") / "c"
    return crawled(folder, routes, "/", given={"keep": "versions", "scope": "host"})


def asked(site: Crawled, query: str, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    assert run(main.app, ["query", str(site.folder), query, "--xquery", "--json", *more]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@needs_saxon
def test_an_xquery_finds_and_makes_nodes(site: Crawled, capsys: pytest.CaptureFixture[str]) -> None:
    query = "for $p in //p:price order by number($p) descending return <x>{string($p)}</x>"
    found = asked(site, query, capsys, "--match", "plain")
    assert [row["found"] for row in found["results"]] == [["<x>107</x>", "<x>7</x>"]]
    found = asked(site, "//h1/string()", capsys, "--kind", "html")
    assert [row["found"] for row in found["results"]] == [["A page"]]
    assert asked(site, "exists(//nothing)", capsys)["results"] == [], "false is no result"
    found = asked(site, "//list/string()", capsys, "--match", "lacking")
    assert found["results"][0]["found"] == ["&unknown;"], "references are not expanded"


OUTSIDE = (
    "unparsed-text('file:///etc/passwd')",
    "doc('file:///etc/passwd')",
    "unparsed-text('/proc/self/environ')",
    "collection('file:///etc')",
    "unparsed-text('http://127.0.0.1:9/')",
    "environment-variable('PATH')",
    "available-environment-variables()",
)


@needs_saxon
def test_an_xquery_reaches_neither_files_nor_hosts_nor_the_environment(tmp_path: Path) -> None:
    with examiner(tmp_path, module=module.MODULE) as asking:  # one process for all: it takes most of a second to start
        for query in OUTSIDE:
            examined = asking.examine(Task("a", query, body=b"<a/>", content_type="application/xml"))
            assert examined.found == [], query
        seen = asking.examine(Task("a", "count(/a)", body=b"<a/>", content_type="application/xml"))
        assert seen.found == ["1"], "the process is still there"


@pytest.mark.long
@needs_saxon
def test_an_xquery_that_takes_too_much_is_given_up_and_the_next_document_is_examined(tmp_path: Path) -> None:
    with examiner(tmp_path, seconds=3.0, module=module.MODULE) as asking:
        document: dict[str, Any] = {"body": b"<a><b/></a>", "content_type": "application/xml"}
        endless = "declare function local:f($x) { if ($x < 0) then 0 else local:f($x + 1) }; local:f(1)"
        greedy = "string-length(string-join((1 to 500000000) ! string(. * 7)))"
        for query, said in ((endless, "more than 3 seconds"), (greedy, "it takes more")):
            assert asking.examine(Task("a", "count(//b)", **document)).found == ["1"], "its process has started"
            assert said in asking.examine(Task("a", query, **document)).error


ENCODED = {
    "koi8-r": "чай", "windows-1251": "чай", "ibm866": "чай", "shift_jis": "茶", "euc-jp": "茶", "iso-2022-jp": "茶",
    "gb18030": "茶", "big5": "茶", "euc-kr": "차", "windows-874": "ชา", "iso-8859-7": "τσάι", "macintosh": "thé",
    "utf-16": "茶", "utf-32": "茶",
}  # fmt: skip
ODD = "<p @click=1 o:p=2>a<o:p>b</o:p><!-- a--b -->c\uffff<1><?x ?>"


@needs_saxon
def test_an_xquery_is_evaluated_in_any_encoding_and_in_deep_wide_and_odd_pages(tmp_path: Path) -> None:
    python_names = {"windows-874": "cp874", "macintosh": "mac_roman"}
    with examiner(tmp_path, module=module.MODULE) as asking:

        def found(query: str, body: bytes, content_type: str = "application/xml") -> list[str]:
            examined = asking.examine(Task("a", query, body=body, content_type=content_type))
            assert not examined.error
            return examined.found

        for name, word in ENCODED.items():
            body = f"<?xml version='1.0' encoding='{name}'?><a>{word}</a>".encode(python_names.get(name, name))
            assert found("string(/a)", body) == [word], name
        assert found("count(//a)", b"<a>" * 1_500 + b"</a>" * 1_500) == ["1500"]
        attributes = " ".join(f"a{number}='1'" for number in range(1_000))
        assert found("count(/a/@*)", f"<a {attributes}/>".encode()) == ["1000"]
        assert found("name(/*)", b"<" + b"a" * 2_000 + b"/>") == ["a" * 2_000]
        odd = found("//p/(@_click, @o_p, o_p)/string()", ODD.encode(), "text/html; charset=utf-8")
        assert odd == ["1", "2", "b"]
        strict = XHTML + "<html xmlns='http://www.w3.org/1999/xhtml'><title>t</title><svg xmlns='urn:s'/></html>"
        assert found("//(title, svg)/name()", strict.encode(), "text/html") == ["title", "svg"]


@needs_saxon
def test_what_is_no_xquery_is_refused(site: Crawled, capsys: pytest.CaptureFixture[str]) -> None:
    for query in ("//b[", "$x", "no-such()"):
        assert run(main.app, ["query", str(site.folder), query, "--xquery"]) == 2
        assert "is not an XQuery (3.1)" in capsys.readouterr().err


def test_without_the_extra_the_command_says_what_to_install(
    site: Crawled, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert run(main.app, ["query", str(site.folder), "1", "--xquery"]) == 2
    assert "pip install 'centime[xquery]'" in capsys.readouterr().err
    assert run(main.app, ["query", str(site.folder), "1", "--xquery", "--changes"]) == 2
