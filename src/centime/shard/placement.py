"""Where each page waits: in the frontier, under a lease, on a retry timer, or nowhere; never in two places at once.

    nowhere  --enqueue-->  frontier  --lease-->  leased  --end-->  nowhere  --retry-->  timer  --take_due-->  nowhere
                               |                                                          |
                               +------------------------ withdraw ------------------------+-->  nowhere
                               +-- drop -->  nowhere

`Placement` is the only code that moves pages between these places, and it owns the law. Each move asserts that its
pages come from where the caller expects them, with look-ups that cost a fraction of the move; if a page is
elsewhere, `ScheduleBroken` is raised and nothing has moved. `check` verifies the whole law, and that every lease is
counted once at its host.

A version with other rules may have leased pages that these rules would not lease now. When its journal is replayed, the
pages are leased as recorded (`lease_recorded`); hosts do not count these leases.

The other two heaps of times, deadlines and rhythm moments (`shard/refreshing.py`), are reminders and not places: a page
in the frontier may have a deadline too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.frontier.frontier import Frontier
from centime.frontier.kind import OUTSIDE_LEVEL
from centime.frontier.leases import Leases
from centime.frontier.timers import Timers
from centime.model.errors import ScheduleBroken
from centime.model.ids import PageId, page_ids
from centime.model.row_batch import Pages

Flags = npt.NDArray[np.bool_]
EVERY_LEVEL = 0  # of the frontier
State = dict[str, tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]]


class Placement:
    """The places of all pages of a shard. Read the parts freely; move pages only through the methods."""

    def __init__(self, *, lease_seconds: float) -> None:
        self.frontier = Frontier()
        self.leases = Leases(timeout_seconds=lease_seconds)
        self.retries = Timers()
        self.uncounted: set[PageId] = set()  # leased pages that their hosts do not count

    # ---- into the frontier and out of it

    def enqueue(
        self, pages: npt.NDArray[Any], hosts: npt.NDArray[Any], kinds: npt.NDArray[Any], keys: npt.NDArray[Any]
    ) -> None:
        """Puts pages that wait nowhere into the frontier."""
        self._assert_idle(page_ids(pages), "enqueued")
        self.frontier.add(pages, hosts, kinds, keys)  # raises for pages that are already inside

    def lease(
        self, now: float, count: int, class_shares: npt.NDArray[np.float64], discovery: float, slots: int = 0
    ) -> Pages:
        """Takes up to `count` pages out of the frontier, the best first, and leases them."""
        pages = self.frontier.lease(now, count, class_shares, discovery, slots)
        if len(pages):
            self.leases.grant(pages, now)
        return pages

    def lease_recorded(self, pages: Pages, now: float) -> None:
        """Leases pages that a version with other rules leased, wherever they wait now."""
        pages = pages[~self.leases.out(pages)]
        if len(pages):
            self.withdraw(pages, EVERY_LEVEL)
            self.leases.grant(pages, now)
            self.uncounted.update(page_ids(pages))

    def withdraw(self, pages: Pages, level: int) -> Flags:
        """Takes pages off their timers and out of the frontier if they wait there at `level` or less urgently.

        Returns which pages now wait nowhere. Leased pages and pages at a more urgent level stay where they are.
        """
        free = ~self.leases.out(pages) & (self.frontier.levels(pages) >= level)
        self.frontier.remove(pages[free])
        for page in page_ids(pages[free]):
            self.retries.remove(page)
        return free

    def drop(self, pages: Pages) -> None:
        """Takes pages out of the frontier, and gives back the memory that it no longer needs."""
        self.frontier.remove(pages)
        facts, arrays = self.frontier.state()
        self.frontier = Frontier()  # frees the old one before the new one takes memory
        self.frontier = Frontier.from_state(facts, arrays)

    # ---- leases

    def end(self, pages: Pages) -> Flags:
        """Ends leases; returns which pages were leased. Release their hosts next, if they were `counted`."""
        return self.leases.end(pages)

    def counted(self, pages: Pages) -> Flags:
        """Whether the hosts of pages whose leases have ended count them; from now on they do not."""
        if not self.uncounted:
            return np.ones(len(pages), dtype=np.bool_)
        counted = np.array([page not in self.uncounted for page in page_ids(pages)], dtype=np.bool_)
        self.uncounted.difference_update(page_ids(pages))
        return counted

    def expired(self, now: float) -> Pages:
        """Ends the leases that have expired and returns their pages. Release their hosts next."""
        return self.leases.expired(now)

    # ---- retry timers

    def retry(self, page: PageId, when: float) -> None:
        """Puts a page that waits nowhere on a timer."""
        self._assert_idle([page], "put on a timer")
        if self.frontier.contains(np.array([page], dtype=np.int64))[0]:
            raise ScheduleBroken(f"page {page} is in the frontier and was to be put on a timer")
        self.retries.add(page, when)

    def hasten(self, page: PageId, when: float) -> None:
        """Advances the timer of a page, unless it ends sooner or the page is not on one."""
        if page in self.retries and when < self.retries.time(page):
            self.retries.add(page, when)

    def take_due(self, now: float) -> Pages:
        """Takes the pages off their timers whose time has come, and returns them."""
        return self.retries.due(now)

    def move(self, wait: Callable[[float], float]) -> None:
        """Changes the times that pages and hosts wait for."""
        self.frontier.move(wait)
        self.leases.move(wait)
        self.retries.move(wait)

    # ---- questions

    def idle(self, pages: Pages) -> Flags:
        """For each page, whether it waits nowhere."""
        idle: Flags = (self.frontier.levels(pages) == OUTSIDE_LEVEL) & ~self.leases.out(pages)
        if len(self.retries):
            idle &= np.fromiter(
                (page not in self.retries for page in page_ids(pages)), dtype=np.bool_, count=len(pages)
            )
        return idle

    def check(self, hosts_of: Callable[[Pages], npt.NDArray[Any]]) -> None:
        """Raises `ScheduleBroken` unless every page waits in at most one place and every host counts its leases."""
        self.frontier.check()
        leased, timed = self.leases.held(), self.retries.state()[1]["pages"]
        for name, pages in (("leased", leased), ("on a timer", timed)):
            twice = pages[self.frontier.contains(pages)]
            if len(twice):
                raise ScheduleBroken(f"page {twice[0]} is in the frontier and {name}")
        twice = np.intersect1d(leased, timed)
        if len(twice):
            raise ScheduleBroken(f"page {twice[0]} is leased and on a timer")
        counted = self.frontier.state()[1]["outstanding"].astype(np.int64)
        leased = leased[[page not in self.uncounted for page in page_ids(leased)]]
        held = np.bincount(hosts_of(leased).astype(np.int64), minlength=len(counted))
        wrong = np.flatnonzero(held != counted) if len(held) == len(counted) else np.array([len(counted)])
        if len(wrong):
            raise ScheduleBroken(f"host {wrong[0]} has a wrong count of leases")

    def _assert_idle(self, pages: list[PageId], move: str) -> None:
        """Raises if a page is leased or on a timer. Both are dictionaries, so this costs two look-ups per page."""
        for page in pages:
            if page in self.leases or page in self.retries:
                place = "leased" if page in self.leases else "on a timer"
                raise ScheduleBroken(f"page {page} is {place} and was to be {move}")

    # ---- for snapshots

    def state(self) -> State:
        """Facts and arrays of each part."""
        facts, arrays = self.leases.state()
        leases = facts | {"uncounted": sorted(self.uncounted)}, arrays
        return {"frontier": self.frontier.state(), "leases": leases, "retries": self.retries.state()}

    @classmethod
    def from_state(cls, state: State) -> "Placement":
        """The same placement again."""
        made = cls.__new__(cls)
        made.frontier = Frontier.from_state(*state["frontier"])
        made.leases = Leases.from_state(*state["leases"])
        made.retries = Timers.from_state(*state["retries"])
        made.uncounted = set(state["leases"][0].get("uncounted", ()))
        return made
