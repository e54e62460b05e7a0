"""The frontier holds the pages that wait to be fetched, by host, and leases the most important page of the ready hosts.

`strategy.py` states which page is next and what is guaranteed; `tables.py` states the memory per page. The frontier is
deterministic: the pages it leases depend only on the calls made and on their order. Time is an argument and may even
run backwards. All calls take batches.

An argument that only our own code can get wrong (a page that is already inside, a key that is NaN, a host that has no
lease to release) raises ScheduleBroken. A setting out of its range raises BadSetting.

Over 400 lines because it is one class: every method that keeps queues, hosts and standings consistent is here; the
kernels are in the modules beside it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.frontier import host_clocks, intake, queue_state, strategy, verifier
from centime.frontier.kind import CLASSES, KINDS, LEVELS
from centime.frontier.standing import DOMAINS, NO_DOMAIN, STANDINGS, UNCHANGED, bounds
from centime.frontier.tables import (
    BLOCKED,
    CHUNKS_USED,
    CLASS_COUNT,
    CREDIT,
    DIRECTORY_NEED,
    DOMAIN,
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
    PUT_OFF_COUNT,
    QUEUE_COUNT,
    QUEUES_USED,
    READY_QUEUES,
    SHARE,
    SIZE,
    STANDING,
    WAITING_COUNT,
    empty_tables,
    make_groups,
    make_hosts,
    make_room_for_chunks,
    make_room_for_pages,
    make_room_for_queues,
)
from centime.model.errors import BadSetting, ScheduleBroken
from centime.model.ids import HostId, PageId, host_ids, page_ids

_NO_OFFSETS = np.zeros(CLASSES)
_BATCH = 1 << 20

Pages = npt.NDArray[np.int64]


class Frontier:
    """The pages that wait to be fetched. `shares`: the part of the choices passed down to it that each of levels 1 to 4
    takes.
    """

    def __init__(self, *, leases_per_host: int = 1, shares: Sequence[float] = (0.5, 0.5, 0.5, 0.5)) -> None:
        if leases_per_host < 1:
            raise BadSetting(f"leases_per_host is {leases_per_host}; it must be 1 or more")
        self._t = empty_tables()
        self._t.counts[LEASES_PER_HOST] = leases_per_host
        self.set_shares(shares)

    def set_shares(self, shares: Sequence[float]) -> None:
        """Sets the part of the choices passed down to it that each of levels 1 to 4 takes. A share that stays the same
        keeps its credit.
        """
        if len(shares) != LEVELS - 1 or not all(0 < share < 1 for share in shares):
            raise BadSetting(f"shares are {tuple(shares)}; they must be {LEVELS - 1} numbers above 0 and below 1")
        for level, share in enumerate(shares, start=1):
            whole = min(max(round(share * strategy.WHOLE_CREDIT), 1), strategy.WHOLE_CREDIT - 1)
            if self._t.levels[SHARE, level] != whole:
                self._t.levels[SHARE, level] = whole
                self._t.levels[CREDIT, level] = strategy.WHOLE_CREDIT - whole

    def allow(self, leases_per_host: int) -> None:
        """Sets the number of leases that a host may have at a time; no lease may be outstanding."""
        if leases_per_host < 1:
            raise BadSetting(f"leases_per_host is {leases_per_host}; it must be 1 or more")
        if self._t.counts[OUTSTANDING_COUNT]:
            raise ScheduleBroken(f"leases_per_host changed with {self._t.counts[OUTSTANDING_COUNT]} leases outstanding")
        self._t.counts[LEASES_PER_HOST] = leases_per_host

    def add(
        self, pages: npt.NDArray[Any], hosts: npt.NDArray[Any], kinds: npt.NDArray[Any], keys: npt.NDArray[Any]
    ) -> None:
        """Adds pages that are not inside; a host is created on first mention and is ready at once."""
        pages = np.asarray(pages, dtype=np.int64)
        hosts = np.asarray(hosts, dtype=np.int32)
        kinds = np.asarray(kinds, dtype=np.uint16)
        keys = np.asarray(keys, dtype=np.float32)
        if not len(pages) == len(hosts) == len(kinds) == len(keys):
            raise ScheduleBroken(
                f"{len(pages)} pages were added with {len(hosts)} hosts, {len(kinds)} kinds and {len(keys)} keys; "
                "each page needs one of each"
            )
        reached = intake.add_pages(self._t, pages, hosts, kinds, keys, intake.SHORT)
        while reached != len(pages):
            if reached == intake.BAD:
                raise ScheduleBroken(_what_is_bad(pages, hosts, kinds, keys, self.contains(pages)))
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
        """Sets the keys of unread pages and ignores all others; of a page named twice the last key counts."""
        self._update(pages, keys, own=False)

    def update_worth(self, pages: npt.NDArray[Any], worth: npt.NDArray[Any]) -> None:
        """Sets the worth of the pages of levels 1 to 4 and ignores all others."""
        self._update(pages, worth, own=True)

    def _update(self, pages: npt.NDArray[Any], keys: npt.NDArray[Any], *, own: bool) -> None:
        pages = np.asarray(pages, dtype=np.int64)
        keys = np.asarray(keys, dtype=np.float32)
        if len(pages) != len(keys):
            raise ScheduleBroken(f"{len(pages)} pages were updated with {len(keys)} keys; each page needs one key")
        if not intake.update_pages(self._t, pages, keys, own):
            raise ScheduleBroken(f"the key of page {pages[np.isnan(keys)][0]} is NaN")

    def remove(self, pages: npt.NDArray[Any]) -> None:
        """Removes pages and ignores those that are not inside."""
        intake.remove_pages(self._t, np.asarray(pages, dtype=np.int64))

    def lease(
        self, now: float, count: int, offsets: npt.NDArray[np.float64], discovery: float = 0.0, slots: int = 0
    ) -> Pages:
        """Returns up to `count` pages to fetch now, most important first. The pages leave the frontier, and each is an
        outstanding lease of its host.

        `discovery` is the worth of one unit of importance of an unread page, compared with the worth of pages that are
        due. With 0, levels 4 and 5 get their shares instead. `slots` is how many leases the fetchers can hold, of which
        hosts of each standing have a part (`standing.py`); 0 for no bound.
        """
        leased = np.empty(count, dtype=np.int64)
        got = strategy.lease_pages(
            self._t, float(now), np.asarray(offsets, dtype=np.float64), float(discovery), bounds(slots), leased
        )
        if got < 0:
            raise ScheduleBroken(
                f"each of the {self._t.counts[CLASS_COUNT]} focus classes in use needs a finite offset"
            )
        return leased[:got]

    @property
    def put_off(self) -> int:
        """The number of hosts that the last lease delayed: their domain or address had as many leases as it may
        have."""
        return int(self._t.counts[PUT_OFF_COUNT])

    def release(self, host: HostId, next_time: float, standing: int = UNCHANGED) -> None:
        """Ends a lease of the host, which is ready again at `next_time`, and has a new standing unless UNCHANGED."""
        _must_be_standings(np.array([standing]))
        if not host_clocks.release_host(self._t, int(host), float(next_time), int(standing)):
            raise ScheduleBroken(_why_not_released(host, next_time))

    def release_all(
        self, hosts: npt.NDArray[Any], next_times: npt.NDArray[np.float64], standings: npt.NDArray[Any] | None = None
    ) -> None:
        """Ends a lease of each host of a batch; by default their standings stay."""
        hosts = np.asarray(hosts, dtype=np.int64)
        next_times = np.asarray(next_times, dtype=np.float64)
        standings = np.full(len(hosts), UNCHANGED) if standings is None else np.asarray(standings, dtype=np.int64)
        if not len(hosts) == len(next_times) == len(standings):
            raise ScheduleBroken(
                f"{len(hosts)} hosts were released with {len(next_times)} times and {len(standings)} standings; each "
                "host needs one of each"
            )
        _must_be_standings(standings)
        ended = host_clocks.release_hosts(self._t, hosts, next_times, standings)
        if ended != len(hosts):
            raise ScheduleBroken(_why_not_released(hosts[ended], next_times[ended]))

    def delay(self, host: HostId, next_time: float) -> None:
        """Makes the host ready from `next_time` on."""
        self._mention(host)
        host_clocks.delay_host(self._t, host, _checked_time(next_time))

    def block(self, host: HostId) -> None:
        """Leases no page of the host until `unblock`."""
        self._mention(host)
        host_clocks.set_block(self._t, host, 1)

    def unblock(self, host: HostId) -> None:
        """Ends a block; the host is ready again when its time has come."""
        self._mention(host)
        host_clocks.set_block(self._t, host, 0)

    def set_address(self, host: HostId, group: int) -> None:
        """Moves the host to an address group; -1 for no group."""
        self._mention(host)
        if not -1 <= group <= intake.LARGEST_HOST:
            raise ScheduleBroken(f"{group} is not the number of an address group")
        make_groups(self._t, group + 1)
        host_clocks.join_group(self._t, host, group)

    def set_standings(self, standings: Sequence[int]) -> None:
        """Sets the standings of the first hosts."""
        numbers = np.array(standings, dtype=np.int64)
        _must_be_standings(numbers)
        if len(numbers):
            self._mention(HostId(len(numbers) - 1))
            host_clocks.set_standings(self._t, numbers)

    def set_domains(self, first: HostId, domains: Sequence[int]) -> None:
        """Gives the hosts from `first` on their domains: numbers below DOMAINS, or NO_DOMAIN."""
        numbers = np.array(domains, dtype=np.int64)
        if len(numbers):
            if numbers.min() < NO_DOMAIN or numbers.max() >= DOMAINS:
                raise ScheduleBroken(f"a domain has a number below {NO_DOMAIN} or above {DOMAINS - 1}")
            self._mention(HostId(first + len(numbers) - 1))
            host_clocks.join_domains(self._t, first, numbers)

    def delay_address(self, group: int, next_time: float) -> None:
        """Makes the hosts of an address group ready from `next_time` on."""
        if not 0 <= group <= intake.LARGEST_HOST:
            raise ScheduleBroken(f"{group} is not the number of an address group")
        make_groups(self._t, group + 1)
        host_clocks.delay_group(self._t, group, _checked_time(next_time))

    def move(self, wait: Callable[[float], float]) -> None:
        """Changes the times at which hosts and addresses are ready. Takes time proportional to the number of pages."""
        facts, arrays = self.state()
        for name in ("next_times", "group_times"):
            arrays[name] = np.array([wait(time) for time in arrays[name].tolist()], dtype=np.float64)
        self._t = Frontier.from_state(facts, arrays)._t

    def _mention(self, host: HostId) -> None:
        if not 0 <= host <= intake.LARGEST_HOST:
            raise ScheduleBroken(f"{host} is not the number of a host")
        make_hosts(self._t, host + 1)

    def earliest(self, now: float, slots: int = 0) -> float:
        """Time at which the next host with pages is ready: `now` if one is ready, infinity if none waits. Hosts of a
        standing that has all its part of the `slots` are left out.
        """
        return strategy.earliest_time(self._t, float(now), _NO_OFFSETS, bounds(slots))

    def contains(self, pages: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """For each page, whether it is inside."""
        pages = np.asarray(pages, dtype=np.int64)
        inside = np.empty(len(pages), dtype=np.bool_)
        intake.find_pages(self._t, pages, inside)
        return inside

    def levels(self, pages: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The level of each page; OUTSIDE_LEVEL if it is not inside."""
        pages = np.asarray(pages, dtype=np.int64)
        levels = np.empty(len(pages), dtype=np.int64)
        intake.find_levels(self._t, pages, levels)
        return levels

    def __len__(self) -> int:
        """Number of pages inside."""
        return int(self._t.counts[PAGE_COUNT])

    def batches(self) -> Iterator[Pages]:
        """All pages inside, in batches; the frontier must not change meanwhile."""
        for _, _, pages in queue_state.batches(self._t):
            yield pages

    def pages_of(self, host: HostId) -> int:
        """Number of pages of a host inside."""
        return int(self._t.hosts[host, PAGES]) if 0 <= host < self.hosts else 0

    @property
    def hosts(self) -> int:
        """Number of hosts known; host numbers are below this."""
        return int(self._t.counts[HOST_COUNT])

    def best(self, count: int, offsets: npt.NDArray[np.float64]) -> Pages:
        """The first `count` pages by level and importance, whether their hosts are ready or not."""
        return queue_state.best_pages(self._t, count, np.asarray(offsets, dtype=np.float64))

    def rebuild(self, keys: Callable[[Pages], npt.NDArray[Any]] | npt.NDArray[Any]) -> None:
        """Sets the keys of all unread pages, from an array by page number or from a function of pages. Takes time
        proportional to the number of pages.
        """
        for first, last, pages in queue_state.batches(self._t):
            new = np.asarray(keys(pages) if callable(keys) else keys[pages], dtype=np.float32)
            if len(new) != len(pages) or np.isnan(new).any():
                queue_state.restore_order(self._t)
                raise ScheduleBroken("each page of the frontier needs a key that is not NaN")
            queue_state.set_keys(self._t, first, last, new)
        queue_state.restore_order(self._t)

    def check(self) -> None:
        """Verifies every invariant; raises ScheduleBroken with what is broken and where."""
        verifier.verify(self._t)

    def statistics(self) -> dict[str, Any]:
        """Counts for reports: pages, hosts, leases, bytes."""
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
        """The complete state as facts and arrays; the arrays are copies."""
        t = self._t
        hosts, groups = self.hosts, int(t.counts[GROUP_COUNT])
        queues = queue_state.queues_in_order(t)
        pages = np.empty(len(self), dtype=np.int32)
        keys = np.empty(len(self), dtype=np.float32)
        queue_state.copy_entries(t, queues, pages, keys)
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
            "standings": t.hosts[:hosts, STANDING].astype(np.uint8),
            "domains": t.hosts[:hosts, DOMAIN].astype(np.int16),
            "group_times": t.group_times[:groups].copy(),
            "levels": t.levels[[CREDIT, SHARE, LEASED]],
        }
        return facts, arrays

    @classmethod
    def from_state(cls, facts: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> "Frontier":
        """The frontier that has this state; it continues exactly as the original would."""
        frontier = cls(leases_per_host=facts["leases_per_host"])
        t = frontier._t
        hosts = len(arrays["next_times"])
        make_hosts(t, hosts)
        make_groups(t, len(arrays["group_times"]))
        t.times[:hosts, NEXT_TIME] = arrays["next_times"]
        t.hosts[:hosts, OUTSTANDING] = arrays["outstanding"]
        t.hosts[:hosts, BLOCKED] = arrays["blocked"]
        t.counts[OUTSTANDING_COUNT] = arrays["outstanding"].sum(dtype=np.int64)
        if "standings" in arrays:  # versions before 0.2 stored none
            t.hosts[:hosts, STANDING] = arrays["standings"]
            t.hosts[:hosts, DOMAIN] = arrays["domains"]
        busy = np.flatnonzero(arrays["outstanding"])
        standings, domains = t.hosts[busy, STANDING], t.hosts[busy, DOMAIN]
        np.add.at(t.leases, standings, arrays["outstanding"][busy])
        named = domains >= 0
        np.add.at(t.domain_leases, (domains[named], standings[named]), arrays["outstanding"][busy[named]])
        t.counts[CLASS_COUNT] = facts["classes"]
        t.group_times[: len(arrays["group_times"])] = arrays["group_times"]
        t.levels[[CREDIT, SHARE, LEASED]] = arrays["levels"]
        for host in np.flatnonzero(arrays["groups"] >= 0):
            host_clocks.join_group(t, int(host), int(arrays["groups"][host]))
        ends = np.cumsum(arrays["queue_sizes"], dtype=np.int64)
        for first in range(0, len(arrays["pages"]), _BATCH):
            # pages added in heap order stay in place, so each costs one comparison
            part = slice(first, first + _BATCH)
            pages = arrays["pages"][part]
            queue = np.searchsorted(ends, np.arange(first, first + len(pages)), side="right")
            frontier.add(pages, arrays["queue_hosts"][queue], arrays["queue_kinds"][queue], arrays["keys"][part])
        return frontier


def _must_be_standings(standings: npt.NDArray[np.int64]) -> None:
    if len(standings) and not (UNCHANGED <= standings.min() and standings.max() < STANDINGS):
        raise ScheduleBroken(f"a host was released with the standing {standings.max()}, which does not exist")


def _checked_time(time: float) -> float:
    if np.isnan(time):
        raise ScheduleBroken("a time is NaN")
    return float(time)


def _why_not_released(host: HostId, next_time: float) -> str:
    """The sentence for a lease that could not be released."""
    if np.isnan(next_time):
        return f"the time at which host {host} is ready again is NaN"
    return f"host {host} was released but has no outstanding lease"


def _what_is_bad(
    pages: Pages,
    hosts: npt.NDArray[np.int32],
    kinds: npt.NDArray[np.uint16],
    keys: npt.NDArray[np.float32],
    inside: npt.NDArray[np.bool_],
) -> str:
    """The sentence for a batch that `add` rejected."""
    seen: set[PageId] = set()
    for page, host, kind, key, known in zip(
        page_ids(pages), host_ids(hosts), kinds.tolist(), keys.tolist(), inside.tolist(), strict=True
    ):
        if not 0 <= page <= intake.LARGEST_PAGE:
            return f"{page} is not the number of a page"
        if not 0 <= host <= intake.LARGEST_HOST:
            return f"{host}, the host of page {page}, is not the number of a host"
        if not CLASSES <= kind < KINDS:
            return f"the kind of page {page} is {kind}; its level must be 1 to {LEVELS}"
        if key != key:
            return f"the key of page {page} is NaN"
        if known:
            return f"page {page} was added but is already in the frontier"
        if page in seen:
            return f"page {page} was added twice in one batch"
        seen.add(page)
    raise AssertionError("a batch without a fault was rejected")
