"""The folder of a crawl that is divided into partitions.

    cluster.json      how many partitions there are, what they share, and the options that some may not have yet
    lock              held by the process that runs the partitions
    partitions/00     the crawl folder of each partition (`store/folder.py`)
    replicas/00       its replica, which a process of another node keeps (`replica.py`)

Options of a run are in `cluster.json` until all partitions have them, so that if a run is killed in between, the next
one gives them to the others.
"""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta, structs

from centime.files.disk import make_folder, read_file
from centime.files.listing import list_folder
from centime.files.replacement import replace_file
from centime.model.errors import BadInput, BadSetting, DamagedFile, NewFormat
from centime.settings.reading import NONE
from centime.store.folder import CLUSTER, is_crawl
from centime.store.lock import LOCK, lock_file, unlock_file

FORMAT = 1
PARTITIONS = "partitions"
MOST_PARTITIONS = 4_096
MOST_NODES = 256
USUAL_CLUSTER = "local:2"
RESTORE = "restore it from a backup, or, if its nodes are on other machines, with centime cluster recover"
LEAST = {"most-pages": 1, "most-memory": 1 << 20, "workers": 1}  # the least value of divided options for each partition
DIVIDED = ("rate", "bandwidth", "fill-rate", *LEAST)


class About(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `cluster.json`."""

    format: int = FORMAT
    version: int = 0  # of this file: raised whenever it is written
    partitions: Annotated[int, Meta(ge=2, le=MOST_PARTITIONS)]
    created: float
    id: str = ""  # names the crawl on the disks of other machines
    cluster: str = USUAL_CLUSTER  # where the partitions ran last
    token_file: str = ""  # with which they were reached there, if they are on other machines
    replicas: Annotated[int, Meta(ge=0, le=1)] = 0
    incarnations: list[Annotated[int, Meta(ge=0)]] = []
    totals: dict[str, float | None] = {}  # options that are divided among the partitions
    pending: dict[str, Any] = {}  # options that some partitions may not have yet
    seeds: list[str] = []  # the same
    homes: list[str] = []  # on other machines: the node that has the folder of each partition
    copies: list[str] = []  # and the one that has its replica


def nodes_of(cluster: str) -> int | None:
    """The number of nodes that `local:N` means; None for the address of a head; BadSetting if it is neither."""
    kind, _, number = cluster.rpartition(":")
    if kind == "local" and number.isdecimal() and 1 <= int(number) <= MOST_NODES:
        return int(number)
    if kind not in ("", "local") and number.isdecimal():
        return None
    raise BadSetting(
        f"cluster: give local:N, with N from 1 to {MOST_NODES} nodes on this machine, or ADDRESS:PORT of the head of a"
        f" cluster, not {cluster!r}"
    )


def is_cluster(path: Path) -> bool:
    """Whether this folder is a crawl in partitions."""
    return (path / CLUSTER).is_file()


def refuse_headless(path: Path) -> None:
    """BadInput if a folder has partitions, but not what describes them."""
    if not is_cluster(path) and any(is_crawl(folder) for folder in (path / PARTITIONS).glob("*")):
        raise BadInput(f"{path}: {CLUSTER} is missing, which describes what its partitions share; {RESTORE}")


def refuse_plain(path: Path) -> None:
    """BadInput if a folder is a crawl that is not divided."""
    if is_crawl(path):
        raise BadInput(f"{path}: this crawl is a single folder and cannot be divided; --cluster needs a new crawl")


def partition_folders(path: Path) -> list[Path]:
    """The crawl folders of all partitions, in their order; those that were never opened do not exist."""
    return [_folder(path, number) for number in range(read_about(path).partitions)]


def read_about(path: Path) -> About:
    """The content of `cluster.json`."""
    try:
        return decode_about(read_file(path / CLUSTER), path / CLUSTER)
    except FileNotFoundError as missing:
        raise BadInput(f"{path}: this is not a crawl in partitions (there is no {CLUSTER})") from missing


def decode_about(data: bytes, file: Path) -> About:
    """The content of the text of a `cluster.json`; `file` names it in errors."""
    try:
        about = msgspec.json.decode(data, type=About)
    except (msgspec.DecodeError, ValueError) as trouble:
        raise DamagedFile(f"{file}: damaged, or not written by Centime: {trouble}; {RESTORE}") from trouble
    if about.format > FORMAT:
        raise NewFormat(f"{file}: this cluster has format {about.format}; this version reads {FORMAT}")
    lists = about.incarnations, about.homes, about.copies
    if any(len(one) not in (0, about.partitions) for one in lists):
        raise DamagedFile(f"{file}: its lists are not of {about.partitions} partitions; {RESTORE}")
    return about


def encode_about(about: About) -> bytes:
    """The text of a `cluster.json`."""
    return msgspec.json.format(msgspec.json.encode(about), indent=1) + b"\n"


class Note(Protocol):
    """Takes a version of `cluster.json`; `at_once` says that something depends on it."""

    def __call__(self, version: int, data: bytes, *, at_once: bool) -> None:
        """Keeps it."""


class ClusterFolder:
    """The folder of a cluster, locked for this process."""

    def __init__(self, path: Path, about: About) -> None:
        self.path = path
        self.about = about
        self.note: Note = _nobody  # called with every version: other machines keep copies

    def folder_of(self, partition: int) -> Path:
        """The crawl folder of a partition."""
        return _folder(self.path, partition)

    def keep(self, **changes: Any) -> None:
        """Writes new values to `cluster.json`."""
        self.about = structs.replace(self.about, version=self.about.version + 1, **changes)
        data = encode_about(self.about)
        replace_file(self.path / CLUSTER, data)
        self.note(self.about.version, data, at_once="homes" in changes or "copies" in changes)

    def next_incarnation(self, partition: int) -> int:
        """A new number for a process of a partition, never used before; stored before it is returned."""
        incarnations = list(self.about.incarnations) or [0] * self.about.partitions
        incarnations[partition] += 1
        self.keep(incarnations=incarnations)
        return incarnations[partition]


def _nobody(version: int, data: bytes, *, at_once: bool) -> None:
    """Keeps no copy."""


@contextmanager
def open_cluster(path: Path, partitions: int | None, usual: int, now: float) -> Iterator[ClusterFolder]:
    """The cluster in a folder, locked; created, with `partitions` or the `usual` number of them, if there is none."""
    fresh = not is_cluster(path)
    if fresh and path.exists() and (not path.is_dir() or {entry.name for entry in list_folder(path)} - {LOCK}):
        raise BadInput(f"{path}: this folder is neither empty nor a crawl")
    if fresh:
        path.parent.mkdir(parents=True, exist_ok=True)
        make_folder(path)
    handle = lock_file(path)
    try:
        about = (
            About(id=secrets.token_hex(8), partitions=partitions or usual, created=now) if fresh else read_about(path)
        )
        if partitions not in (None, about.partitions):
            raise BadInput(
                f"{path}: this crawl has {about.partitions} partitions, which cannot change, not {partitions}"
            )
        folder = ClusterFolder(path, about)
        if fresh:
            make_folder(path / PARTITIONS)
            folder.keep()
        yield folder
    finally:
        unlock_file(handle)


def divided(given: Mapping[str, float | None], partitions: int) -> dict[str, Any]:
    """The part of each total that one of `partitions` partitions gets."""
    shares: dict[str, Any] = {}
    for name, total in given.items():
        share = NONE if total is None else total / partitions
        shares[name] = max(LEAST[name], int(share)) if name in LEAST and share != NONE else share
    return shares


def _folder(path: Path, partition: int) -> Path:
    return path / PARTITIONS / f"{partition:02}"
