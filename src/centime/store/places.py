"""The places of files and folders in a crawl folder. Anything else in such a place (a folder or a pipe for a file, a
link that leads nowhere) counts as missing: the crawl does not open, and `centime repair` sets it aside.

Opening it could block without end, or fail with a useless message. Other places are not checked.
"""

from collections.abc import Iterator
from pathlib import Path

from centime.files.listing import list_folder, list_others, not_a_file, not_a_folder

FOLDERS = ("journal", "snapshots", "state", "bodies", "versions", "commands")
FILES = ("lock", "owner", "*.json", "*.mark")  # of the folder itself; also those that begin with a dot
STATE = "*.bin"
SEGMENTS = "*.log"
VERSIONS = "*.sqlite*"
BODIES = ("*.warc.gz", "*.cdxj", "*.cdxj.open")


def misplaced(path: Path) -> dict[Path, str]:
    """Entries in places where something else belongs, each with a sentence; without those in `bodies`, which only
    readers of bodies need.
    """
    return dict(_misplaced(path))


def misplaced_bodies(bodies: Path) -> dict[Path, str]:
    """Entries of the archive of bodies that are in place of a file, each with a sentence."""
    return dict(_not_files(bodies, *BODIES))


def _misplaced(path: Path) -> Iterator[tuple[Path, str]]:
    for part in FOLDERS:
        if trouble := not_a_folder(path / part):
            yield path / part, trouble
    yield from _not_files(path, *FILES)
    yield from _not_files(_folder(path / "journal"), SEGMENTS)
    yield from _not_files(_folder(path / "state"), STATE)
    yield from _not_files(_folder(path / "versions"), VERSIONS)
    for snapshot in list_folder(_folder(path / "snapshots"), "[0-9]*"):
        if not snapshot.name.isdigit():
            continue
        if trouble := not_a_folder(snapshot):
            yield snapshot, trouble
        else:
            yield from _not_files(snapshot, STATE, "manifest.json")


def _folder(path: Path) -> Path:
    """The folder at a path; a path that does not exist if something else is there."""
    return path / "nothing" if not_a_folder(path) else path


def _not_files(folder: Path, *patterns: str) -> Iterator[tuple[Path, str]]:
    for path in list_others(folder, *patterns):
        if trouble := not_a_file(path):
            yield path, trouble
