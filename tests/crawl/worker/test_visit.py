"""What a visit leaves in the archive, from a server's response to what the commands find."""

from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from centime.crawl.check.archive import check_archive
from centime.crawl.check.findings import Findings
from centime.crawl.worker.chain import Chains
from centime.crawl.worker.outlinks import LinkReader
from centime.crawl.worker.visit import visit
from centime.discover.scope import Scope
from centime.fetch.fetcher import Fetcher
from centime.model.ids import PageId
from centime.model.outcome import Outcome
from centime.shard.message import Lease
from centime.store.archives.archive import Archive
from centime.store.archives.captures import find_bodies
from tests.fetch.hostile import Handler, Server, answer, run, settings

ROUTES: dict[str, bytes | Handler] = {
    "/": answer(b"<?xml version='1.0'?><a/>", Content_Type="application/xml"),
    "/moved": answer(b"<p>there", "301 Moved Permanently", Location="/"),
    "/found": answer(status="307 Temporary Redirect", Location="http://b.example/"),
    "/nowhere": answer(status="302 Found"),
    "/gone": answer(b"<p>gone", "410 Gone", Content_Type="text/html"),
    "/busy": answer(status="503 Service Unavailable", Retry_After="9"),
    "/broken": b"nonsense\r\n\r\n",
    "/private": b"",
}


async def visited(folder: Path, keep: str) -> tuple[str, list[Outcome]]:
    """Visits every page once; returns the server's URL, and the outcome of each."""
    async with Server({**ROUTES, "/robots.txt": answer(b"User-agent: *\nDisallow: /private")}) as server:
        fetcher = Fetcher(settings(keep_heads=True))
        archive = Archive(folder, "x", keep)
        links = LinkReader(Scope.of([], kind="any"), None)
        try:
            leases = [Lease(PageId(page), server.url + path) for page, path in enumerate([*ROUTES, "/unknown"])]
            return server.url, [
                (await visit(lease, Chains(fetcher, links.scope.admits), links, archive)).outcome for lease in leases
            ]
        finally:
            archive.close()
            await fetcher.close()


def statuses(folder: Path) -> list[str]:
    """The statuses of the response records, as another reader finds them; each has its request."""
    [path] = folder.glob("*.warc.gz")
    with path.open("rb") as file:
        records = [(one.rec_type, one.http_headers) for one in ArchiveIterator(file, check_digests="raise")]
    assert [kind for kind, _ in records[1:]] == ["request", "response"] * (len(records) // 2)
    return [head.get_statuscode() for kind, head in records if kind == "response"]


def test_every_response_is_archived_with_keep_all(tmp_path: Path) -> None:
    url, outcomes = run(visited(tmp_path, "all"))
    assert outcomes[-3:] == [Outcome.BAD_RESPONSE, Outcome.DISALLOWED, Outcome.GONE]
    assert statuses(tmp_path) == ["200", "301", "307", "302", "410", "503", "404"]
    findings = Findings()
    check_archive(tmp_path, findings)
    assert findings.problems == []
    assert [len(find_bodies(tmp_path, url + path)) for path in ("/", "/moved", "/gone")] == [1, 0, 0]


def test_only_xml_documents_are_archived_with_keep_xml(tmp_path: Path) -> None:
    run(visited(tmp_path, "xml"))
    assert statuses(tmp_path) == ["200"]


async def _linked() -> tuple[str, bytes]:
    page = answer(
        b"<a href=/a>a</a>", Content_Type="text/html", Link="</b>; rel=next, </c>; rel=icon", Refresh="5;url=d"
    )
    async with Server({"/": page, "/robots.txt": answer()}) as server:
        fetcher = Fetcher(settings())
        try:
            links = LinkReader(Scope.of([], kind="any"), None)
            return server.url, (
                await visit(Lease(PageId(0), f"{server.url}/"), Chains(fetcher, links.scope.admits), links, None)
            ).texts
        finally:
            await fetcher.close()


def test_links_of_the_headers_count() -> None:
    url, texts = run(_linked())
    assert texts.decode().splitlines() == [f"{url}/a", f"{url}/b", f"{url}/d"]
