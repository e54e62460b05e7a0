"""Whatever is broken in the frontier's memory, the verifier finds it."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from centime.frontier import tables as columns
from centime.frontier.frontier import Frontier
from centime.frontier.kind import kind_of
from centime.frontier.tables import Tables
from centime.model.errors import ScheduleBroken
from centime.model.ids import HostId


def busy_frontier() -> Frontier:
    """Hosts that are ready (0, 1), waiting (2, 3), busy (5) and idle (4); two kinds, several chunks, free chunks, a
    group."""
    frontier = Frontier()
    pages = np.arange(200)
    frontier.add(pages, pages % 5, np.where(pages < 100, kind_of(5), kind_of(4, 1)), pages.astype(np.float32))
    frontier.add(np.array([900]), np.array([5]), np.array([kind_of(5)]), np.array([9000.0]))
    frontier.remove(np.arange(120, 160))
    frontier.block(HostId(4))
    for host in (0, 1, 2):
        frontier.set_address(HostId(host), 1)
    frontier.delay(HostId(2), 50.0)
    frontier.delay(HostId(3), 60.0)
    frontier.update(np.array([900]), np.array([9001.0]))
    assert frontier.lease(1.0, 0, np.zeros(2)).tolist() == []
    return frontier


def queue_of(t: Tables, page: int) -> int:
    return int(t.chunks[t.position[page] // columns.CHUNK, columns.OWNER])


def entry(t: Tables, page: int) -> int:
    return int(t.position[page])


def put(array: npt.NDArray[Any], where: Any, value: Any) -> None:
    array[where] = value


DAMAGE = {
    "the chunk of an entry": lambda t: put(t.chunks, (entry(t, 8) // 8, columns.OWNER), queue_of(t, 9)),
    "is not that of its entry": lambda t: put(t.position, 8, entry(t, 13)),
    "better than the one above": lambda t: put(t.keys, entry(t, 0), 1e6),
    "have a position": lambda t: put(t.position, 130, 5),
    "neither in use nor free": lambda t: put(
        t.counts, columns.FREE_CHUNK, t.chunks[t.counts[columns.FREE_CHUNK], columns.OWNER]
    ),
    "not one chain": lambda t: put(t.chunks, (t.counts[columns.FREE_CHUNK], columns.RANK), 3),
    "do not hold all its pages": lambda t: put(t.hosts, (3, columns.PAGES), 7),
    "two queues of one kind": lambda t: put(t.queues, (queue_of(t, 3), columns.KIND), kind_of(4, 1)),
    "the count of pages": lambda t: put(t.counts, columns.PAGE_COUNT, 7),
    "outstanding leases": lambda t: put(t.counts, columns.OUTSTANDING_COUNT, 7),
    "the state of host": lambda t: put(t.hosts, (4, columns.STATE), columns.READY),
    "heap of waiting hosts": lambda t: put(t.waiting, 0, 3),
    "wake too late": lambda t: put(t.times, (3, columns.WAKE), 70.0),
    "not where its best page belongs": lambda t: put(t.queue_keys, queue_of(t, 0), 0.5),
    "not one heap for each kind": lambda t: put(t.roots, kind_of(5), queue_of(t, 0)),
    "standing, domain or address": lambda t: put(t.domain_leases, (7, 1), 1),
    "leases of a standing": lambda t: put(t.leases, 2, 3),
    "address group": lambda t: put(t.hosts, (1, columns.GROUP), 0),
}


@pytest.mark.parametrize("complaint", DAMAGE)
def test_damage_is_found_and_named(complaint: str) -> None:
    frontier = busy_frontier()
    frontier.check()
    DAMAGE[complaint](frontier._t)
    with pytest.raises(ScheduleBroken, match=complaint):
        frontier.check()
