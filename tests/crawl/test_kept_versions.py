"""`--keep versions` end to end: a real server, kills, files that are deleted, full disks, and a --keep that changes.

Over 400 lines: all cases share the server and its pages at the top.
"""

import asyncio
import json
import shutil
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from centime.cli import main
from centime.cli.ending import run as run_program
from centime.crawl.check.check import check_crawl
from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.crawl.repair.repair import repair_crawl
from centime.crawl.report.bodies import captures_of, newest_of_all, typed_body_of
from centime.crawl.report.opening import folder_of
from centime.crawl.report.versions import Versions
from centime.crawl.worker.fetching import FetchingProcess
from centime.crawl.worker.visit import visit
from centime.model.errors import DamagedCrawl, FileGone, NoRoom, UnknownPage
from centime.model.ids import PageId
from centime.model.outcome import Outcome
from centime.settings.crawl import fetcher_settings
from centime.shard.message import Lease, Visit, pack, unpack_visit
from centime.store.versions.database import FILE
from centime.store.versions.stored import document_id, every_version, versions_of
from tests.cli.hostile_texts import hostile_site
from tests.crawl.served import Routes, crawled, html
from tests.crawl.test_foreign_folder import GIVEN
from tests.fetch.hostile import HERE, Server, answer, run

BASE: dict[str, Any] = {
    "delay": 0.0,
    "allow-network": list(HERE),
    "scope": "page",
    "refresh-after": 0.01,
    "sitemaps": False,
}


class Site:
    """Pages with an ETag; `/changing` says its number."""

    def __init__(self) -> None:
        self.number = 1

    def routes(self) -> Routes:
        links = html("/same", "/changing", "/hidden", "/moved")
        hidden = b"<meta name=robots content=noarchive><p>not to be kept"
        return {
            "/": answer(links, content_type="text/html"),
            "/same": self.same,
            "/changing": self.changing,
            "/hidden": answer(hidden, content_type="text/html", etag='"hidden"'),
            "/moved": answer(status="301 Moved", location="/same"),
        }

    async def same(self, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"<p>the same", content_type="text/html; charset=utf-8", etag='"same"'))
        await writer.drain()

    async def changing(self, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"<p>It is number %d now." % self.number, content_type="text/html"))
        await writer.drain()


def test_every_version_is_kept_and_pages_that_ask_for_it_are_not(tmp_path: Path) -> None:
    found = crawled(tmp_path / "c", Site().routes(), "/", given={"keep": "versions"})
    kept = {version.url.removeprefix(found.url) for version in every_version(tmp_path / "c" / "versions")}
    assert kept == {"/", "/same", "/changing"}
    (version,) = captures_of(tmp_path / "c", f"{found.url}/same")
    assert typed_body_of(tmp_path / "c", version) == (b"<p>the same", "text/html; charset=utf-8")
    assert check_crawl(tmp_path / "c").problems == []
    with pytest.raises(UnknownPage, match="this crawl keeps versions; see centime page"):
        captures_of(tmp_path / "c", f"{found.url}/hidden")


def test_a_continuous_crawl_keeps_versions_and_their_index_unless_it_is_told_not_to(tmp_path: Path) -> None:
    for name, given, keep, index in (
        ("a", {"continuous": True, "rate": 1}, "versions", True),
        ("b", {"continuous": True, "rate": 1, "keep": "none"}, "none", False),
        ("c", {}, "none", False),
        ("d", {"continuous": True, "rate": 1, "index": False}, "versions", False),
        ("e", {"continuous": True, "rate": 1, "keep": "all"}, "all", True),
    ):
        with open_writer(tmp_path / name, ["http://a.example/"], given) as opened:
            assert (opened.settings.keep, opened.settings.keeps_index()) == (keep, index)
    with open_writer(tmp_path / "c", [], {"continuous": True, "rate": 1}) as opened:
        assert opened.settings.keep == "none", "a crawl goes on as it was begun"


def test_a_crawl_that_goes_on_as_a_continuous_one_keeps_an_index_unless_it_was_told_not_to(tmp_path: Path) -> None:
    for name, given, index in (("a", {}, True), ("b", {"index": False}, False)):
        with open_writer(tmp_path / name, ["http://a.example/"], {"keep": "all"} | given) as opened:
            assert not opened.settings.keeps_index()
        with open_writer(tmp_path / name, [], {"continuous": True, "rate": 1}) as opened:
            assert opened.settings.keeps_index() is index


async def visits(folder: Path, server: Server, given: dict[str, Any], *paths: str) -> list[bytes]:
    """Visits pages once more with other settings; returns the heads of the requests."""
    before = len(server.heads)
    with open_writer(folder, [server.url + path for path in paths], BASE | given) as opened:
        process = FetchingProcess(
            fetcher_settings(opened.settings, opened.settings.fetch_settings(), "test", opened.folder)
        )
        try:
            await asyncio.sleep(0.05)
            leases = opened.shard.lease(opened.clock(), 99)
            found = [await visit(one, process.chains, process.links, process.archive) for one in leases]
            opened.shard.record(opened.clock(), [pack(one) for one in found])
        finally:
            await process.chains.close()
            assert process.archive is not None
            process.archive.close()
        opened.close()
    return [head for head in server.heads[before:] if b"robots.txt" not in head]


@pytest.mark.parametrize("keep", ["versions", "all"])
def test_a_server_is_asked_whether_a_page_has_changed_only_if_its_body_is_kept(keep: str, tmp_path: Path) -> None:
    """Otherwise a crawl that begins to keep bodies, or has lost some, would never get those that do not change."""

    async def work() -> None:
        async with Server(Site().routes()) as server:
            await visits(tmp_path / "c", server, {"keep": "xml"}, "/same")
            for conditional in (False, True, True):
                head, *_ = await visits(tmp_path / "c", server, {"keep": keep}, "/same")
                assert (b'If-None-Match: "same"' in head) is conditional
            if keep == "versions":
                database = sqlite3.connect(tmp_path / "c" / "versions" / FILE, isolation_level=None)
                database.execute("DELETE FROM document")
                database.execute("DELETE FROM version")
                database.close()
                head, *_ = await visits(tmp_path / "c", server, {}, "/same")
                assert b"If-None-Match" not in head
                assert len(versions_of(tmp_path / "c" / "versions", f"{server.url}/same")) == 1
            await visits(tmp_path / "c", server, {}, "/hidden")
            heads = await visits(tmp_path / "c", server, {}, "/hidden")
            assert any(b'If-None-Match: "hidden"' in head for head in heads), (
                "nobody waits for the body of a page that is not kept"
            )

    run(work())


def test_versions_deleted_while_fetchers_write_them_end_the_run_and_all_are_there(tmp_path: Path) -> None:
    deleted: list[Path] = []

    def delete(engine: Engine, now: float) -> None:
        if engine.run_facts.visits >= 3 and not deleted:
            deleted.extend((tmp_path / "c" / "versions").iterdir())
            for path in deleted:
                path.unlink()

    with hostile_site() as url, ExitStack() as stack:
        given = GIVEN | {"keep": "versions", "continuous": True, "rate": 20}
        engine = Engine(stack.enter_context(open_writer(tmp_path / "c", [url], given)), Limits(seconds=60))
        with pytest.raises(FileGone, match="deleted while the crawl wrote to it"), stack.pop_all():
            engine.run(delete)
    assert deleted
    assert check_crawl(tmp_path / "c").problems == []
    assert len(versions_of(tmp_path / "c" / "versions", url)) == 1


@pytest.mark.parametrize(
    ("trouble", "raised"), [("NoRoom: the disk is full", NoRoom), ("DamagedFile: not whole", DamagedCrawl)]
)
def test_a_full_disk_or_a_damaged_file_of_a_fetcher_ends_the_crawl(
    trouble: str, raised: type[Exception], tmp_path: Path
) -> None:
    with open_writer(tmp_path / "c", ["http://a.example/"], {}) as opened:
        engine = Engine(opened, Limits(), transport=lambda: Telling(trouble))
        with pytest.raises(raised, match=trouble.partition(": ")[2]):
            engine.run()


def test_no_visit_says_that_a_page_was_read_whose_body_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        with open_writer(tmp_path / "c", ["http://a.example/"], BASE | {"keep": "versions"}) as opened:
            process = FetchingProcess(
                fetcher_settings(opened.settings, opened.settings.fetch_settings(), "test", opened.folder)
            )
            sent: list[Any] = []
            monkeypatch.setattr(process, "_send", sent.extend)
            for trouble in (None, NoRoom("the disk is full")):
                process._done = [(PageId(7), pack(Visit(page=PageId(7), outcome=Outcome.READ)))]
                monkeypatch.setattr(process.archive, "flush", lambda trouble=trouble: _raise(trouble))
                process._flush()
            monkeypatch.undo()
            await process.chains.close()
            assert process.archive is not None
            process.archive.close()
        kept, lost = (unpack_visit(bytes(one)) for one in sent)
        assert (kept.page, kept.outcome) == (7, Outcome.READ)
        assert (lost.page, lost.outcome, lost.detail) == (7, Outcome.LOST, "NoRoom: the disk is full")

    run(work())


def _raise(trouble: Exception | None) -> None:
    if trouble is not None:
        raise trouble


class Telling:
    """A transport whose visits are lost."""

    capacity, outstanding = 5, 0

    def __init__(self, trouble: str) -> None:
        self.trouble = trouble
        self.leases: list[Lease] = []

    def hand_out(self, leases: list[Lease], lanes: list[int]) -> None:
        self.leases += leases

    def receive(self, timeout: float) -> tuple[list[bytes], list[PageId]]:
        found = [pack(Visit(page=one.page, outcome=Outcome.LOST, detail=self.trouble)) for one in self.leases]
        self.leases.clear()
        return found, []

    def release(self, pages: list[PageId]) -> None:
        pass

    def close(self) -> None:
        pass


def test_damaged_versions_close_a_crawl_that_keeps_them_and_a_repair_opens_it(tmp_path: Path) -> None:
    found = crawled(tmp_path / "c", Site().routes(), "/", given={"keep": "versions"})
    file = tmp_path / "c" / "versions" / FILE
    whole = file.read_bytes()
    file.write_bytes(b"not a database" + whole[14:])
    with pytest.raises(DamagedCrawl), open_writer(tmp_path / "c", [], {}):
        pass
    assert [one.part for one in check_crawl(tmp_path / "c").problems] == ["versions"]
    assert repair_crawl(tmp_path / "c", dry_run=True).lost == []
    assert repair_crawl(tmp_path / "c").lost == []
    with open_writer(tmp_path / "c", [], {}):
        pass
    assert check_crawl(tmp_path / "c").problems == []
    assert versions_of(tmp_path / "c" / "versions", f"{found.url}/")
    file.write_bytes(b"not a database" * 9_999)
    assert "all versions" in repair_crawl(tmp_path / "c", dry_run=True).lost[0]
    assert "all versions" in repair_crawl(tmp_path / "c").lost[0]
    with open_writer(tmp_path / "c", [], {}):
        pass
    assert check_crawl(tmp_path / "c").problems == []
    assert versions_of(tmp_path / "c" / "versions", f"{found.url}/") == []
    shutil.rmtree(tmp_path / "c" / "versions")
    (tmp_path / "c" / "versions").mkdir()
    (tmp_path / "c" / "versions" / FILE).mkdir()
    with pytest.raises(DamagedCrawl, match="folder"), open_writer(tmp_path / "c", [], {}):
        pass
    assert len(repair_crawl(tmp_path / "c", dry_run=True).restored) == 1
    assert len(repair_crawl(tmp_path / "c").restored) == 1
    with open_writer(tmp_path / "c", [], {}):
        pass


def test_versions_that_are_gone_or_of_another_crawl_are_noticed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        crawled(tmp_path / name, Site().routes(), "/", given={"keep": "versions"})
    assert check_crawl(tmp_path / "a").notes == []
    shutil.copy(tmp_path / "b" / "versions" / FILE, tmp_path / "a" / "versions" / FILE)
    assert any("of another crawl" in one.what for one in check_crawl(tmp_path / "a").problems)
    (tmp_path / "a" / "versions" / FILE).unlink()
    (note,) = check_crawl(tmp_path / "a").notes
    assert note.startswith("3 pages that were read have no stored version")


def test_a_crawl_that_has_kept_both_ways_shows_all_its_bodies_in_order(tmp_path: Path) -> None:
    site = Site()

    async def work() -> str:
        async with Server(site.routes()) as server:
            for keep in ("all", "versions", "versions", "all"):
                await visits(tmp_path / "c", server, {"keep": keep}, "/changing", "/same")
                site.number += 1
                await asyncio.sleep(1.1)  # WARC has whole seconds
            return server.url

    url = run(work())
    versions = Versions(tmp_path / "c", f"{url}/changing")
    assert len(versions) == 4
    texts = [versions.read(versions.at(str(number))).body for number in range(1, 5)]
    assert texts == [b"<p>It is number %d now." % number for number in range(1, 5)]
    newest = {one.url.removeprefix(url): one for one in newest_of_all(folder_of(tmp_path / "c"))}
    assert typed_body_of(tmp_path / "c", newest["/changing"])[0] == texts[-1]
    assert typed_body_of(tmp_path / "c", newest["/same"])[0] == b"<p>the same"
    assert check_crawl(tmp_path / "c").problems == []


def test_a_body_that_is_back_after_the_archive_had_another_is_a_version_again(tmp_path: Path) -> None:
    site = Site()

    async def work() -> str:
        async with Server(site.routes()) as server:
            for keep, site.number in (("versions", 1), ("all", 2), ("versions", 1)):
                await visits(tmp_path / "c", server, {"keep": keep}, "/changing")
                await asyncio.sleep(1.1)  # WARC has whole seconds
            return server.url

    url = run(work())
    versions = Versions(tmp_path / "c", f"{url}/changing")
    texts = [versions.read(versions.at(str(number))).body for number in range(1, len(versions) + 1)]
    assert texts == [b"<p>It is number %d now." % number for number in (1, 2, 1)]
    assert versions.at(None).number == 3


def test_a_query_of_changes_looks_into_those_that_count_as_minor_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work() -> None:
        async with Server({}) as server:
            for price in (5, 6, 7):
                server.routes["/shop"] = answer(b'<div data-price="%d"><p>A cup.</p></div>' % price)
                await visits(tmp_path / "c", server, {"keep": "versions"}, "/shop")

    run(work())
    assert run_program(main.app, ["changes", str(tmp_path / "c"), "--json"]) == 0
    assert [one["change"] for one in json.loads(capsys.readouterr().out)["changes"]] == ["new"]
    assert run_program(main.app, ["query", str(tmp_path / "c"), "//@data-price", "--changes", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["old"], one["new"]) for one in found["changes"]] == [(["6"], ["7"]), (["5"], ["6"])]
    assert found["seen"] == 2


def test_commands_show_prune_and_count_versions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = Site()

    async def work() -> str:
        async with Server(site.routes()) as server:
            for site.number in range(1, 6):
                await visits(tmp_path / "c", server, {"keep": "versions"}, "/changing", "/same")
            return server.url

    url, folder = run(work()), str(tmp_path / "c")

    def told(*words: str) -> Any:
        assert run_program(main.app, [*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    assert told("stats", folder)["versions"] == {"pages": 2, "versions": 6, "bytes": 5 * 22 + 11}
    assert [one["version"] for one in told("versions", folder, f"{url}/changing")["versions"]] == [1, 2, 3, 4, 5]
    changed = told("query", folder, "string(//p)", "--changes", "--since", "1d", "-n", "3")["changes"]
    assert [(one["old"], one["new"]) for one in changed] == [
        ([f"It is number {number - 1} now."], [f"It is number {number} now."]) for number in (5, 4, 3)
    ]
    assert told("query", folder, "//h1", "--changes")["changes"] == []
    assert run_program(main.app, ["query", folder, "//p", "--changes", "-n", "1"]) == 0
    assert "  + <p>It is number 5 now.</p>" in capsys.readouterr().out
    assert run_program(main.app, ["query", folder, "//p", "--changes", "--at", "2026"]) == 2
    assert run_program(main.app, ["query", folder, "//p", "--since", "1d"]) == 2
    capsys.readouterr()
    assert told("prune", folder) == {"removed": {"pages": 0, "versions": 0, "bytes": 0}, "retain": []}
    would = told("prune", folder, "--retain", "2", "--retain", "/same=1", "--dry-run")["would_remove"]
    assert (would["pages"], would["versions"]) == (1, 3)
    assert told("prune", folder, "--retain", "2")["removed"] == would
    assert [one["version"] for one in told("versions", folder, f"{url}/changing")["versions"]] == [4, 5]
    assert told("diff", folder, f"{url}/changing", "--from", "4")["sentences"] == [
        {"old": ["It is number 4 now."], "new": ["It is number 5 now."]}
    ]
    assert run_program(main.app, ["diff", folder, f"{url}/changing", "--from", "2"]) == 1
    assert "there is no version 2; it has 4 to 5" in capsys.readouterr().err
    assert run_program(main.app, ["bodies", folder]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["url"].removeprefix(url): line["body"] for line in lines} == {
        "/changing": "<p>It is number 5 now.",
        "/same": "<p>the same",
    }
    assert run_program(main.app, ["bodies", folder, "--list", "-o", str(tmp_path / "list.jsonl")]) == 0
    assert all("body" not in json.loads(line) for line in (tmp_path / "list.jsonl").read_text().splitlines())
    assert run_program(main.app, ["bodies", folder, "--at", "2026"]) == 2
    assert run_program(main.app, ["prune", folder, "--retain", "0"]) == 2


def test_versions_of_pages_whose_visits_a_power_failure_lost_are_no_damage_and_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = crawled(tmp_path / "c", Site().routes(), "/", given={"keep": "versions"})
    lost, folder = f"{found.url}/lost", str(tmp_path / "c")
    with closing(sqlite3.connect(tmp_path / "c" / "versions" / FILE)) as database, database:
        known = document_id(f"{found.url}/")
        for table, columns in (("document", "newest, digest, seen"), ("version", "number, time, NULL, digest, size")):
            rest = ", steps, type, status, frame" if table == "version" else ""
            name = f", '{lost}'" if table == "document" else ""
            key = "id" if table == "document" else "document"
            database.execute(
                f"INSERT INTO {table} SELECT ?{name}, {columns}{rest} FROM {table} WHERE {key} = ?",
                (document_id(lost), known),
            )
    report = check_crawl(tmp_path / "c")
    assert report.problems == []
    assert [note.split(",")[0] for note in report.notes] == ["1 pages have stored versions"]
    out = str(tmp_path / "out")
    for words in (
        ["index", folder],
        ["search", folder, "number"],
        ["query", folder, "//p"],
        ["export", folder, "--format", "git", "-o", f"{out}.git"],
        ["export", folder, "--format", "warc", "-o", f"{out}.warc.gz"],
        ["export", folder, "--format", "wacz", "-o", f"{out}.wacz"],
        ["export", folder, "--format", "jsonl", "-o", f"{out}.jsonl"],
        ["stats", folder],
        ["repair", folder],
    ):
        assert run_program(main.app, words) == 0, (words, capsys.readouterr())
    capsys.readouterr()
    assert run_program(main.app, ["versions", folder, lost, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["versions"]) == 1
    with open_writer(tmp_path / "c", [], {}):
        pass
