"""The crawl folder: everything about a crawl, in one self-describing place.

    centime.json      formats of the folder and its parts, identity, time of creation, current settings
    centime.copy.json the same; if one of the two is damaged, the other one is used and the damaged one is replaced
    lock              held by the process that writes here; the system releases it when that process ends, in any way
    journal/          journal.py
    journal.mark      files/mark.py
    snapshots/        snapshot.py
    state/            texts, link rows, visit records: files that only grow
    bodies/           archive.py
    imported/         which imported bodies are in which files elsewhere: crawl/imports/elsewhere.py
    versions/         versions/database.py
    owner             ownership.py
    index/            the full-text index, derived: search/index_files.py
    figures.bin       figures over time, for people: figures.py
    orders.jsonl      the last commands, for people: crawl/commands/order_log.py
    hubs.json         the hubs that feeds announce, for the window: crawl/engine/hub_list.py
    scrapy/           the queue of a Scrapy project: scrapy/request_log.py
    truth.json        of a simulated web: the truth, for the window: crawl/report/truth.py

Only its owner can read the files here (`files/disk.py`): it may hold secrets of subscribers. Readers need no
lock: every file that they read is complete before it gets its name, or only grows.
"""

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xxhash import xxh3_64_hexdigest

from centime.files.disk import make_folder, read_file, sync_folder
from centime.files.listing import list_folder, not_a_file
from centime.files.presence import leads_to
from centime.files.replacement import replace_file
from centime.model.errors import BadInput, DamagedFile, FolderGone, NewFormat, OldFormat
from centime.store.journal import HEAD_BYTES, Journal
from centime.store.lock import LOCK, lock_file, unlock_file
from centime.store.ownership import OWNER, foreign, sign
from centime.store.places import misplaced

FORMAT = 3
PARTS = {"journal": 2, "snapshots": 2, "state": 1, "bodies": 1, "versions": 1, "commands": 2}  # the format of each part
ABOUT = "centime.json"
COPY = "centime.copy.json"
CLUSTER = "cluster.json"  # of a folder whose crawl is divided into partitions (cluster/folder.py)
MARK = "journal.mark"
SCRAPY = "scrapy"  # the queue of requests of a Scrapy project (scrapy/request_log.py)
BEGUN = (
    LOCK,
    OWNER,
    COPY,
    MARK,
    *(f".{name}" for name in (ABOUT, OWNER, COPY, MARK)),
)  # files that `create` makes before ABOUT
FIRST_FORMAT_WITH_COPY = 3


def is_crawl(path: Path) -> bool:
    """Whether this folder is a crawl."""
    return (path / ABOUT).is_file() or ((path / COPY).is_file() and not _is_unused(path))


def not_a_crawl(path: Path) -> str:
    """Why a folder is not one crawl, in words."""
    if (path / CLUSTER).is_file():
        return (
            f"{path}: this is a crawl in partitions, and this command takes one of them: {path / 'partitions' / '00'}"
        )
    return f"{path}: this is not a crawl (there is no {ABOUT})"


def _is_unused(path: Path) -> bool:
    """Whether a folder has only the files that `create` makes first (a process may have been killed then), and the
    queue of a Scrapy project.
    """
    return all(
        entry.name in (*BEGUN, SCRAPY)
        or (entry.name in PARTS and entry.is_dir() and all(map(_is_empty, list_folder(entry))))
        for entry in list_folder(path)
    )


def _is_empty(file: Path) -> bool:
    """Whether a file is one of a journal without frames."""
    return file.name in (f"{1:06}.log", f".{1:06}.log") and file.is_file() and file.stat().st_size <= HEAD_BYTES


@dataclass(frozen=True, slots=True)
class About:
    """The content of `centime.json`."""

    format: int
    parts: dict[str, int]
    created: float
    settings: dict[str, Any]
    identity: int = 0
    trouble: str = ""  # a sentence if one of the two files is damaged


def read_about(path: Path) -> About:
    """Reads `centime.json` of a crawl of any format, or its copy if it is damaged."""
    if not is_crawl(path):
        raise BadInput(not_a_crawl(path))
    if strange := misplaced(path):
        raise DamagedFile(next(iter(strange.values())))
    first, second = _read_about(path / ABOUT), _read_about(path / COPY)
    if isinstance(first, About) and (first.format < FIRST_FORMAT_WITH_COPY or isinstance(second, About)):
        return first
    good = first if isinstance(first, About) else second
    if not isinstance(good, About):
        raise DamagedFile(f"{first}; {second}")
    return replace(
        good, trouble=f"{second if good is first else first}; {'it' if good is first else 'its copy'} is used"
    )


def said_of(path: Path) -> About | None:
    """The content of `centime.json` or its copy, whatever else is in the folder; None if both are damaged."""
    found = (_read_about(path / name) for name in (ABOUT, COPY))
    return next((about for about in found if isinstance(about, About)), None)


def refuse_newer(path: Path, about: About) -> None:
    """NewFormat if a newer version made this crawl, or one of its parts."""
    newer = "made by a newer Centime; this version"
    if about.format > FORMAT:
        raise NewFormat(f"{path}: this crawl has format {about.format}, {newer} reads {FORMAT}")
    for part, number in about.parts.items():
        if number > PARTS.get(part, 0):
            known = f"reads {PARTS[part]}" if part in PARTS else "does not know this part"
            raise NewFormat(f"{path}: the part {part} of this crawl has format {number}, {newer} {known}")


def _read_about(file: Path) -> About | str:
    """The content of a file, or a sentence if it is damaged."""
    if trouble := not_a_file(file):
        return trouble
    try:
        about = json.loads(read_file(file))
        parts = {str(part): int(number) for part, number in dict(about.get("parts", {})).items()}
        format = int(about["format"])
        if format >= FIRST_FORMAT_WITH_COPY and about.pop("checksum", "") != _checksum(about):
            return f"{file}: damaged, or changed by hand (options of centime crawl, and centime set, change settings)"
        if format == FORMAT and any(parts.get(part, 0) < number for part, number in PARTS.items()):
            return f"{file}: damaged, or changed by hand: it does not say the format of every part"
        return About(format, parts, float(about["created"]), dict(about["settings"]), int(about.get("identity", 0)))
    except FileNotFoundError:
        return f"{file}: missing"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"{file}: damaged, or not written by Centime"


def _checksum(about: Mapping[str, Any]) -> str:
    return xxh3_64_hexdigest(json.dumps(about, sort_keys=True).encode())


class CrawlFolder:
    """The parts of one crawl on disk; made by `create` or `open`."""

    def __init__(self, path: Path, created: float, settings: dict[str, Any], identity: int) -> None:
        self.path = path
        self.created = created
        self.identity = identity
        self.trouble = ""  # a sentence if `centime.json` or its copy is damaged
        self.settings = settings
        self.journal = path / "journal"
        self.snapshots = path / "snapshots"
        self.state = path / "state"
        self.bodies = path / "bodies"
        self.imported = path / "imported"
        self.versions = path / "versions"
        self.index = path / "index"
        self.foreign = ""  # why it counts as a foreign folder, "" if it is this user's own
        self._lock = -1
        self._place = (0, 0)  # of the folder that was locked: device and inode

    @classmethod
    def create(cls, path: Path, created: float, settings: Mapping[str, Any]) -> "CrawlFolder":
        """Creates a crawl in a folder that is empty or does not exist yet, and locks it for this process."""
        if path.exists() and (not path.is_dir() or not _is_unused(path)):
            raise BadInput(
                f"{path}: {'this is a crawl already' if is_crawl(path) else 'this folder is neither empty nor a crawl'}"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        make_folder(path)
        folder = cls(path, created, dict(settings), secrets.randbits(63) | 1)
        folder.lock()
        with folder._unlocked_on_failure():
            for part in (folder.journal, folder.snapshots, folder.state, folder.bodies):
                make_folder(part)
            Journal.create(folder.journal, folder.identity)
            sign(path, folder.identity)
            sync_folder(path)
            folder.keep_settings(settings)
        return folder

    @classmethod
    def open(cls, path: Path, writable: bool) -> "CrawlFolder":
        """Opens the crawl in a folder, and locks it for this process if `writable`."""
        about = read_about(path)
        if about.format < FORMAT:
            raise OldFormat(
                f"{path}: this crawl has format {about.format}; centime upgrade {path} converts it to format {FORMAT}"
            )
        refuse_newer(path, about)
        folder = cls(path, about.created, about.settings, about.identity)
        folder.trouble = about.trouble
        if writable:
            folder.lock()
            with folder._unlocked_on_failure():
                for part in (folder.journal, folder.snapshots, folder.state, folder.bodies):
                    make_folder(part)
                folder.foreign = foreign(path, about.identity)
                if about.trouble:
                    folder.keep_settings(about.settings)
        return folder

    @contextmanager
    def _unlocked_on_failure(self) -> Iterator[None]:
        """Releases the lock if opening fails, so that this process can try again."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def trust(self) -> str:
        """Makes the folder this user's own; returns why that cannot be remembered, or ""."""
        self.foreign = ""
        return sign(self.path, self.identity)

    def must_be_there(self) -> None:
        """Raises FolderGone if the folder that this process has locked, or its lock, was moved or deleted: then another
        process may write here.
        """
        try:
            about = self.path.stat()
            is_there = (about.st_dev, about.st_ino) == self._place
        except OSError:
            is_there = False
        if self._lock >= 0 and not is_there:
            raise FolderGone(
                f"{self.path}: this folder was moved or deleted while the crawl ran; if it was moved, nothing is lost: "
                "give its new place to continue"
            )
        if self._lock >= 0 and not leads_to(self.path / "lock", self._lock):
            raise FolderGone(
                f"{self.path / 'lock'}: this file was deleted or replaced while the crawl ran, so another process may "
                "write here; the crawl ended, and the same command continues it"
            )

    def keep_settings(
        self, settings: Mapping[str, Any], formats: tuple[int, Mapping[str, int]] = (FORMAT, PARTS)
    ) -> None:
        """Writes `centime.json` and its copy: the settings for the next run, and the formats of the folder."""
        self.settings = dict(settings)
        about = {
            "format": formats[0],
            "parts": dict(formats[1]),
            "identity": self.identity,
            "created": self.created,
            "settings": self.settings,
        }
        text = json.dumps({"checksum": _checksum(about), **about}, indent=1).encode() + b"\n"
        for name in (COPY, ABOUT):  # a new folder becomes a crawl with ABOUT
            replace_file(self.path / name, text)

    def lock(self) -> None:
        """Makes this the only process that may write here; InUse names the process that holds the lock."""
        self._lock = lock_file(self.path)
        with self._unlocked_on_failure():
            about = self.path.stat()
            self._place = (about.st_dev, about.st_ino)

    def close(self) -> None:
        """Releases the lock; a forked child has none."""
        unlock_file(self._lock)
        self._lock = -1
