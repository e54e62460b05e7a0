"""Snapshots: the whole state at one frame of the journal, so that opening a crawl replays only the frames after it.

    snapshots/000042/manifest.json   format version, facts, and type, shape and xxh3-64 of every array; it has its own
                                     checksum
    snapshots/000042/NAME.bin        one array as it is in memory, little-endian

A snapshot is written under a temporary name, synced and renamed, so it is complete or absent. The remains of a killed
writer are removed when the folder is next opened for writing. Two snapshots are kept. If the newest is damaged, or the
files that it refers to are, this is reported and the one before it is used; so the journal must reach back to the older
of the two, and appended files must keep everything that it refers to: see `facts_of_all`. Damaged snapshots are set
aside (`000042.damaged`) once another one is in use; a damaged older one does no harm.

Facts are JSON values. `frame` is the index of the first frame that is not in the snapshot, `chain` identifies all
frames before it (`files/frame.py`).
"""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64, xxh3_64_hexdigest

from centime.files.disk import create_file, make_folder, read_file, room_for, sync_folder, write_whole
from centime.files.listing import list_folder
from centime.files.octets import read_array
from centime.model.errors import DamagedFile

VERSION = 2
KEPT = 2
PIECE = 16 << 20

Array = npt.NDArray[Any]
Arrays = dict[str, Array]
Named = tuple[str, Array]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot that was read."""

    name: str
    facts: dict[str, Any]
    arrays: Arrays


def write_snapshot(folder: Path, facts: Mapping[str, Any], arrays: Mapping[str, Array] | Iterable[Named]) -> str:
    """Writes the next snapshot and removes all but the last two; returns its name. Arrays of an iterable are written
    one by one, and not kept in memory.
    """
    make_folder(folder)
    name = f"{max([0, *(int(path.name[:6]) for path in list_folder(folder, '[0-9]*'))]) + 1:06}"
    beside = folder / f".{name}.{os.getpid()}"
    shutil.rmtree(beside, ignore_errors=True)  # of a killed process with the same number
    try:
        write_content(beside, facts, arrays)
        beside.rename(folder / name)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    sync_folder(folder)
    for old in names(folder)[:-KEPT]:
        doomed = folder / f".{old}.old"  # renamed first: a partly deleted snapshot must not look like one
        (folder / old).rename(doomed)
        shutil.rmtree(doomed)
    return name


def write_content(path: Path, facts: Mapping[str, Any], arrays: Mapping[str, Array] | Iterable[Named]) -> None:
    """Writes the files of a snapshot into a new folder and syncs them."""
    make_folder(path)
    named = arrays.items() if isinstance(arrays, Mapping) else arrays
    described = {title: _write_array(path / f"{title}.bin", array) for title, array in named}
    content = {"version": VERSION, "facts": dict(facts), "arrays": described}
    manifest = {"checksum": _checksum(content), "snapshot": content}
    _write_file(path / "manifest.json", [json.dumps(manifest, indent=1).encode()])
    sync_folder(path)


Used = TypeVar("Used")


def use_newest(folder: Path, use: Callable[[Snapshot], Used], writable: bool) -> tuple[Used | None, tuple[str, ...]]:
    """The result of `use` for the newest snapshot that it accepts, and one sentence about each damaged one; None if
    there never was a snapshot. `use` raises DamagedFile if it cannot use a snapshot. A writer sets damaged ones aside
    and removes unfinished ones. DamagedFile if there are snapshots and none can be used.
    """
    if writable:
        for unfinished in list_folder(folder, ".[0-9]*"):
            shutil.rmtree(unfinished)
    damaged: dict[str, str] = {}
    used: Used | None = None
    left = names(folder)
    while left:
        name = left.pop()
        try:
            if used is not None:  # only to set it aside if it is damaged
                _read_manifest(folder / name)
            else:
                used = use(Snapshot(name, *read_snapshot(folder / name)))
        except FileNotFoundError as trouble:
            if (folder / name).exists():  # a file that it refers to is missing
                damaged[name] = f"{trouble.filename}: is missing"
            elif used is None:  # a running crawl has removed it, so there is a newer one
                left = names(folder)
        except DamagedFile as trouble:
            damaged[name] = str(trouble)
    if used is None and damaged:
        raise DamagedFile("no snapshot can be used: " + "; ".join(damaged.values()))
    if writable:
        for name in damaged:
            set_aside(folder, name)
    return used, tuple(damaged.values())


def set_aside(folder: Path, name: str) -> None:
    """Renames a damaged snapshot, so that it is never read again."""
    shutil.rmtree(folder / f"{name}.damaged", ignore_errors=True)
    (folder / name).rename(folder / f"{name}.damaged")
    sync_folder(folder)


def read_snapshot(path: Path, version: int = VERSION) -> tuple[dict[str, Any], Arrays]:
    """Facts and arrays of one snapshot, all checksums verified; DamagedFile says what is wrong, FileNotFoundError that
    the snapshot was removed.
    """
    content = _read_manifest(path, version)
    return content["facts"], {
        name: _read_array(path, f"{name}.bin", described) for name, described in content["arrays"].items()
    }


def facts_of_all(folder: Path) -> dict[str, dict[str, Any]]:
    """The facts of all snapshots with a whole manifest, by name, oldest first: the journal and the appended files must
    reach back to these.
    """
    facts = {}
    for name in names(folder):
        with suppress(DamagedFile, FileNotFoundError):  # a running crawl may have removed it
            facts[name] = _read_manifest(folder / name)["facts"]
    return facts


def newest_name(folder: Path) -> str:
    """The name of the newest snapshot, empty if there is none."""
    return max(names(folder), default="")


def names(folder: Path) -> list[str]:
    """The names of the snapshots of a folder, oldest first."""
    return [path.name for path in list_folder(folder, "[0-9]*") if path.name.isdigit()]


def _checksum(content: Mapping[str, Any]) -> str:
    return xxh3_64_hexdigest(json.dumps(content, sort_keys=True).encode())


def _write_array(path: Path, array: npt.NDArray[Any]) -> dict[str, Any]:
    """Writes an array; returns its description for the manifest."""
    kept = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    octets = kept.reshape(-1).view(np.uint8).data
    digest = xxh3_64()
    pieces = [octets[begin : begin + PIECE] for begin in range(0, len(octets), PIECE)]
    for piece in pieces:
        digest.update(piece)
    _write_file(path, pieces)
    return {
        "type": kept.dtype.descr if kept.dtype.names else kept.dtype.str,
        "shape": list(kept.shape),
        "checksum": digest.hexdigest(),
    }


def _write_file(path: Path, pieces: list[memoryview] | list[bytes]) -> None:
    handle, end = create_file(path, os.O_WRONLY | os.O_TRUNC), 0
    try:
        for piece in pieces:
            write_whole(handle, piece, end, path)
            end += len(piece)
        with room_for(path):
            os.fsync(handle)
    finally:
        os.close(handle)


def version_of(path: Path) -> int:
    """The format of a snapshot."""
    return int(_read_manifest(path, None)["version"])


def _read_manifest(path: Path, version: int | None = VERSION) -> dict[str, Any]:
    if not path.is_dir():
        raise FileNotFoundError(path)
    try:
        manifest = json.loads(read_file(path / "manifest.json"))
        content: dict[str, Any] = manifest["snapshot"]
        right = manifest["checksum"] == _checksum(content)
        right = (
            right
            and isinstance(content["version"], int)
            and all(isinstance(content[part], dict) for part in ("facts", "arrays"))
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        right = False
    except FileNotFoundError as trouble:
        raise _gone_or_damaged(path, "manifest.json") from trouble
    if not right:
        raise DamagedFile(f"{path / 'manifest.json'}: damaged or cut short")
    if version is not None and content["version"] != version:
        raise DamagedFile(f"{path}: this snapshot has format {content['version']} instead of {version}")
    return content


def _read_array(path: Path, name: str, described: Mapping[str, Any]) -> npt.NDArray[Any]:
    try:
        array = read_array(f"{path}/{name}")
    except FileNotFoundError as trouble:
        raise _gone_or_damaged(path, name) from trouble
    try:
        checksum, kind, shape = (described[fact] for fact in ("checksum", "type", "shape"))
        right = xxh3_64_hexdigest(array.data) == checksum
        dtype = np.dtype(kind if isinstance(kind, str) else [tuple(field) for field in kind])
        values: npt.NDArray[Any] = array.view(dtype).reshape(shape) if right else array
    except (ValueError, KeyError, TypeError, SyntaxError, OverflowError, MemoryError) as trouble:
        raise DamagedFile(f"{path / name}: its description in the manifest does not fit: {trouble}") from trouble
    if not right:
        raise DamagedFile(f"{path / name}: damaged or cut short: the checksum of its {len(array)} bytes is wrong")
    return values


def _gone_or_damaged(path: Path, name: str) -> Exception:
    return DamagedFile(f"{path / name}: is missing") if path.is_dir() else FileNotFoundError(path)
