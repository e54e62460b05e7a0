"""A web without a network, for recorded crawls and for tests of the shard: the links of a page follow from its URL, and
time is a number."""

from typing import Any

import numpy as np

from centime.discover.refusal import Reason
from centime.model.address import fingerprint
from centime.model.outcome import Outcome, PageKind
from centime.shard.message import TEXT_FOLLOWS, Lease, Visit, pack

HOSTS = 5
SEED = "http://h0.example/p0"


def url_of(number: int) -> str:
    """The URL of a page."""
    return f"http://h{number % HOSTS}.example/p{number}"


def _refused(page: int) -> dict[str, Any]:
    """The refused links of a page: one that all pages share, and one of its own."""
    urls = ["http://elsewhere.example/", f"http://elsewhere.example/p{page}.pdf"]
    return {
        "refused": np.array([fingerprint(url) for url in urls], dtype=np.uint64).tobytes(),
        "refused_for": bytes([Reason.SCOPE | TEXT_FOLLOWS, Reason.SUFFIX | TEXT_FOLLOWS]),
        "refused_texts": "\n".join(urls).encode(),
    }


class World:
    """`pages` pages, each with some random links; every page can be reached from page 0."""

    def __init__(self, pages: int = 60, seed: int = 1) -> None:
        self.pages = pages
        chance = np.random.default_rng(seed)
        self.links = {
            page: sorted({*chance.integers(0, pages, 4).tolist(), (page + 1) % pages}) for page in range(pages)
        }
        self.outcomes: dict[int, Outcome] = {}
        self.version = 1
        self.address = ""
        self.with_etags = False

    def visit(self, lease: Lease, now: float) -> bytes:
        """The visit of a leased page, as a fetcher packs it."""
        page = int(lease.url.rsplit("p", 1)[1])
        outcome = self.outcomes.get(page, Outcome.READ)
        targets = [url_of(target) for target in self.links[page]] if outcome in (Outcome.READ, Outcome.MOVED) else []
        if outcome.redirect:
            targets = targets[:1]
        prints = np.array([fingerprint(url) for url in targets], dtype=np.uint64).tobytes()
        return pack(
            Visit(
                page=lease.page,
                outcome=outcome,
                kind=PageKind.HTML if outcome.present else PageKind.ERROR,
                asked_at=now,
                seconds=0.01,
                status=200,
                wire_bytes=1000,
                signature=(page + 1) * self.version,
                digest=bytes([page % 256]) * 16,
                etag=f'"{page}"' if self.with_etags else "",
                address=self.address,
                same_depth=outcome.redirect,
                links=prints,
                fresh=prints,
                texts="\n".join(targets).encode(),
                shapes=b"",
                **(_refused(page) if outcome is Outcome.READ else {}),
            )
        )
