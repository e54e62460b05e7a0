"""Versions of a page, the difference of any two of them, and the copy of each."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from centime.serve.rendering import render, until
from centime.serve.reports.change_list import ChangesWanted
from centime.store.versions.writer import VersionWriter
from tests.crawl.report.made import ROOT, hand_made
from tests.serve.asking import Asker
from tests.store.versions.test_versions import START, keep


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    folder: Path = tmp_path_factory.mktemp("versions") / "c"
    with hand_made(folder) as opened:
        opened.close()
    writer = VersionWriter(folder / "versions")
    for number in range(1, 5):
        body = b"<p>One. Two. Three. Four. <i>It is &lt;b&gt; number %d.</i> Five. Six. Seven." % number
        keep(writer, body, START + 100 * number, ROOT)
    writer.close()
    made = Asker({"museum": folder})
    yield made
    made.close()


def test_a_page_lists_its_versions_newest_first(asker: Asker) -> None:
    report = asker.get("/api/v1/crawls/museum/page", url=ROOT).json
    assert [version["version"] for version in report["versions"]] == [4, 3, 2, 1]
    assert report["versions_kept"] == 4
    page = asker.get("/c/museum/page", url=ROOT).text
    assert page.count("<option") == 8
    assert "<iframe" in page


@pytest.mark.parametrize(
    ("query", "pair"),
    [({}, (3, 4)), ({"old": "1"}, (1, 4)), ({"old": "1", "new": "2"}, (1, 2)), ({"old": "3", "new": "1"}, (1, 3))],
)
def test_any_two_versions_are_compared(asker: Asker, query: dict[str, str], pair: tuple[int, int]) -> None:
    report = asker.get("/api/v1/crawls/museum/diff", url=ROOT, **query).json
    assert (report["old"]["version"], report["new"]["version"]) == pair
    signs = [(row["sign"], row["sentence"]) for row in report["rows"] if row["sign"] in "-+"]
    assert any(f"number {pair[0]}." in sentence for sign, sentence in signs if sign == "-")
    assert any(f"number {pair[1]}." in sentence for sign, sentence in signs if sign == "+")
    page = asker.get("/c/museum/diff", url=ROOT, **query).text
    assert "<del>" in page
    assert "<ins>" in page
    assert "&lt;b&gt;" in page
    assert f">4, {report['versions'][-1]['time']}</option>" in page


@pytest.mark.parametrize("query", [{"old": "9"}, {"old": "9", "new": "1"}, {"new": "1"}, {"old": "nonsense"}])
def test_versions_that_cannot_be_compared_are_told(asker: Asker, query: dict[str, str]) -> None:
    answered = asker.get("/api/v1/crawls/museum/diff", url=ROOT, **query)
    assert answered.status in (400, 404)
    assert answered.json["error"]


def test_a_change_that_was_seen_at_a_time_has_its_own_difference(asker: Asker) -> None:
    report = asker.get("/api/v1/crawls/museum/diff", url=ROOT, new=until(START + 199.5)).json
    assert (report["old"]["version"], report["new"]["version"]) == (1, 2)
    row = {"change": "changed", "url": ROOT, "seen": "2023-11-14T22:16:39Z", "seen_seconds": START + 199.5}
    row |= {"last_seen_before": None, "importance": 1.0}
    shown = {"rows": [row], "seen": 1, "since": None, "minor": [], "next": None}
    page = render("changes.html", report=shown, wanted=ChangesWanted(), crawl="museum", here="changes").decode()
    assert f"&amp;new={quote(until(START + 199.5), safe='')}" in page


def test_every_version_has_its_copy(asker: Asker) -> None:
    assert b"number 4" in asker.get("/c/museum/copy", url=ROOT).body
    assert b"number 2" in asker.get("/c/museum/copy", url=ROOT, version=2).body
    assert asker.get("/c/museum/copy", url=ROOT, version=9).status == 404
