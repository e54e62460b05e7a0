"""Which stored pages are documents, and which a query looks into: what a visit failed to find is still stored."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from centime.cli import main
from centime.cli.ending import run as run_program
from centime.crawl.report.bodies import captures_of, when
from tests.crawl.test_kept_versions import visits
from tests.fetch.hostile import Server, answer, run

FAILURES = {
    "/fails.xml": answer(status="500 Oops"),
    "/gone.xml": answer(status="410 Gone"),
    "/moved.xml": answer(status="301 Moved", location="/elsewhere"),
    "/now.xml": answer(b"<p>It is a page now.", content_type="text/html"),
}


@pytest.fixture(scope="module", params=["versions", "all"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that found four documents, and at its later visits none of them."""
    place = tmp_path_factory.mktemp("choice") / "c"

    async def work() -> None:
        found = {path: answer(b"<r><a>%s</a></r>" % path.encode(), content_type="application/xml") for path in FAILURES}
        async with Server(dict(found)) as server:
            given = {"keep": request.param}
            await visits(place, server, given, *FAILURES)
            await asyncio.sleep(1.1)  # captures know whole seconds
            server.routes.update(FAILURES)
            for path in FAILURES:
                await visits(place, server, given, path)
            await visits(place, server, given, *FAILURES)

    run(work())
    return place


def told(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    assert run_program(main.app, [*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_failed_visits_hide_no_stored_document(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = told(capsys, "documents", folder)
    assert {row["url"].rpartition("/")[2] for row in report["list"]} == {"fails.xml", "gone.xml", "moved.xml"}
    assert (report["stored"], report["documents"]) == (3, 0), "none is there now"
    results = told(capsys, "query", folder, "//a/text()", "--kind", "xml")["results"]
    assert sorted(row["found"][0] for row in results) == ["/fails.xml", "/gone.xml", "/moved.xml"]


def test_a_query_of_a_time_sees_the_pages_of_that_time(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (url,) = {row["url"] for row in told(capsys, "query", folder, "//p", "--kind", "html")["results"]}
    at = when(captures_of(folder, url)[0])
    results = told(capsys, "query", folder, "//a/text()", "--kind", "xml", "--at", at)["results"]
    assert sorted(row["found"][0] for row in results) == sorted(FAILURES)
    assert told(capsys, "query", folder, "//*", "--kind", "html", "--at", at)["results"] == []
