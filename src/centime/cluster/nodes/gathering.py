"""Copies the folder of a partition from its node, for reports on another machine: only what differs, as to a replica.

    python -m centime.cluster.nodes.gathering SOCKET        sends a folder to the process at the other end

Stored bodies are sent on request: new bytes of archive files, and pages with all their versions that were seen since
the last time. The folder may be in use. Then a snapshot can replace another while it is sent; the receiver repeats the
request until only the end of the journal differs.
"""

import fcntl
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from centime.cluster.folder import is_cluster, partition_folders, read_about
from centime.cluster.nodes.line import ask_node
from centime.cluster.nodes.said import List, Listing, Send, pack
from centime.cluster.nodes.token import call, read_token
from centime.cluster.replicas.bodies import BODIES, VERSIONS, ArchiveFiles
from centime.cluster.replicas.keeper import Keeper
from centime.cluster.replicas.lacking import BEHIND
from centime.cluster.replicas.replica import Shipper
from centime.cluster.replicas.said import Body, Copied, Dropped, Has, Look, Rows, Tail, ToKeeper
from centime.model.errors import BadInput, CentimeError
from centime.processes.channel import MessageSocket
from centime.processes.parent import die_with_parent
from centime.store.folder import is_crawl
from centime.store.versions.change_log import last_seen, seen_since

ATTEMPTS = 5
CALL_SECONDS = 10.0
GATHERING = ".gathering"
INCARNATION = 1  # of all gathered folders: no other process writes there
_unpack = msgspec.msgpack.Decoder(ToKeeper).decode


class Wanted(msgspec.Struct, array_like=True, frozen=True):
    """The first message: which folder to send, and which parts of it."""

    folder: str
    bodies: bool = False
    seen: float = 0.0  # send versions of pages that were seen since


def gather(address: str, token: bytes, folder: str, partition: int, to: Path, *, bodies: bool = False) -> int:
    """Makes `to/NN` the same as the folder of a partition on a node; returns the bytes that were sent."""
    keeper, received = Keeper(to), 0
    for attempt in range(ATTEMPTS):
        with call(address, token, CALL_SECONDS) as connection:
            line = MessageSocket(connection)
            line.say(pack(Send()))
            has = keeper.take(Look(partition, INCARNATION))
            assert isinstance(has, Has)
            seen = last_seen(to / f"{partition:02}" / VERSIONS) if bodies else 0.0
            line.say(msgspec.msgpack.encode(Wanted(folder, bodies and not attempt, seen)))
            line.say(msgspec.msgpack.encode(has))
            copied = 0
            while True:
                try:
                    messages = line.exchange(CALL_SECONDS)
                except EOFError as ended:
                    raise CentimeError(f"{address}: the folder {folder} cannot be sent; does it exist?") from ended
                for packed in messages:
                    message = _unpack(packed)
                    if isinstance(message, Tail):
                        break
                    keeper.take(message)
                    copied += isinstance(message, Copied) and not message.name.startswith("journal/")
                    received += len(packed)
                else:
                    continue
                break
        if attempt and not copied:
            break
    (to / f"{partition:02}" / BEHIND).unlink(missing_ok=True)
    return received


def gather_all(path: Path, token: bytes, step: Callable[[float, str], None], *, bodies: bool = False) -> int:
    """Copies all partitions of a crawl on nodes into its folder here; returns the bytes that were sent."""
    about = read_about(path)
    if not about.homes:
        raise BadInput(f"{path}: its partitions are here already")
    (path / "partitions").mkdir(exist_ok=True, mode=0o700)
    sent = 0
    for partition, home in enumerate(about.homes):
        step(1 / len(about.homes), f"partition {partition:02} from {home}")
        listing = ask_node(home, token, List())
        assert isinstance(listing, Listing)
        folder = next(node.folder for node in listing.nodes if node.address == home)
        from_there = f"{folder}/{about.id}/partitions/{partition:02}"
        sent += gather(home, token, from_there, partition, path / "partitions", bodies=bodies)
    return sent


def bring_here(path: Path) -> str:
    """Brings the copies of partitions that are on nodes up to date, for a report; returns a sentence if that fails and
    older copies are shown instead. BadInput if there are none.
    """
    if not is_cluster(path) or not read_about(path).homes:
        return ""
    about = read_about(path)
    begun = any(is_crawl(folder) for folder in partition_folders(path))
    try:
        token = read_token(Path(about.token_file) if about.token_file else None)
        with _alone(path):
            gather_all(path, token, lambda share, what: None)
    except (CentimeError, OSError) as trouble:
        if not begun:
            raise BadInput(
                f"{path}: its partitions are on other machines, and cannot be copied from there: {trouble}"
            ) from trouble
        return f"its partitions are on other machines, and are shown as they were copied last: {trouble}"
    return ""


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """A lock: one process at a time writes copies."""
    with (path / GATHERING).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main(number: int | None = None) -> None:
    """Sends a folder: the first message names the requested parts, the second one the files of the receiver."""
    die_with_parent()
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_IGN)
    line = MessageSocket(socket.socket(fileno=int(sys.argv[1]) if number is None else number))
    with suppress(EOFError, OSError, ValueError):
        wanted = msgspec.msgpack.decode(line.first(), type=Wanted)
        has = msgspec.msgpack.decode(line.first(), type=Has)
        for part in _parts(wanted, has):
            line.say(msgspec.msgpack.encode(part))
            while line.unsent > 1 << 22:
                line.wait(1.0)
                line.flush()
        while line.unsent:
            line.wait(1.0)
            line.flush()


def _parts(wanted: Wanted, has: Has) -> Iterator[ToKeeper]:
    """All files and parts that the receiver lacks; the end of the journal is the last."""
    folder, ids = Path(wanted.folder), (has.partition, has.incarnation)
    *parts, tail = Shipper(folder, *ids).differences(has, 1)
    yield from parts
    if wanted.bodies:
        files = ArchiveFiles(folder / BODIES, has.bodies)
        while (found := files.next()) is not None:
            name, at, data = found
            yield Body(*ids, 0, name, at, data)
        yield Dropped(*ids, files.gone())
        for rows in seen_since(folder / VERSIONS, wanted.seen):
            yield Rows(*ids, 0, rows)
    yield tail


if __name__ == "__main__":
    main()
