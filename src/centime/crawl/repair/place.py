"""Prepares a folder for a repair: sets aside whatever is not a file where a file should be, and refuses files without
permission to read, which say nothing about damage. A rehearsal repairs a copy, which is removed.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from centime.crawl.repair.report import Repaired
from centime.files.disk import make_folder, room_for, sync_folder
from centime.files.listing import files_below, is_dead_link, list_folder
from centime.model.errors import DamagedFile
from centime.store.places import FILES, FOLDERS, misplaced, misplaced_bodies

REPAIRED = "state.repaired"
DAMAGED = "damaged"


def must_be_readable(path: Path) -> None:
    """Raises OSError with the path if there is no permission to read a file or folder of the crawl."""
    own = [file for pattern in FILES for file in list_folder(path, pattern) if file.is_file()]
    for file in [*own, *(file for part in FOLDERS if (path / part).is_dir() for file in files_below(path / part))]:
        with suppress(FileNotFoundError):  # a crawl that runs has removed it; the lock will say so
            os.close(os.open(file, os.O_RDONLY | os.O_NONBLOCK))


def set_aside(path: Path, found: Mapping[Path, str], report: Repaired) -> None:
    """Moves an entry that is in place of another to the folder of damaged files, and reports it."""
    for place, trouble in found.items():
        if not trouble:
            continue
        _must_be_movable(path, place)
        make_folder(path / DAMAGED)
        name = free_name(path / DAMAGED / place.name)
        place.rename(name)
        sync_folder(place.parent)
        report.restored.append(f"{trouble}; set aside as {name}")


def rehearsed(path: Path, repair: Callable[[Path], Repaired]) -> Repaired:
    """What a repair would do, without the archive of bodies; its sentences name the folder instead of the copy."""
    strange = misplaced(path)
    for place in strange:
        _must_be_movable(path, place)
    with tempfile.TemporaryDirectory(prefix=".repair-", dir=path.parent) as room:
        copy = Path(room) / path.name
        others = {one for one in list_folder(path) if one.is_dir() and one.name not in (*FOLDERS, REPAIRED)}
        with room_for(path):
            _copy(path, copy, {*strange, *others, path / "bodies", path / "versions"})
        make_folder(copy / "bodies")
        try:
            report = repair(copy)
        except Exception as trouble:
            trouble.args = tuple(_renamed(said, copy, path) if isinstance(said, str) else said for said in trouble.args)
            if isinstance(trouble, OSError) and trouble.filename:
                trouble.filename = _renamed(str(trouble.filename), copy, path)
            raise
    report.restored = [_renamed(sentence, copy, path) for sentence in report.restored]
    report.lost = [_renamed(sentence, copy, path) for sentence in report.lost]
    all_strange = {**strange, **({} if path / "bodies" in strange else misplaced_bodies(path / "bodies"))}
    report.restored[:0] = [f"{trouble}; set aside in {path / DAMAGED}" for trouble in all_strange.values()]
    return report


def free_name(path: Path) -> Path:
    """A path that is not taken yet: the given one, or it with a number behind it."""
    number, free = 1, path
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.name}.{number}")
    return free


def _must_be_movable(path: Path, place: Path) -> None:
    """Refuses a link to a whole part of the crawl that leads nowhere: the part may be on a disk that is not there."""
    if place.parent == path and place.name in FOLDERS and is_dead_link(place):
        raise DamagedFile(
            f"{place}: this link leads to {place.readlink()}, where nothing is; bring that back, or remove the link"
        )


def _copy(source: Path, target: Path, without: set[Path]) -> None:
    make_folder(target)
    for path in list_folder(source):
        if path not in without and path.is_dir():
            _copy(path, target / path.name, without)
        elif path not in without and path.is_file():
            shutil.copy2(path, target / path.name)


def _renamed(sentence: str, copy: Path, path: Path) -> str:
    return sentence.replace(str(copy), str(path))
