"""Verifies a crawl in partitions: each partition like any crawl, then the channels between them.

    a channel   its receiver has applied no batch that its sender has not closed; the sender still has every batch that
                was not applied; where both have the same number, the chain and the sums of all entries are the same

While a crawl runs, its partitions are read at different moments: a receiver may be ahead then, and only what is of the
same number is compared.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from centime.cluster.folder import is_cluster, partition_folders
from centime.cluster.nodes.gathering import bring_here
from centime.cluster.opening import missing_partitions
from centime.crawl.check.check import check_crawl
from centime.crawl.check.findings import Findings
from centime.crawl.engine.reader import read_crawl
from centime.model.errors import CentimeError, InUse
from centime.shard.transfers.exchanging import transfers_of
from centime.shard.transfers.transfers import Transfers
from centime.store.folder import is_crawl
from centime.store.lock import lock_file, unlock_file

Step = Callable[[float, str], None]


def check_any(path: Path, step: Step = lambda done, what: None) -> Findings:
    """Verifies a crawl, plain or in partitions; returns the findings."""
    if not is_cluster(path):
        return check_crawl(path, step)
    findings = Findings()
    if old := bring_here(path):
        findings.notes.append(old)
    folders = partition_folders(path)
    begun = [folder for folder in folders if is_crawl(folder)]
    share = 0.9 / len(folders)
    for folder in begun:
        found = check_crawl(folder, partial(_step_of, step, share, folder.name))
        findings.notes += [f"partition {folder.name}: {note}" for note in found.notes]
        findings.problems += found.problems
        findings.proven += [one | {"part": f"{folder.name} {one['part']}"} for one in found.proven]
    missing = missing_partitions(path)
    for number in missing:
        findings.wrong("partitions", f"partition {number} is missing, and all its pages with it", folders[number])
    if len(begun) + len(missing) < len(folders):
        findings.notes.append(f"{len(folders) - len(begun) - len(missing)} partitions were never opened")
    if not findings.problems:
        step(0.1, "channels between partitions")
        _check_channels(begun, findings, running=_is_running(path))
    return findings


def _step_of(step: Step, share: float, name: str, done: float, what: str) -> None:
    step(done * share, f"partition {name}: {what}")


def _check_channels(folders: list[Path], findings: Findings, *, running: bool) -> None:
    readers = []
    try:
        for folder in folders:
            readers.append(read_crawl(folder))
        ends = {transfers_of(one.shard).partition: transfers_of(one.shard) for one in readers}
        before, count = len(findings.problems), 0
        for sender, theirs in ends.items():
            for receiver in theirs.outgoing.keys() & ends.keys():
                count += 1
                if wrong := _trouble(theirs, ends[receiver], running=running):
                    findings.wrong("channels", f"from partition {sender} to {receiver}: {wrong}")
        findings.holds("channels", "both ends agree on the money sent, to the last unit", count, before)
    except CentimeError as trouble:
        findings.caught("channels", trouble)
    finally:
        for reader in readers:
            reader.close()


def _trouble(sender: Transfers, receiver: Transfers, *, running: bool) -> str:
    """What is wrong with a channel, in words; empty if nothing is."""
    out, back = sender.outgoing[receiver.partition], receiver.incoming.get(sender.partition)
    applied = 0 if back is None else back.number
    if running and applied > out.number:
        return ""
    if applied > out.number:
        return f"batch {applied} was applied, but only {out.number} were closed"
    if applied < out.number - len(out.outbox):
        return f"batches {applied + 1} to {out.number - len(out.outbox)} are neither applied nor kept"
    if back is not None and applied == out.number:
        mine, theirs = (out.chain, out.absolute, out.signed), (back.chain, back.absolute, back.signed)
        if mine != theirs:
            return f"after batch {applied} the sender has sent {mine}, and the receiver has applied {theirs}"
    return ""


def _is_running(path: Path) -> bool:
    try:
        unlock_file(lock_file(path))
    except InUse:
        return True
    return False
