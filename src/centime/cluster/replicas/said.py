"""Messages between a partition and the keeper of its replica (`replica.py`, `bodies.py`). Every message names the
partition and the incarnation of its process.
"""

from typing import NamedTuple

import msgspec

from centime.model.errors import CentimeError
from centime.store.versions.change_log import Position, VersionRows


class Fenced(CentimeError):
    """A younger incarnation of this partition exists."""


class Outdated(CentimeError):
    """The folder of a partition is older than its replica."""


class _Said(msgspec.Struct, array_like=True, frozen=True, gc=False):
    partition: int
    incarnation: int


class Look(_Said, frozen=True, tag="look"):
    """Asks for the files of the replica; from now on this incarnation represents the partition."""


class BodyFile(NamedTuple):
    """A file of the archive: its length, and checksums of its first and its last bytes. Such files only grow."""

    size: int
    first: int
    last: int


class Has(_Said, frozen=True, tag="has"):
    """The files of the replica: their lengths and checksums; the bodies that it has; and the incarnation to which it
    was last equal.
    """

    files: dict[str, tuple[int, int]]
    bodies: dict[str, BodyFile] = {}
    versions: Position | None = None
    equal: int = 0


class Copied(_Said, frozen=True, tag="copied"):
    """A part of a file; the file ends there, and takes effect with the next `Dropped`."""

    name: str
    at: int
    data: bytes


class Dropped(_Said, frozen=True, tag="dropped"):
    """Copied files replace the old ones, and the named files, which the partition does not have, are deleted."""

    names: list[str]


class Tail(_Said, frozen=True, tag="tail"):
    """New bytes of a segment of the journal; with them, the replica has all frames before `frames`."""

    name: str
    at: int
    data: bytes
    frames: int


class Stored(_Said, frozen=True, tag="stored"):
    """The replica has all frames before this one."""

    frames: int


class Refused(_Said, frozen=True, tag="refused"):
    """A younger incarnation exists."""


class Body(_Said, frozen=True, tag="body"):
    """A part of a file of the archive; the file ends there."""

    number: int
    name: str
    at: int
    data: bytes


class Rows(_Said, frozen=True, tag="rows"):
    """A part of the versions of pages."""

    number: int
    rows: VersionRows


class Kept(_Said, frozen=True, tag="kept"):
    """The replica has all parts of bodies up to this number."""

    number: int


class Whole(_Said, frozen=True, tag="whole"):
    """The replica has all bodies that were stored before the frames that it has."""


class IsWhole(_Said, frozen=True, tag="is whole"):
    """The replica has noted it."""


class Trouble(_Said, frozen=True, tag="trouble"):
    """The replica cannot be kept as it is, and why; the keeper ends."""

    error: str
    sentence: str


ToKeeper = Look | Copied | Dropped | Tail | Body | Rows | Whole
FromKeeper = Has | Stored | Refused | Kept | IsWhole | Trouble
