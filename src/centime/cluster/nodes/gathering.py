"""Copies the folder of a partition from its node, for reports on another machine: only what differs, as to a replica.

    python -m centime.cluster.nodes.gathering SOCKET        sends a folder to whoever is at the other end

The folder may be in use. Then a snapshot can replace another while it is sent; the receiver asks again until nothing
differs but the end of the journal.
"""

import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from centime.cluster.folder import read_about
from centime.cluster.keeper import Keeper
from centime.cluster.nodes.remote import ask_node
from centime.cluster.nodes.said import List, Listing, Send, pack
from centime.cluster.nodes.token import call
from centime.cluster.replica import Copied, Has, Look, Shipper, Tail, ToKeeper
from centime.model.errors import BadInput, CentimeError
from centime.processes.channel import MessageSocket
from centime.processes.parent import die_with_parent

ATTEMPTS = 5
CALL_SECONDS = 10.0
INCARNATION = 1  # of all that is gathered: nobody else writes there
_unpack = msgspec.msgpack.Decoder(ToKeeper).decode


def gather(address: str, token: bytes, folder: str, partition: int, to: Path) -> int:
    """Makes `to/NN` the same as the folder of a partition on a node; returns the bytes that were sent."""
    keeper, received = Keeper(to), 0
    for attempt in range(ATTEMPTS):
        with call(address, token, CALL_SECONDS) as connection:
            line = MessageSocket(connection)
            line.say(pack(Send()))
            line.say(folder.encode())
            has = keeper.take(Look(partition, INCARNATION))
            assert isinstance(has, Has)
            line.say(msgspec.msgpack.encode(has))
            copied = 0
            while True:
                try:
                    messages = line.exchange(CALL_SECONDS)
                except EOFError as ended:
                    raise CentimeError(f"{address}: the folder {folder} cannot be sent; is it there?") from ended
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
    return received


def gather_all(path: Path, token: bytes, step: Callable[[float, str], None]) -> int:
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
        sent += gather(home, token, from_there, partition, path / "partitions")
    return sent


def main(number: int | None = None) -> None:
    """Sends a folder: the first message is its path, the second one what the receiver has."""
    die_with_parent()
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_IGN)
    line = MessageSocket(socket.socket(fileno=int(sys.argv[1]) if number is None else number))
    with suppress(EOFError, OSError, ValueError):
        folder = Path(line.first().decode())
        has = msgspec.msgpack.decode(line.first(), type=Has)
        for part in Shipper(folder, has.partition, has.incarnation).differences(has, 1):
            line.say(msgspec.msgpack.encode(part))
            while line.unsent > 1 << 22:
                line.wait(1.0)
                line.flush()
        while line.unsent:
            line.wait(1.0)
            line.flush()


if __name__ == "__main__":
    main()
