"""The frontier: the pages that may be read, by host; it hands out the most important page among the hosts that may be
asked now.

What is guaranteed is in `order.py`, what memory it takes in `tables.py`. Deterministic: what is handed out follows from
the calls made, in their order, and from nothing else; time is an argument and may even run backwards. Calls take
batches.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.frontier import host_clocks as politeness
from centime.frontier import intake
from centime.frontier import queue_state as snapshot
from centime.frontier import strategy as order
from centime.frontier import verifier as proof
from centime.frontier.kind import CLASSES, KINDS, LEVELS
from centime.frontier.tables import (
    BLOCKED,
    CHUNKS_USED,
    CLASS_COUNT,
    CREDIT,
    DIRECTORY_NEED,
    FREE_CHUNK,
    FREE_QUEUE,
    GROUP,
    GROUP_COUNT,
    HIGHEST_HOST,
    HIGHEST_PAGE,
    HOST,
    HOST_COUNT,
    KIND,
    LEASED,
    LEASES_PER_HOST,
    NEXT_TIME,
    OUTSTANDING,
    OUTSTANDING_COUNT,
    PAGE_COUNT,
    PAGES,
    QUEUE_COUNT,
    QUEUES_USED,
    READY_QUEUES,
    SHARE,
    SIZE,
    WAITING_COUNT,
    empty_tables,
    make_groups,
    make_hosts,
    make_room_for_chunks,
    make_room_for_pages,
    make_room_for_queues,
)
from centime.model.errors import BadInput, BadSetting

_NO_OFFSETS = np.zeros(CLASSES)
_BATCH = 1 << 20

Pages = npt.NDArray[np.int64]


class Frontier:
    """The pages that may be read. `shares`: what each of levels 1 to 4 may take of the choices that come down to it."""

    def __init__(self, *, leases_per_host: int = 1, shares: Sequence[float] = (0.5, 0.5, 0.5, 0.5)) -> None:
        if leases_per_host < 1:
            raise BadSetting(f"leases_per_host is {leases_per_host}; a host must be allowed at least 1")
        self._t = empty_tables()
        self._t.counts[LEASES_PER_HOST] = leases_per_host
        self.set_shares(shares)

    def set_shares(self, shares: Sequence[float]) -> None:
        """What each of levels 1 to 4 may take from now on of the choices that come down to it; the same again
        changes nothing.
        """
        if len(shares) != LEVELS - 1 or not all(0 < share < 1 for share in shares):
            raise BadSetting(f"shares are {tuple(shares)}; they must be {LEVELS - 1} numbers above 0 and below 1")
        for level, share in enumerate(shares, start=1):
            whole = min(max(round(share * order.WHOLE_CREDIT), 1), order.WHOLE_CREDIT - 1)
            if self._t.levels[SHARE, level] != whole:
                self._t.levels[SHARE, level] = whole
                self._t.levels[CREDIT, level] = order.WHOLE_CREDIT - whole

    def allow(self, leases_per_host: int) -> None:
        """Lets a host have so many leases at a time from now on; none may be out."""
        if leases_per_host < 1 or self._t.counts[OUTSTANDING_COUNT]:
            raise BadInput(f"a host is allowed 1 lease or more, not {leases_per_host}, and only while none is out")
        self._t.counts[LEASES_PER_HOST] = leases_per_host

    def add(
        self, pages: npt.NDArray[Any], hosts: npt.NDArray[Any], kinds: npt.NDArray[Any], keys: npt.NDArray[Any]
    ) -> None:
        """Takes in pages that are not inside; hosts are made on first mention and may be asked at once."""
        pages = np.asarray(pages, dtype=np.int64)
        hosts = np.asarray(hosts, dtype=np.int32)
        kinds = np.asarray(kinds, dtype=np.uint16)
        keys = np.asarray(keys, dtype=np.float32)
        if not len(pages) == len(hosts) == len(kinds) == len(keys):
            raise BadInput(
                f"{len(pages)} pages, {len(hosts)} hosts, {len(kinds)} kinds, {len(keys)} keys: these must be as many"
            )
        reached = intake.add_pages(self._t, pages, hosts, kinds, keys, intake.SHORT)
        while reached != len(pages):
            if reached == intake.BAD:
                raise BadInput(_what_is_bad(pages, hosts, kinds, keys, self.contains(pages)))
            self._make_room()
            reached = intake.add_pages(self._t, pages, hosts, kinds, keys, reached)

    def _make_room(self) -> None:
        t = self._t
        counts = t.counts
        make_room_for_pages(t, int(counts[HIGHEST_PAGE]) + 1)
        make_hosts(t, int(counts[HIGHEST_HOST]) + 1)
        if counts[FREE_CHUNK] < 0:
            make_room_for_chunks(t, int(counts[CHUNKS_USED]) + 1)
        if counts[FREE_QUEUE] < 0:
            make_room_for_queues(t, int(counts[QUEUES_USED]) + 1)
        if counts[DIRECTORY_NEED] > 0:
            live = int(intake.measure_directory(t))
            directory = np.empty(live + live // 4 + int(counts[DIRECTORY_NEED]) + 64, dtype=np.int32)
            intake.move_directory(t, directory)
            counts[DIRECTORY_NEED] = 0
            self._t = t._replace(directory=directory)

    def update(self, pages: npt.NDArray[Any], keys: npt.NDArray[Any]) -> None:
        """Gives unread pages new keys; all but unread ones are passed over, of one named twice the last key counts."""
        self._update(pages, keys, own=False)

    def update_worth(self, pages: npt.NDArray[Any], worth: npt.NDArray[Any]) -> None:
        """Says what pages that are not for discovery are worth now; all others are passed over."""
        self._update(pages, worth, own=True)

    def _update(self, pages: npt.NDArray[Any], keys: npt.NDArray[Any], *, own: bool) -> None:
        pages = np.asarray(pages, dtype=np.int64)
        keys = np.asarray(keys, dtype=np.float32)
        if len(pages) != len(keys):
            raise BadInput(f"{len(pages)} pages and {len(keys)} keys: these must be as many")
        if not intake.update_pages(self._t, pages, keys, own):
            raise BadInput(f"the key of page {pages[np.isnan(keys)][0]} is not a number")

    def remove(self, pages: npt.NDArray[Any]) -> None:
        """Takes pages out; those not inside are passed over."""
        intake.remove_pages(self._t, np.asarray(pages, dtype=np.int64))

    def lease(self, now: float, count: int, offsets: npt.NDArray[np.float64], discovery: float = 0.0) -> Pages:
        """Up to `count` pages to read now, most important first; they are taken out, and each is a lease of its host.

        `discovery`: what a unit of importance of an unread page is worth beside pages that are due; 0: levels 4 and 5
        by their shares.
        """
        leased = np.empty(count, dtype=np.int64)
        got = order.lease_pages(self._t, float(now), np.asarray(offsets, dtype=np.float64), float(discovery), leased)
        if got < 0:
            raise BadInput(
                f"offsets must be finite numbers for the {self._t.counts[CLASS_COUNT]} focus classes in use, at least"
            )
        return leased[:got]

    def release(self, host: int, next_time: float) -> None:
        """A lease of the host has ended; the host may be asked again at `next_time`."""
        if not politeness.release_host(self._t, int(host), float(next_time)):
            raise BadInput(f"host {host} has no lease that could end, or {next_time} is not a time")

    def release_all(self, hosts: npt.NDArray[Any], next_times: npt.NDArray[np.float64]) -> None:
        """The same for a batch: a lease of each host has ended."""
        hosts = np.asarray(hosts, dtype=np.int64)
        next_times = np.asarray(next_times, dtype=np.float64)
        if len(hosts) != len(next_times):
            raise BadInput(f"{len(hosts)} hosts and {len(next_times)} times: these must be as many")
        ended = politeness.release_hosts(self._t, hosts, next_times)
        if ended != len(hosts):
            raise BadInput(f"host {hosts[ended]} has no lease that could end, or {next_times[ended]} is not a time")

    def delay(self, host: int, next_time: float) -> None:
        """The host may be asked from `next_time` on."""
        self._mention(host)
        politeness.delay_host(self._t, host, _checked_time(next_time))

    def block(self, host: int) -> None:
        """The host is not asked until `unblock`."""
        self._mention(host)
        politeness.set_block(self._t, host, 1)

    def unblock(self, host: int) -> None:
        """The host may be asked again, when its time has come."""
        self._mention(host)
        politeness.set_block(self._t, host, 0)

    def set_address(self, host: int, group: int) -> None:
        """The host now belongs to an address group, and to no other; -1 for none."""
        self._mention(host)
        if not -1 <= group <= intake.LARGEST_HOST:
            raise BadInput(f"{group} is not the number of an address group")
        make_groups(self._t, group + 1)
        politeness.join_group(self._t, host, group)

    def delay_address(self, group: int, next_time: float) -> None:
        """The hosts of an address group may be asked from `next_time` on."""
        if not 0 <= group <= intake.LARGEST_HOST:
            raise BadInput(f"{group} is not the number of an address group")
        make_groups(self._t, group + 1)
        politeness.delay_group(self._t, group, _checked_time(next_time))

    def _mention(self, host: int) -> None:
        if not 0 <= host <= intake.LARGEST_HOST:
            raise BadInput(f"{host} is not the number of a host")
        make_hosts(self._t, host + 1)

    def earliest(self, now: float) -> float:
        """When the next host with pages is ready: `now` if one is, infinity if none waits."""
        return order.earliest_time(self._t, float(now), _NO_OFFSETS)

    def contains(self, pages: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Of each page, whether it is inside."""
        pages = np.asarray(pages, dtype=np.int64)
        inside = np.empty(len(pages), dtype=np.bool_)
        intake.find_pages(self._t, pages, inside)
        return inside

    def levels(self, pages: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Of each page its level, OUTSIDE_LEVEL if it is not inside."""
        pages = np.asarray(pages, dtype=np.int64)
        levels = np.empty(len(pages), dtype=np.int64)
        intake.find_levels(self._t, pages, levels)
        return levels

    def __len__(self) -> int:
        """How many pages are inside."""
        return int(self._t.counts[PAGE_COUNT])

    def pages_of(self, host: int) -> int:
        """How many pages of a host are inside."""
        return int(self._t.hosts[host, PAGES]) if 0 <= host < self.hosts else 0

    @property
    def hosts(self) -> int:
        """How many hosts were mentioned: their numbers lie below this."""
        return int(self._t.counts[HOST_COUNT])

    def best(self, count: int, offsets: npt.NDArray[np.float64]) -> Pages:
        """The first pages by level and importance, whether their hosts may be asked or not."""
        return snapshot.best_pages(self._t, count, np.asarray(offsets, dtype=np.float64))

    def rebuild(self, keys: Callable[[Pages], npt.NDArray[Any]] | npt.NDArray[Any]) -> None:
        """Gives all unread pages new keys, by page number from an array or a function of pages, in time proportional to
        their number.
        """
        for first, last, pages in snapshot.batches(self._t):
            new = np.asarray(keys(pages) if callable(keys) else keys[pages], dtype=np.float32)
            if len(new) != len(pages) or np.isnan(new).any():
                snapshot.restore_order(self._t)
                raise BadInput("there must be a key, and a number, for every page of the frontier")
            snapshot.give_keys(self._t, first, last, new)
        snapshot.restore_order(self._t)

    def check(self) -> None:
        """Looks at everything; raises ScheduleBroken with what is broken and where."""
        proof.prove(self._t)

    def statistics(self) -> dict[str, Any]:
        """Counts for people: pages, hosts, leases, bytes."""
        t = self._t
        return {
            "pages": len(self),
            "hosts": self.hosts,
            "queues": int(t.counts[QUEUE_COUNT]),
            "hosts_waiting": int(t.counts[WAITING_COUNT]),
            "queues_ready": {level: int(t.levels[READY_QUEUES, level]) for level in range(1, LEVELS + 1)},
            "leases_outstanding": int(t.counts[OUTSTANDING_COUNT]),
            "leased": {level: int(t.levels[LEASED, level]) for level in range(1, LEVELS + 1)},
            "bytes": sum(array.nbytes for array in t),
        }

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """All that the frontier is, as facts and arrays of its own."""
        t = self._t
        hosts, groups = self.hosts, int(t.counts[GROUP_COUNT])
        queues = snapshot.queues_in_order(t)
        pages = np.empty(len(self), dtype=np.int32)
        keys = np.empty(len(self), dtype=np.float32)
        snapshot.copy_entries(t, queues, pages, keys)
        facts = {"leases_per_host": int(t.counts[LEASES_PER_HOST]), "classes": int(t.counts[CLASS_COUNT])}
        arrays = {
            "queue_hosts": t.queues[queues, HOST],
            "queue_kinds": t.queues[queues, KIND].astype(np.uint16),
            "queue_sizes": t.queues[queues, SIZE],
            "pages": pages,
            "keys": keys,
            "next_times": t.times[:hosts, NEXT_TIME].copy(),
            "outstanding": t.hosts[:hosts, OUTSTANDING].copy(),
            "blocked": t.hosts[:hosts, BLOCKED].astype(np.bool_),
            "groups": t.hosts[:hosts, GROUP].copy(),
            "group_times": t.group_times[:groups].copy(),
            "levels": t.levels[[CREDIT, SHARE, LEASED]],
        }
        return facts, arrays

    @classmethod
    def from_state(cls, facts: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> "Frontier":
        """The frontier of a state: it goes on exactly as the other would have."""
        frontier = cls(leases_per_host=facts["leases_per_host"])
        t = frontier._t
        hosts = len(arrays["next_times"])
        make_hosts(t, hosts)
        make_groups(t, len(arrays["group_times"]))
        t.times[:hosts, NEXT_TIME] = arrays["next_times"]
        t.hosts[:hosts, OUTSTANDING] = arrays["outstanding"]
        t.hosts[:hosts, BLOCKED] = arrays["blocked"]
        t.counts[OUTSTANDING_COUNT] = arrays["outstanding"].sum(dtype=np.int64)
        t.counts[CLASS_COUNT] = facts["classes"]
        t.group_times[: len(arrays["group_times"])] = arrays["group_times"]
        t.levels[[CREDIT, SHARE, LEASED]] = arrays["levels"]
        for host in np.flatnonzero(arrays["groups"] >= 0):
            politeness.join_group(t, int(host), int(arrays["groups"][host]))
        ends = np.cumsum(arrays["queue_sizes"], dtype=np.int64)
        for first in range(0, len(arrays["pages"]), _BATCH):
            # pages in heap order stay where they are put, so this is one comparison for each
            part = slice(first, first + _BATCH)
            pages = arrays["pages"][part]
            queue = np.searchsorted(ends, np.arange(first, first + len(pages)), side="right")
            frontier.add(pages, arrays["queue_hosts"][queue], arrays["queue_kinds"][queue], arrays["keys"][part])
        return frontier


def _checked_time(time: float) -> float:
    if np.isnan(time):
        raise BadInput("a time must be a number of seconds")
    return float(time)


def _what_is_bad(
    pages: Pages,
    hosts: npt.NDArray[np.int32],
    kinds: npt.NDArray[np.uint16],
    keys: npt.NDArray[np.float32],
    inside: npt.NDArray[np.bool_],
) -> str:
    """The sentence for a batch that was refused."""
    seen: set[int] = set()
    for page, host, kind, key, known in zip(
        pages.tolist(), hosts.tolist(), kinds.tolist(), keys.tolist(), inside.tolist(), strict=True
    ):
        if not 0 <= page <= intake.LARGEST_PAGE:
            return f"{page} is not the number of a page"
        if not 0 <= host <= intake.LARGEST_HOST:
            return f"{host}, the host of page {page}, is not the number of a host"
        if not CLASSES <= kind < KINDS:
            return f"{kind}, the kind of page {page}, has a level other than 1 to {LEVELS}"
        if key != key:
            return f"the key of page {page} is not a number"
        if known or page in seen:
            return f"page {page} is in the frontier already, or twice in the batch"
        seen.add(page)
    raise AssertionError("a batch without fault was refused")
