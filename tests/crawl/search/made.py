"""A crawl whose pages and bodies a test writes by hand, round by round."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.lab.webbox import WebBox, serve_in_process
from centime.model.document import Document
from centime.model.outcome import Outcome, PageKind
from centime.model.response import Response
from centime.shard.message import Seeded
from centime.store.archives.archive import Archive
from tests.crawl.report.made import NOW, clock, visit

ROOT = "http://a.example/"
BETWEEN = 5000.0  # seconds from one round to the next

Said = tuple[str, bytes | None]
"""The content type and the body of a page; None if it is gone."""


class Library:
    """A crawl of a root page and those that it links to."""

    def __init__(self, folder: Path, pages: Mapping[str, str | bytes | Said], **settings: Any) -> None:
        self.folder = folder
        self._round = 0
        self._files = 0
        self._seen: dict[str, bytes] = {}
        given = {"delay": 0.0, "scope": "any", "keep": "all", "refresh-after": 100.0} | settings
        with ExitStack() as stack:
            self._opened = stack.enter_context(open_writer(folder, [ROOT], given, clock=clock()))
            self._closing = stack.pop_all()
        shard = self._opened.shard
        (root,) = shard.lease(NOW, 100)
        shard.record(NOW, [visit(root.page, links=[url for url in pages if url != ROOT])])
        self._write({ROOT: ("text/html", b"<title>Root</title>")} if ROOT not in pages else {}, NOW)
        self.round(pages)

    def round(
        self, pages: Mapping[str, str | bytes | Said], *, open_archive: bool = False, stores: bool = True, **more: Any
    ) -> None:
        """Visits these pages, and finds this; others that are due are unchanged."""
        said = {url: _said(one) for url, one in pages.items()}
        now = NOW + 1 + BETWEEN * self._round
        self._round += 1
        if stores:
            self._write(said, now, open_archive=open_archive)
        while leases := self._opened.shard.lease(now, 10_000):
            visits = []
            for lease in leases:
                if lease.url not in said:
                    visits.append(visit(lease.page, outcome=Outcome.UNCHANGED, status=304, asked_at=now))
                elif said[lease.url][1] is None:
                    visits.append(visit(lease.page, Outcome.GONE, kind=PageKind.DEAD, status=404, asked_at=now))
                else:
                    visits.append(visit(lease.page, signature=9 + self._round, asked_at=now, **more))
            self._opened.shard.record(now, visits)
        self._opened.shard.journal.sync()

    def seed(self, url: str) -> None:
        """Makes a URL known."""
        self._opened.shard.seed(Seeded(NOW + BETWEEN * self._round, url.encode()))

    def store(self, url: str, body: bytes) -> None:
        """Stores a body without a visit."""
        self._write({url: ("text/html", body)}, NOW + BETWEEN * self._round)

    def _write(self, said: Mapping[str, Said], now: float, *, open_archive: bool = False) -> None:
        self._files += 1
        archive = Archive(self.folder / "bodies", f"x{self._files}")
        for url, (content_type, body) in said.items():
            if body is not None:
                head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n".encode()
                answer = Response(
                    url=url, outcome=Outcome.READ, status=200, headers=(("content-type", content_type),), body=body,
                    asked_at=now, response_head=head,
                )  # fmt: skip
                archive.keep(answer, Document(kind=PageKind.HTML), unchanged=self._seen.get(url) == body)
                self._seen[url] = body
        if not open_archive:
            archive.close()

    def close(self) -> None:
        """Ends the crawl."""
        self._opened.close()
        self._closing.close()


def _said(one: str | bytes | Said) -> Said:
    if isinstance(one, str):
        return "text/html; charset=utf-8", one.encode()
    return ("text/html", one) if isinstance(one, bytes) else one


def crawled_versions(folder: Path) -> Path:
    """A crawl of the simulated web that keeps versions."""
    with serve_in_process(WebBox(hosts=2, pages=30)) as served:
        given = {"scope": "any", "delay": 0.0, "workers": 1, "allow-network": ["127.0.0.0/8"], "keep": "versions"}
        with open_writer(folder, [served.seed_url], given) as opened:
            Engine(opened, Limits(pages=25)).run()
    return folder
