"""The state of the processes of a cluster, for people: written by the coordinator while it runs, read by the window.

    DIR/status.json     the last status; the run that wrote it may be over

It is not part of the state: what partitions know and owe is read from their own folders.
"""

from contextlib import suppress
from pathlib import Path

import msgspec

from centime.files.replacement import replace_file
from centime.model.errors import NoRoom

FILE = "status.json"


class PartitionStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One partition: its node, the state of its process, and how often another process took over in this run."""

    partition: int
    node: str  # its number on this machine, or its address
    state: str  # starting, running, frozen, lost or ended
    process: int
    incarnation: int
    taken_over: int
    taken_over_at: float = 0.0  # when that was last
    why: str = ""  # and why, in words
    replica: str = ""  # the node that keeps its replica, or that is to
    lacks_bodies: bool = False  # the replica does not have all stored bodies yet


class ClusterStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a cluster at one moment."""

    time: float
    partitions: list[PartitionStatus]
    between_nodes: dict[str, int] = {}  # bytes, of batches, tails and copies (`hub.py`)


def write_status(folder: Path, status: ClusterStatus) -> None:
    """Replaces the status; ignores errors."""
    with suppress(OSError, NoRoom):
        replace_file(folder / FILE, msgspec.json.encode(status), durable=False)


def read_status(folder: Path) -> ClusterStatus | None:
    """The last status; None if there is none, or a damaged one."""
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=ClusterStatus)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
