"""Converts a shard's state to the facts and arrays of a snapshot, and back.

shard_state(shard)                 facts and arrays of everything but the append-only files
assemble(folder, settings, ...)    the shard as of the newest snapshot, for a reader or a writer
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from centime.crawl.engine.memory import give_back_large_blocks
from centime.ledger.exact import ExactLedger
from centime.ledger.history.window import Interpolation, VariableWindow, Window
from centime.ledger.opic import OpicLedger
from centime.ledger.partial import PartialLedger
from centime.ledger.protocol import PageLedger
from centime.model.errors import DamagedFile
from centime.model.ids import HostId
from centime.settings.crawl import CrawlSettings
from centime.settings.reading import decode_settings
from centime.settings.want import want_of
from centime.shard.host_table import Hosts
from centime.shard.interest.interest import Interest
from centime.shard.joining import join_domains
from centime.shard.limits.refusals import Refusals
from centime.shard.pages import KnownPages
from centime.shard.people.requests import Requests
from centime.shard.placement import Placement
from centime.shard.politeness import standing_of
from centime.shard.refreshing import Refreshing
from centime.shard.requisites import Requisites
from centime.shard.state import ShardState
from centime.store.folder import CrawlFolder
from centime.store.journal import Journal
from centime.store.link_rows import DiskRows
from centime.store.snapshot import Snapshot, names, set_aside, use_newest

PLACES = ("frontier", "leases", "retries")
WINDOWS: dict[str, Window | None] = {"opic": None, "interpolation": Interpolation(4.0), "variable": VariableWindow(4)}

Arrays = dict[str, npt.NDArray[Any]]
State = TypeVar("State", bound=ShardState)


class JournalBehind(Exception):
    """A snapshot that is whole has more frames than the journal; never leaves this package."""


@dataclass(frozen=True, slots=True)
class Assembled(Generic[State]):
    """A shard as of its newest snapshot; the frames of the journal from `shard.frame` on are still to be folded."""

    shard: State
    journal: Journal
    damaged: tuple[str, ...]


def object_state(shard: ShardState) -> Arrays:
    """A shard's Python objects for a snapshot, packed: hosts, requests, counts of shapes and refused URLs.

    Pack them before a fork: a child that looks at an object changes its count of references, so all memory that holds
    objects would be copied.
    """
    packed: dict[str, bytes | bytearray] = {
        "hosts": shard.hosts.state(),
        "requests": shard.requests.state(),
        "limits": shard.limits.packed(),
        "refusals_listed": shard.refusals.packed_list(),
    }
    if shard.transfers is not None:
        packed["channels"] = shard.transfers.packed()
    return {name: np.frombuffer(octets, dtype=np.uint8) for name, octets in packed.items()}


def shard_state(shard: ShardState, objects: Arrays | None = None) -> tuple[dict[str, Any], Arrays]:
    """Facts and arrays that make the same shard again; `objects` are those of `object_state`, if they are packed."""
    facts: dict[str, Any] = {"frame": shard.frame, "chain": shard.chain, "rows": shard.pages.rows.generation}
    arrays: Arrays = {}
    parts: dict[str, tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]] = {
        "ledger": shard.ledger.state(with_rows=False),
        **shard.placement.state(),
        "refreshing": shard.refreshing.state(),
        "requisites": shard.requisites.state(),
        "refusals": shard.refusals.state(),
        **({} if shard.interest is None else {"interest": ({}, shard.interest.state())}),
        **({} if shard.link_kinds is None else {"link_kinds": ({}, shard.link_kinds.state())}),
    }
    if shard.transfers is not None:
        parts["transfers"] = shard.transfers.state()
    for name, (own_facts, own_arrays) in parts.items():
        facts[name] = own_facts
        arrays |= {f"{name}_{title}": array for title, array in own_arrays.items()}
    facts["counters"] = shard.counters()
    facts["settings"] = shard.settings.facts()
    arrays |= {f"pages_{name}": array for name, array in shard.pages.state().items()}
    return facts, arrays | (object_state(shard) if objects is None else objects)


def assemble(
    folder: CrawlFolder,
    settings: CrawlSettings,
    make: Callable[[CrawlSettings, Journal, KnownPages, PageLedger], State],
    *,
    writable: bool,
) -> Assembled[State]:
    """The shard of a folder as of its newest snapshot; `make` builds the object."""
    give_back_large_blocks()
    journal = Journal.open(folder.journal, writable, folder.identity)

    def of_snapshot(snapshot: Snapshot) -> State:
        must_reach_back(snapshot.name, snapshot.facts, journal)
        shard = restored(snapshot, folder.state, partial(_make, make, journal), writable=writable)
        if shard.frame > journal.next_index:
            shard.pages.close()
            raise JournalBehind(
                f"{journal.folder}: the journal ends before frame {journal.next_index}, but snapshot {snapshot.name}, "
                f"which is whole, contains the frames before {shard.frame}"
            )
        return shard

    damaged: tuple[str, ...] = ()
    shard: State | None = None
    try:
        shard, damaged = use_newest(folder.snapshots, of_snapshot, writable)
    except DamagedFile as trouble:
        if journal.first_index or not journal.next_index:
            raise
        damaged = (str(trouble),)  # the journal has everything from the first frame on
        for name in names(folder.snapshots) if writable else ():
            set_aside(folder.snapshots, name)
    if shard is None:
        if journal.first_index:
            raise DamagedFile(
                f"{folder.snapshots}: all snapshots are missing, and the journal begins with frame "
                f"{journal.first_index}"
            )
        pages = KnownPages.open(folder.state, {}, writable)
        shard = make(settings, journal, pages, new_ledger(settings, pages.rows))
        shard.chain = folder.identity
    troubles = (folder.trouble,) if folder.trouble else ()
    return Assembled(shard, journal, (*troubles, *journal.troubles, *damaged))


def restored(
    snapshot: Snapshot,
    state: Path,
    make: Callable[[CrawlSettings, KnownPages, PageLedger], State],
    *,
    writable: bool,
) -> State:
    """The shard as of a snapshot, whose append-only files are in the folder `state`; `make` builds the object."""
    pages = KnownPages.open(state, _part(snapshot, "pages"), writable)
    kept = decode_settings(snapshot.facts["settings"], where=str(state.parent))
    shard = make(kept, pages, _ledger(kept, pages.rows, snapshot))
    _restore(shard, snapshot)
    return shard


def _make(
    make: Callable[[CrawlSettings, Journal, KnownPages, PageLedger], State],
    journal: Journal,
    settings: CrawlSettings,
    pages: KnownPages,
    ledger: PageLedger,
) -> State:
    return make(settings, journal, pages, ledger)


def must_reach_back(name: str, facts: Mapping[str, Any], journal: Journal) -> None:
    """Raises DamagedFile unless the journal has the frames after a snapshot from the first one on."""
    frame = int(facts["frame"])
    if frame < journal.first_index:
        raise DamagedFile(
            f"{journal.folder}: the journal begins with frame {journal.first_index}, but snapshot {name} needs the "
            f"frames from {frame} on"
        )


def new_ledger(settings: CrawlSettings, rows: DiskRows | None) -> PageLedger:
    """The ledger that a new crawl begins with."""
    ledger: PageLedger = ExactLedger(damping=settings.damping, rows=rows)
    if settings.partitions > 1:
        ledger = PartialLedger(damping=settings.damping, rows=rows)
    elif settings.ledger != "exact":
        ledger = OpicLedger(damping=settings.damping, window=WINDOWS[settings.ledger])
    for number, rule in enumerate(settings.focus_rules(), 1):
        ledger.set_focus(number, rule.weight)
    return ledger


def _ledger(settings: CrawlSettings, rows: DiskRows, snapshot: Snapshot) -> PageLedger:
    facts, arrays = snapshot.facts["ledger"], _part(snapshot, "ledger")
    if settings.partitions > 1:
        return PartialLedger.from_state(facts, arrays, rows)
    if settings.ledger == "exact":
        return ExactLedger.from_state(facts, arrays, rows)
    return OpicLedger.from_state(facts, arrays)


def _restore(shard: ShardState, snapshot: Snapshot) -> None:
    facts, arrays = snapshot.facts, snapshot.arrays
    shard.frame, shard.chain = facts["frame"], facts["chain"]
    shard.hosts = Hosts.from_state(arrays["hosts"].tobytes())
    shard.placement = Placement.from_state({name: (facts[name], _part(snapshot, name)) for name in PLACES})
    if "frontier_standings" not in arrays:  # written by a version without standings and domains
        shard.placement.frontier.set_standings([standing_of(host) for host in shard.hosts.all])
        join_domains(shard.hosts, shard.placement.frontier, HostId(0))
    shard.refreshing = Refreshing.from_state(facts["refreshing"], _part(snapshot, "refreshing"), shard.refreshing)
    shard.requests = Requests.from_state(arrays["requests"].tobytes())
    shard.requisites = Requisites.from_state(facts.get("requisites", {}), _part(snapshot, "requisites"))
    shard.limits.restore(msgspec.msgpack.decode(arrays["limits"].tobytes(), strict=False))
    shard.refusals = Refusals.from_state(facts.get("refusals", {}), _part(snapshot, "refusals"))
    if shard.transfers is not None:
        shard.transfers.restore(arrays["channels"].tobytes(), arrays["transfers_fingerprints"])
    shard.set_counters(facts["counters"])
    if shard.settings.want is not None:
        shard.interest = Interest(want_of(shard.settings.want), shard.settings.damping, _part(snapshot, "interest"))
    if shard.link_kinds is not None:
        shard.link_kinds.restore(_part(snapshot, "link_kinds"))


def _part(snapshot: Snapshot, name: str) -> dict[str, npt.NDArray[Any]]:
    return {
        title.removeprefix(f"{name}_"): array
        for title, array in snapshot.arrays.items()
        if title.startswith(f"{name}_")
    }
