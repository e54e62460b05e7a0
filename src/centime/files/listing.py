"""Lists folders, and describes entries that are not files. A folder that cannot be listed raises an error that names
it: `Path.glob` treats an unreadable folder like an empty one.
"""

import os
import stat
from fnmatch import fnmatchcase
from pathlib import Path

from centime.model.errors import DamagedFile

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link that leads nowhere",
    stat.S_IFREG: "a file",
}


def list_folder(folder: Path, pattern: str = "*") -> list[Path]:
    """The paths in a folder whose names match a pattern, in their order; none if the folder is missing. DamagedFile if
    it is not a folder, OSError if it cannot be listed.
    """
    return [folder / entry.name for entry in _entries(folder, pattern)]


def list_files(folder: Path, pattern: str = "*") -> list[Path]:
    """The same for files; DamagedFile if one of the paths is not a file."""
    entries = _entries(folder, pattern)
    for entry in entries:
        if not entry.is_file(follow_symlinks=False) and (trouble := not_a_file(folder / entry.name)):
            raise DamagedFile(trouble)
    return [folder / entry.name for entry in entries]


def list_others(folder: Path, *patterns: str) -> list[Path]:
    """The paths in a folder whose names match one of the patterns and that are not plain files, such as links: paths
    are made only of these, because a folder with snapshots has hundreds of files.
    """
    return [folder / entry.name for entry in _entries(folder, *patterns) if not entry.is_file(follow_symlinks=False)]


def files_below(folder: Path) -> list[Path]:
    """All files of a folder and of the folders in it, but not of those that a link leads to."""
    found: list[Path] = []
    for entry in _entries(folder, "*"):
        path = folder / entry.name
        if entry.is_dir(follow_symlinks=False):
            found += files_below(path)
        elif path.is_file():
            found.append(path)
    return found


def not_a_file(path: Path) -> str:
    """A sentence that says what is at a path instead of a file; empty if it is a file, or nothing is there."""
    return _other_than(stat.S_IFREG, path)


def not_a_folder(path: Path) -> str:
    """A sentence that says what is at a path instead of a folder; empty if it is one, or nothing is there."""
    return _other_than(stat.S_IFDIR, path)


def is_dead_link(path: Path) -> bool:
    """Whether a path is a link that leads nowhere."""
    return path.is_symlink() and _kind(path) == stat.S_IFLNK


def _other_than(kind: int, path: Path) -> str:
    found = _kind(path)
    return "" if found in (kind, None) else f"{path}: this is {KINDS[found]}, not {KINDS[kind]}"


def _kind(path: Path) -> int | None:
    """The kind of the entry at a path, behind a link unless it is dead; None if nothing is there."""
    try:
        own = stat.S_IFMT(path.lstat().st_mode)
    except FileNotFoundError:
        return None
    return stat.S_IFMT(path.stat().st_mode) if own == stat.S_IFLNK and path.exists() else own


def _entries(folder: Path, *patterns: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if any(fnmatchcase(entry.name, each) for each in patterns)]
    except FileNotFoundError:
        return []
    except NotADirectoryError as trouble:
        raise DamagedFile(f"{folder}: this is not a folder") from trouble
    return sorted(found, key=lambda entry: entry.name)
