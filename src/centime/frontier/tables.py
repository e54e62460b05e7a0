"""The frontier's memory: a tuple of arrays that is passed to every kernel.

Pages lie in *chunks* of 8 entries (key float32, page int32). All chunks have one size and come from one pool with one
free list, so growing and shrinking fragment nothing. A queue holds the pages of one (host, kind) and owns chunks of
rank 0, 1, 2 ...; the `directory` says which chunk has which rank, and each chunk names its owner and rank. A page's
position in the pool gives its chunk, its queue and its host, so no page needs a column for them. Bytes per page when
queues are long:

    position 4 + entry 8 + owner and rank 8/8 + directory 4/8 = 13.5, times at most 9/8 for room to grow

A queue of one chunk has no directory: a host with a few pages costs a chunk (72 bytes), a queue (44), a host (64).

Trap: arrays grow in place (`ndarray.resize`), so no view of them may outlive a call. Arrays that leave the frontier are
copies.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from centime.frontier.kind import KINDS, LEVELS
from centime.frontier.standing import DOMAINS, NEW, NO_DOMAIN, STANDINGS

CHUNK: Final = 8
OUTSIDE: Final = -1
MARKED: Final = -2

# columns of chunks; in a free chunk, OWNER is the next free chunk and RANK is OUTSIDE
OWNER: Final = 0
RANK: Final = 1

# columns of queues; in a free queue, NEXT is the next free queue and SIZE is 0
HOST: Final = 0
KIND: Final = 1
SIZE: Final = 2
START: Final = 3  # where its directory starts; its only chunk while ROOM is 0
ROOM: Final = 4  # places in its directory
NEXT: Final = 5  # the next queue of the same host
CHILD: Final = 6  # links of the heap of ready queues
SIBLING: Final = 7
BEFORE: Final = 8
BEST: Final = 9  # its best page, while it is ready

# columns of hosts
FIRST: Final = 0  # its first queue
STATE: Final = 1
OUTSTANDING: Final = 2
PAGES: Final = 3
SLOT: Final = 4  # its place in the heap of waiting hosts
GROUP: Final = 5  # its address group
FOLLOWING: Final = 6  # neighbours in the list of the group's hosts
PRECEDING: Final = 7
BLOCKED: Final = 8
STANDING: Final = 9
DOMAIN: Final = 10

IDLE: Final = 0
WAITING: Final = 1
READY: Final = 2

# columns of times, by host
NEXT_TIME: Final = 0
WAKE: Final = 1

# rows of levels
READY_QUEUES: Final = 0
CREDIT: Final = 1
SHARE: Final = 2
LEASED: Final = 3

# elements of counts
PAGE_COUNT: Final = 0
CHUNKS_USED: Final = 1
FREE_CHUNK: Final = 2
DIRECTORY_USED: Final = 3
DIRECTORY_NEED: Final = 4
QUEUES_USED: Final = 5
FREE_QUEUE: Final = 6
QUEUE_COUNT: Final = 7
HOST_COUNT: Final = 8
GROUP_COUNT: Final = 9
WAITING_COUNT: Final = 10
LEASES_PER_HOST: Final = 11
OUTSTANDING_COUNT: Final = 12
CLASS_COUNT: Final = 13
HIGHEST_PAGE: Final = 14
HIGHEST_HOST: Final = 15
PUT_OFF_COUNT: Final = 16  # hosts that the last lease delayed


class Tables(NamedTuple):
    """All arrays of a frontier."""

    position: npt.NDArray[np.int32]  # by page: its entry, or OUTSIDE
    keys: npt.NDArray[np.float32]  # by entry
    pages: npt.NDArray[np.int32]  # by entry
    chunks: npt.NDArray[np.int32]
    directory: npt.NDArray[np.int32]
    queues: npt.NDArray[np.int32]
    queue_keys: npt.NDArray[np.float32]  # the key of BEST
    hosts: npt.NDArray[np.int32]
    times: npt.NDArray[np.float64]
    waiting: npt.NDArray[np.int32]
    groups: npt.NDArray[np.int32]  # by address group: its first host
    group_times: npt.NDArray[np.float64]
    group_leases: npt.NDArray[np.int32]  # in flight, by address group and standing
    domain_leases: npt.NDArray[np.int32]  # the same by domain and standing
    leases: npt.NDArray[np.int64]  # the same by standing
    roots: npt.NDArray[np.int32]  # by standing and kind: the best ready queue
    levels: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]


def empty_tables() -> Tables:
    """The tables of a frontier without pages and hosts, and without room for any."""
    counts = np.zeros(17, dtype=np.int64)
    counts[[FREE_CHUNK, FREE_QUEUE]] = OUTSIDE
    return Tables(
        position=np.empty(0, dtype=np.int32),
        keys=np.empty(0, dtype=np.float32),
        pages=np.empty(0, dtype=np.int32),
        chunks=np.empty((0, 2), dtype=np.int32),
        directory=np.empty(0, dtype=np.int32),
        queues=np.empty((0, 10), dtype=np.int32),
        queue_keys=np.empty(0, dtype=np.float32),
        hosts=np.empty((0, 11), dtype=np.int32),
        times=np.empty((0, 2), dtype=np.float64),
        waiting=np.empty(0, dtype=np.int32),
        groups=np.empty(0, dtype=np.int32),
        group_times=np.empty(0, dtype=np.float64),
        group_leases=np.empty((0, STANDINGS), dtype=np.int32),
        domain_leases=np.zeros((DOMAINS, STANDINGS), dtype=np.int32),
        leases=np.zeros(STANDINGS, dtype=np.int64),
        roots=np.full(STANDINGS * KINDS, OUTSIDE, dtype=np.int32),
        levels=np.zeros((4, LEVELS + 1), dtype=np.int64),
        counts=counts,
    )


def _ahead(need: int, room: int) -> int:
    return max(need, room + room // 8, 64)


def _stretch(array: npt.NDArray[Any], room: int) -> None:
    array.resize((room, *array.shape[1:]), refcheck=False)


def make_room_for_pages(tables: Tables, need: int) -> None:
    """Makes room for the positions of all pages below `need`."""
    old = len(tables.position)
    if need > old:
        _stretch(tables.position, _ahead(need, old))
        tables.position[old:] = OUTSIDE


def make_room_for_chunks(tables: Tables, need: int) -> None:
    """Makes room for `need` chunks in the pool."""
    if need > len(tables.chunks):
        room = _ahead(need, len(tables.chunks))
        _stretch(tables.chunks, room)
        _stretch(tables.keys, room * CHUNK)
        _stretch(tables.pages, room * CHUNK)


def make_room_for_queues(tables: Tables, need: int) -> None:
    """Makes room for `need` queues."""
    if need > len(tables.queues):
        room = _ahead(need, len(tables.queues))
        _stretch(tables.queues, room)
        _stretch(tables.queue_keys, room)


def make_hosts(tables: Tables, need: int) -> None:
    """Creates hosts until there are `need`; a new host is ready at once."""
    if need > len(tables.hosts):
        room = _ahead(need, len(tables.hosts))
        _stretch(tables.hosts, room)
        _stretch(tables.times, room)
        _stretch(tables.waiting, room)
    old = int(tables.counts[HOST_COUNT])
    if need > old:
        new = tables.hosts[old:need]
        new[:] = 0
        new[:, [FIRST, SLOT, GROUP, FOLLOWING, PRECEDING]] = OUTSIDE
        new[:, STANDING], new[:, DOMAIN] = NEW, NO_DOMAIN
        tables.times[old:need] = -np.inf
        tables.counts[HOST_COUNT] = need


def make_groups(tables: Tables, need: int) -> None:
    """Creates address groups until there are `need`; a new group delays no host."""
    if need > len(tables.groups):
        room = _ahead(need, len(tables.groups))
        _stretch(tables.groups, room)
        _stretch(tables.group_times, room)
        _stretch(tables.group_leases, room)
    old = int(tables.counts[GROUP_COUNT])
    if need > old:
        tables.groups[old:need] = OUTSIDE
        tables.group_times[old:need] = -np.inf
        tables.group_leases[old:need] = 0
        tables.counts[GROUP_COUNT] = need
