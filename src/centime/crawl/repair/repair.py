"""Repairs a damaged crawl: restores everything that can be restored exactly, then salvages all that can be proven.

    0. an entry that is not a file where a file should be is set aside (`place.py`), and counts as missing
    1. `centime.json`, its copy and the mark replace each other; single flipped bits of frames and of blocks are found
    2. if the crawl opens now, nothing is lost
    3. otherwise: the newest snapshot whose arrays are whole, without what damaged blocks of state files held
    4. the frames after it, as far as they follow each other
    5. of the frames behind a gap: commands, seeds, deliveries, and visits of pages that were known before the gap. Page
       numbers that were assigned after the gap depend on the lost frames
    6. a new snapshot, state files and a segment of the journal after it
    7. the archive of bodies, file by file (`archive.py`), and the versions of pages (`versions.py`)

A repair that is killed can be repeated. It works in `state.repaired/`; the new snapshot decides: before it is there,
nothing has changed, and from then on the next repair finishes the remaining steps. A full disk ends a repair like a
kill: it says nothing about damage.

Over 400 lines: the order of these steps is what makes a repair safe to repeat, so they are in one place.
"""

import shutil
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from centime.crawl.engine.assembly import JournalBehind, assemble, new_ledger, restored, shard_state
from centime.crawl.engine.reader import read_crawl
from centime.crawl.repair.archive import repair_archive
from centime.crawl.repair.journal import Usable, read_usable, restore_bits
from centime.crawl.repair.place import DAMAGED, REPAIRED, free_name, must_be_readable, rehearsed, set_aside
from centime.crawl.repair.report import Repaired
from centime.crawl.repair.state import DamagedState, Given
from centime.crawl.repair.surgery import (
    bury,
    forget_visits,
    rebuild_ledger,
    recount,
    renew_interest,
    renew_link_weights,
)
from centime.crawl.repair.versions import repair_versions
from centime.files.disk import make_folder, read_file, sync_folder
from centime.files.frame import frame_head
from centime.files.listing import list_files, list_folder, not_a_file
from centime.files.mark import Mark, create_mark, mark_trouble, read_mark
from centime.files.replacement import replace_file
from centime.model.errors import BadInput, CentimeError, DamagedFile, NoRoom, ScheduleBroken
from centime.settings.reading import decode_settings
from centime.shard import queueing
from centime.shard.filing import apply_visits
from centime.shard.fold import FRAMES, bound, fold
from centime.shard.host_table import Hosts
from centime.shard.joining import take_seeded
from centime.shard.message import Bounded, Commanded, Configured, Delivered, Returned, Seeded, Visits, unpack_visit
from centime.shard.pages import KnownPages
from centime.shard.people.command import decode_command
from centime.shard.people.commands import carry_out
from centime.shard.placement import EVERY_LEVEL
from centime.shard.state import ShardState
from centime.store import snapshot as snapshots
from centime.store.archives.archive import complete_open_files
from centime.store.folder import FORMAT, About, CrawlFolder, read_about, refuse_newer, said_of
from centime.store.journal import HEAD, HEAD_BYTES, SEGMENTS, Head, Journal, mark_path, packed_head
from centime.store.lock import LOCK
from centime.store.places import misplaced, misplaced_bodies

SETTLED_ERROR = 1e-6
NOT_LEASED = np.zeros(1, dtype=np.bool_)


def repair_crawl(path: Path, *, dry_run: bool = False) -> Repaired:
    """Repairs the crawl in a folder; with `dry_run` only a copy of it, which is removed."""
    _must_be_known(path)
    must_be_readable(path)
    if not dry_run:
        return _repair(path)
    report = rehearsed(path, _repair)
    repair_archive(path / "bodies", path / DAMAGED, report, write=False)
    repair_versions(path / "versions", path / DAMAGED, report, partial(_known_urls, path), write=False)
    return report


def _known_urls(path: Path) -> Iterator[str]:
    """All URLs that the crawl knows; none if its state cannot be read."""
    with suppress(CentimeError, OSError), closing(read_crawl(path)) as reader:
        yield from reader.shard.pages.texts.every()


def _must_be_known(path: Path) -> None:
    """Refuses a crawl of another format, before anything is done to it."""
    about = said_of(path)
    if about is None:
        return  # both descriptions are lost
    refuse_newer(path, about)
    if about.format < FORMAT:
        raise BadInput(f"{path}: this crawl has format {about.format}; upgrade it first: centime upgrade {path}")


def _repair(path: Path) -> Repaired:
    report = Repaired()
    set_aside(path, {path / LOCK: not_a_file(path / LOCK)}, report)
    folder = CrawlFolder(path, 0.0, {}, 0)
    folder.lock()
    try:
        set_aside(path, misplaced(path), report)
        set_aside(path, misplaced_bodies(folder.bodies), report)
        about = _about(path, report)
        folder.created, folder.settings, folder.identity = about.created, about.settings, about.identity
        folder.trouble = about.trouble
        for part in (folder.journal, folder.snapshots, folder.state, folder.bodies):
            make_folder(part)
        if folder.trouble:
            report.restored.append(folder.trouble)
            folder.keep_settings(folder.settings)
        _restore_exactly(folder, report)
        if trouble := _trouble(folder, report):
            _salvage(folder, report)
            if not report.changed:
                report.restored.append(f"{trouble}; a snapshot has everything that was confirmed")
        report.lost += [one.loss for one in complete_open_files(folder.bodies) if one.loss]
        repair_archive(folder.bodies, folder.path / DAMAGED, report)
        repair_versions(folder.versions, folder.path / DAMAGED, report, partial(_known_urls, path))
        return report
    finally:
        folder.close()


# ---- what can be restored exactly


def _about(path: Path, report: Repaired) -> About:
    """The description of the folder; if both copies are lost, or of another crawl, one that follows from the journal
    and a snapshot.
    """
    with suppress(DamagedFile):
        about = read_about(path)
        if _identity(path) in (0, about.identity):
            return about
    return _derived(path, report)


def _identity(path: Path) -> int:
    """The identity of the crawl by its mark and its journal; 0 if they disagree, or if both are lost."""
    mark = read_mark(mark_path(path / "journal"))
    found = {mark.identity} if mark else set()
    for segment in list_files(path / "journal", SEGMENTS):
        head = read_file(segment)[:HEAD_BYTES]
        if len(head) == HEAD_BYTES:
            found.add(int(HEAD.unpack_from(head)[3]))
    return found.pop() if len(found) == 1 else 0


def _derived(path: Path, report: Repaired) -> About:
    identity = _identity(path)
    for name in reversed(snapshots.names(path / "snapshots")):
        with suppress(CentimeError, OSError):
            facts, _ = snapshots.read_snapshot(path / "snapshots" / name)
            report.restored.append(f"{path / 'centime.json'}: from snapshot {name}")
            about = About(FORMAT, {}, float(facts.get("created", 0.0)), facts["settings"], identity)
            return replace(about, trouble=f"{path / 'centime.json'} and its copy were damaged, or of another crawl")
    raise DamagedFile(f"{path}: centime.json, its copy and all snapshots are damaged; nothing says what this crawl is")


def _restore_exactly(folder: CrawlFolder, report: Repaired) -> None:
    _finish_earlier(folder)
    restore_bits(folder.journal, folder.identity, report)
    mark = mark_path(folder.journal)
    if trouble := mark_trouble(mark):
        known = read_mark(mark)
        if known is not None and known.identity == folder.identity:
            create_mark(mark, known)
            report.restored.append(f"{mark}: {trouble}; the other one was used")
    for name in snapshots.names(folder.snapshots):
        try:
            _, arrays = snapshots.read_snapshot(folder.snapshots / name)
            state = DamagedState(folder.state, arrays)
        except (CentimeError, OSError):
            continue
        for file in state.files.values():
            if file.damaged and file.path.is_file():
                file.restore_bits(report)
                if not file.damaged:
                    file.restore(file.path)


def _finish_earlier(folder: CrawlFolder) -> None:
    """Finishes a repair that was interrupted after it wrote its snapshot; removes the files of one that was interrupted
    earlier."""
    repaired = folder.path / REPAIRED
    if not repaired.is_dir():
        return
    name = snapshots.newest_name(folder.snapshots)
    finished: dict[str, Any] = {}
    with suppress(CentimeError, OSError):
        facts, arrays = snapshots.read_snapshot(folder.snapshots / name)
        if facts.get("repaired") and not DamagedState(repaired, arrays).is_damaged:
            finished = facts
    if finished:
        _put_in_place(folder, int(finished["frame"]), int(finished["chain"]))
    else:
        shutil.rmtree(repaired)


def _trouble(folder: CrawlFolder, report: Repaired) -> str:
    """Why the crawl cannot be opened and replayed now; empty if it can, and then it is whole."""
    try:
        settings = decode_settings(folder.settings, where=str(folder.path))
        assembled = assemble(
            folder, settings, lambda kept, _, pages, ledger: ShardState(kept, pages, ledger), writable=False
        )
        shard = assembled.shard
        start = shard.frame
        for _, kind, payload in assembled.journal.frames(start, shard.chain):
            fold(shard, kind, payload)
        shard.pages.close()
    except JournalBehind as trouble:
        report.restored.append(f"{trouble}; the snapshot is used")
        report.lost.append("frames after the newest snapshot, if there were any: nothing proves that there were none")
        return str(trouble)
    except (CentimeError, OSError, ValueError, LookupError) as trouble:
        return str(trouble) or type(trouble).__name__
    set_aside = [name for name in snapshots.names(folder.snapshots) if not _is_whole(folder, name)]
    for name in set_aside:
        snapshots.set_aside(folder.snapshots, name)
        report.restored.append(
            f"{folder.snapshots / name}: set aside; another snapshot and the journal have its content"
        )
    for name, facts in snapshots.facts_of_all(folder.snapshots).items():
        if int(facts["frame"]) < assembled.journal.first_index:
            snapshots.set_aside(folder.snapshots, name)
            report.restored.append(
                f"{folder.snapshots / name}: set aside; frames after it are missing, a newer one is used"
            )
    _drop_damaged_past(folder, assembled.journal, start, report)
    if read_mark(mark_path(folder.journal)) is None:
        journal = assembled.journal
        create_mark(
            mark_path(folder.journal),
            Mark(folder.identity, 0, journal.last_segment, journal.next_index, journal.chain),
        )
        report.lost.append(f"{mark_path(folder.journal)}: nothing proves that the journal had no later frames")
    return ""


def _drop_damaged_past(folder: CrawlFolder, journal: Journal, start: int, report: Repaired) -> None:
    """Moves away damaged segments with only frames before the snapshot in use, and older snapshots that need them."""
    try:
        for _ in journal.frames(journal.first_index):
            pass
    except CentimeError as trouble:
        for name, facts in snapshots.facts_of_all(folder.snapshots).items():
            if int(facts["frame"]) < start:
                snapshots.set_aside(folder.snapshots, name)
        damaged = folder.path / DAMAGED
        damaged.mkdir(exist_ok=True)
        for path in journal.segments_before(start):
            path.replace(free_name(damaged / path.name))
        sync_folder(folder.journal)
        report.restored.append(f"{trouble}; set aside, because a snapshot contains all frames before frame {start}")


def _is_whole(folder: CrawlFolder, name: str) -> bool:
    try:
        _, arrays = snapshots.read_snapshot(folder.snapshots / name)
    except (CentimeError, OSError):
        return False
    return not DamagedState(folder.state, arrays).is_damaged


# ---- what can be proven


def _salvage(folder: CrawlFolder, report: Repaired) -> None:
    base, given = _base(folder, report)
    start, chain = (int(base.facts["frame"]), int(base.facts["chain"])) if base else (0, folder.identity)
    usable = read_usable(folder.journal, folder.identity, start, chain)
    shard, now = _proven(folder, base, given, usable, report)
    known = shard.pages.count
    confirmed = read_mark(mark_path(folder.journal))
    end = max(usable.end, confirmed.frame if confirmed and confirmed.identity == folder.identity else 0)
    try:
        queueing.take_back(shard, Returned(now, [], all=True))
    except ScheduleBroken as trouble:
        raise DamagedFile(
            f"{folder.path}: pages that were being fetched have lost both their URL and their host ({trouble})"
        ) from trouble
    applied = sum(_apply(shard, kind, payload, known, report) for _, kind, payload in usable.behind)
    report.frames_lost = max(0, end - shard.frame - applied)
    report.frames_unreadable = max(0, end - shard.frame - len(usable.behind))
    report.bytes_lost += usable.bytes_lost
    if end > shard.frame:
        report.lost.append(
            f"{report.frames_lost} frames of the journal after frame {shard.frame - 1}; {applied} frames behind "
            f"the first lost one were applied, with {report.visits_salvaged} visits"
        )
    if report.frames_unreadable:
        report.lost.append(
            f"at least {report.visits_lost} visits: {report.frames_unreadable} of the lost frames cannot be read, and "
            "how many visits they had is not known; pages without a visit are fetched again"
        )
    elif report.visits_lost:
        report.lost.append(f"{report.visits_lost} visits; their pages are fetched again")
    recount(shard)
    renew_interest(shard)
    renew_link_weights(shard)
    shard.frame, shard.chain = max(end, shard.frame), usable.chain
    shard.pages.sync()
    facts, arrays = shard_state(shard)
    shard.pages.close()
    snapshots.write_snapshot(folder.snapshots, {**facts, "repaired": True}, arrays)
    _put_in_place(folder, shard.frame, shard.chain)


def _base(folder: CrawlFolder, report: Repaired) -> tuple[snapshots.Snapshot | None, Given]:
    """The newest snapshot whose arrays are whole, with its state files without their damaged parts, in the folder
    `REPAIRED`.
    """
    repaired = folder.path / REPAIRED
    for name in reversed(snapshots.names(folder.snapshots)):
        try:
            facts, arrays = snapshots.read_snapshot(folder.snapshots / name)
        except (CentimeError, OSError):
            report.lost.append(f"{folder.snapshots / name}: damaged")
            continue
        state = DamagedState(folder.state, arrays)
        given = Given()
        if state.is_damaged:
            hosts = Hosts.from_state(arrays["hosts"].tobytes())
            given = state.give_up(hosts, decode_settings(facts["settings"], where=str(folder.path)), report)
            counters = facts["counters"]
            counters["refreshed_until"] = state.moved_records.get(counters["refreshed_until"], 0)
        state.write(repaired)
        return snapshots.Snapshot(name, facts, state.arrays), given
    if not (folder.journal / f"{1:06}.log").is_file():
        raise DamagedFile(
            f"{folder.path}: all snapshots are damaged and the journal does not begin with its first frame; "
            "what is left of the URLs is in state/texts.bin"
        )
    make_folder(repaired)
    return None, Given()


def _proven(
    folder: CrawlFolder, base: snapshots.Snapshot | None, given: Given, usable: Usable, report: Repaired
) -> tuple[ShardState, float]:
    """The shard after all frames that follow the base without a gap and have the same result as originally, and the
    time of the last of them.
    """
    backup = folder.path / f"{REPAIRED}.base"
    shutil.rmtree(backup, ignore_errors=True)
    shutil.copytree(folder.path / REPAIRED, backup)
    while True:
        shard = _shard(folder, base)
        now = shard.refreshing.book.began
        try:
            for _, kind, payload in usable.frames:
                fold(shard, kind, payload)
                now = _time_of(kind, payload, now)
        except NoRoom:
            raise  # this says nothing about the frame
        except (CentimeError, ValueError, LookupError):
            # without the parts that were given up, this frame has another result than originally
            place = shard.frame - (int(base.facts["frame"]) if base else 0)
            usable.behind[:0] = usable.frames[place:]
            del usable.frames[place:]
            usable.chain = _chain_after(folder, base, usable)
            shard.pages.close()
            shutil.rmtree(folder.path / REPAIRED)
            shutil.copytree(backup, folder.path / REPAIRED)
            continue
        shutil.rmtree(backup)
        _take_out(shard, given, now, report)
        return shard, now


def _shard(folder: CrawlFolder, base: snapshots.Snapshot | None) -> ShardState:
    if base is not None:
        return restored(base, folder.path / REPAIRED, ShardState, writable=True)
    settings = decode_settings(folder.settings, where=str(folder.path))
    pages = KnownPages.open(folder.path / REPAIRED, {}, writable=True)
    return ShardState(settings, pages, new_ledger(settings, pages.rows))


def _chain_after(folder: CrawlFolder, base: snapshots.Snapshot | None, usable: Usable) -> int:
    chain = int(base.facts["chain"]) if base else folder.identity
    for index, kind, payload in usable.frames:
        chain = frame_head(kind, index, payload, chain)[1]
    return chain


def _take_out(shard: ShardState, given: Given, now: float, report: Repaired) -> None:
    """Removes from the shard what was given up, unless a later frame has restored it."""
    records = [page for page in given.records if not shard.pages.records.record_at[page]]
    rows = [page for page in given.rows if not len(shard.pages.rows.gather(np.array([page])).targets)]
    if given.rows:
        rebuild_ledger(shard, rows, SETTLED_ERROR)
        report.lost.append(f"the links of {len(rows)} pages, until they are read again")
    if records or given.texts:
        report.visits_lost += forget_visits(shard, records, now)
    for page in given.texts:
        bury(shard, page, now)
    report.pages_lost = len(given.texts)
    if given.texts:
        report.lost.append(f"the URLs of {len(given.texts)} pages")


def _time_of(kind: int, payload: bytes, before: float) -> float:
    """The time of a frame, if it has one."""
    return float(getattr(msgspec.msgpack.decode(payload, type=FRAMES[kind]), "now", before))


def _apply(shard: ShardState, kind: int, payload: bytes, known: int, report: Repaired) -> bool:
    """Applies a frame from behind a gap, as far as it does not depend on what is lost; returns whether it did."""
    try:
        frame = msgspec.msgpack.decode(payload, type=FRAMES[kind])
        match frame:
            case Visits():
                return _apply_visits(shard, frame, known, report)
            case Seeded():
                take_seeded(shard, frame)
            case Commanded():
                command = decode_command(frame.command)
                if command.id not in shard.requests.recent:
                    carry_out(shard, frame.now, command)
            case Configured():
                shard.apply_settings(decode_settings(msgspec.json.decode(frame.settings), where="the journal"))
            case Bounded():
                bound(shard, frame)
            case Delivered():
                shard.requests.subscriptions.delivered(frame.name, frame.up_to, frame.now)
        return True  # grants and returns are of leases that have ended, settlements are repeated
    except NoRoom:
        raise  # the frame is applied in part
    except (CentimeError, ValueError, LookupError):
        return False


def _apply_visits(shard: ShardState, frame: Visits, known: int, report: Repaired) -> bool:
    """Applies the visits of pages that were known before the gap."""
    visits = [unpack_visit(bytes(raw)) for raw in frame.visits]
    proven = [visit for visit in visits if visit.page < known]
    for visit in proven:
        shard.placement.withdraw(np.array([visit.page], dtype=np.int64), EVERY_LEVEL)
        apply_visits(shard, frame.now, [visit], NOT_LEASED)
    report.visits_salvaged += len(proven)
    report.visits_lost += len(visits) - len(proven)
    return bool(proven) or not visits


# ---- the new folder


def _put_in_place(folder: CrawlFolder, frame: int, chain: int) -> None:
    """Moves the repaired state files and a new segment of the journal to their places; can be repeated."""
    damaged = folder.path / DAMAGED
    make_folder(damaged)
    segments = list_files(folder.journal, SEGMENTS)
    number = max((int(path.stem) for path in segments), default=0) + 1
    for old in segments:
        old.replace(free_name(damaged / old.name))
    create_mark(mark_path(folder.journal), Mark(folder.identity, 0, number, frame, chain))
    replace_file(folder.journal / f"{number:06}.log", packed_head(number, Head(folder.identity, frame, chain)))
    for name in snapshots.names(folder.snapshots)[:-1]:
        snapshots.set_aside(folder.snapshots, name)
    for path in list_folder(folder.snapshots, "*.damaged"):
        path.replace(free_name(damaged / path.name))
    repaired = folder.path / REPAIRED
    if folder.state.exists():
        folder.state.replace(free_name(damaged / "state"))
    repaired.replace(folder.state)
    sync_folder(folder.path)
