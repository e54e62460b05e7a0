"""The index of paths of a crawl: queries find the same with it and without it, also while it is behind."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from centime import open_crawl
from centime.cli import main
from centime.cli.ending import run
from centime.crawl.report.opening import look_at
from centime.crawl.search.paths import path_index
from centime.crawl.search.updating import update_index
from centime.store.versions.writer import VersionWriter
from tests.crawl.documents.test_documents import routes
from tests.crawl.served import Crawled, crawled

XPATHS = [
    "//item",
    "//item[. = 'b']",
    "/list/item",
    "//p:price[. > 100]",
    "//*[local-name()='price'][. = 7]",
    "//h1 | //item",
    "//p[@class='price']",
    "//nothing",
    "count(//item) > 1",
    "string(//h1)",
    "/rss",
    "//a/@href",
]


@pytest.fixture(scope="module", params=["versions", "all"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    folder = tmp_path_factory.mktemp("paths") / "c"
    found = crawled(folder, routes, "/", given={"keep": request.param, "parts": True, "scope": "host"})
    opened = look_at(folder)
    assert update_index(opened).documents > 9
    opened.close()
    return found


def answers(folder: Path, xpath: str, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    assert run(main.app, ["query", str(folder), xpath, "--json", *more]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def without_index(folder: Path, copy: Path) -> Path:
    shutil.copytree(folder, copy)
    shutil.rmtree(copy / "index")
    return copy


def test_a_query_finds_the_same_with_the_index_and_without(
    site: Crawled, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = without_index(site.folder, tmp_path / "copy")
    examined = {True: 0, False: 0}
    for xpath in XPATHS:
        one, other = answers(site.folder, xpath, capsys), answers(copy, xpath, capsys)
        for name in ("results", "troubles", "troubled"):
            assert one[name] == other[name], xpath
        assert one["by_index"] is (xpath not in ("string(//h1)", "count(//item) > 1"))
        assert not other["by_index"]
        examined[True] += one["examined"]
        examined[False] += other["examined"]
    assert examined[True] < examined[False] / 2
    one, other = (answers(one, "//item", capsys, "--kind", "xml", "--match", "valid") for one in (site.folder, copy))
    assert one["results"] == other["results"] != []


def test_a_body_that_is_not_in_the_index_yet_is_looked_into(
    site: Crawled, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(site.folder, copy)
    assert answers(copy, "//novel", capsys)["results"] == []
    with open_crawl(copy) as crawl:
        assert crawl.query("//novel") == []
        from tests.store.versions.test_versions import keep

        writer = VersionWriter(copy / "versions")
        keep(writer, b"<novel>1</novel>", 4e9, f"{site.url}/plain.xml")
        writer.close()
        (found,) = crawl.query("//novel")
        assert found["url"] == f"{site.url}/plain.xml"
        assert crawl.query("//p:price") == [], "what was there before is not there any more"
        crawl.update_index()
        assert [one["found"] for one in crawl.query("//novel")] == [["<novel>1</novel>"]]
        assert crawl.query("//novel[. = '1']") == crawl.query("//novel")
    opened = look_at(copy)
    index = path_index(opened)
    assert index.load()
    opened.close()
    assert len(index.segments) == 2


def test_an_index_that_is_damaged_is_not_used_and_made_again(
    site: Crawled, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(site.folder, copy)
    for path in (copy / "index" / "paths").glob("*.seg"):
        path.write_bytes(b"damaged")
    found = answers(copy, "//item", capsys)
    assert not found["by_index"]
    assert run(main.app, ["index", str(copy), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] > 9
    again = answers(copy, "//item", capsys)
    assert again["by_index"]
    assert again["results"] == found["results"]
