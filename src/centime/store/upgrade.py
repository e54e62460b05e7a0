"""The formats of a crawl folder, and the steps that upgrade an older folder to the newest.

    centime.json    "format": the folder as a whole, "parts": the format of each part

A change of format is one `Step`: it names the part, says in a sentence what changes, and rewrites that part. Steps run
in order, under the folder's lock. A step can be repeated: a process that was killed in the middle leaves a folder
that the next upgrade finishes. After each step `centime.json` is replaced, so no step that has finished runs again.

Promise, from 0.2.0 on: the newest code reads or upgrades the last two formats, and the tests open and continue a golden
folder of each (`tests/golden`).
"""

import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from centime.files.disk import sync_folder
from centime.files.listing import list_folder
from centime.model.errors import DamagedFile
from centime.store import format2, snapshot
from centime.store.folder import FORMAT, PARTS, About, CrawlFolder, read_about, refuse_newer

PARTS_OF_FORMAT_2 = {"journal": 1, "snapshots": 1, "state": 1, "bodies": 1, "commands": 1}


@dataclass(frozen=True, slots=True)
class Step:
    """One change of the format of one part of a folder, to the number `after`."""

    part: str
    after: int
    what: str
    run: Callable[[Path], None]


def pending(path: Path) -> list[Step]:
    """The steps that a folder still needs, in order; DamagedFile if it is older than the oldest that is known."""
    parts = _parts(read_about(path), path)
    return [step for step in STEPS if parts[step.part] < step.after]


def upgrade(path: Path, report: Callable[[str], None] = lambda sentence: None) -> list[str]:
    """Brings a folder to the newest format; returns a sentence for each step that ran. InUse while a crawl runs."""
    about = read_about(path)
    refuse_newer(path, about)
    if about.format == FORMAT:
        return []
    parts = _parts(about, path)
    folder = CrawlFolder(path, about.created, about.settings, about.identity or secrets.randbits(63) | 1)
    folder.lock()
    try:
        folder.keep_settings(about.settings, formats=(about.format, parts))  # the identity is needed from here on
        done = []
        for step in (step for step in STEPS if parts[step.part] < step.after):
            report(step.what)
            step.run(path)
            parts[step.part] = step.after
            folder.keep_settings(about.settings, formats=(about.format, parts))
            done.append(step.what)
        folder.keep_settings(about.settings)
        return done
    finally:
        folder.close()


def _parts(about: About, path: Path) -> dict[str, int]:
    """The formats of a folder's parts."""
    refuse_newer(path, about)
    if about.format < 2:
        raise DamagedFile(f"{path}: this crawl has format {about.format}; this version upgrades formats 2 to {FORMAT}")
    return dict(PARTS_OF_FORMAT_2 | about.parts)


# ---- the steps


def _rename_orders(path: Path) -> None:
    if (path / "orders").is_dir():
        (path / "orders").rename(path / "commands")
        sync_folder(path)


def _chain_journal(path: Path) -> None:
    format2.upgrade_journal(path, read_about(path).identity)


def _rewrite_snapshots(path: Path) -> None:
    folder = path / "snapshots"
    for finished in list_folder(folder, ".[0-9]*.upgraded"):  # of an earlier attempt
        name = finished.name[1:].partition(".")[0]
        shutil.rmtree(folder / name, ignore_errors=True)
        finished.rename(folder / name)
    for name, facts, arrays in format2.upgrade_snapshots(path, read_about(path).identity):
        _replace_snapshot(folder, name, facts, arrays)


def _replace_snapshot(folder: Path, name: str, facts: Mapping[str, Any], arrays: snapshot.Arrays) -> None:
    """Writes a snapshot under a temporary name and then replaces the one with its name."""
    beside = folder / f".{name}.upgrading"
    shutil.rmtree(beside, ignore_errors=True)
    snapshot.write_content(beside, facts, arrays)
    whole = folder / f".{name}.upgraded"  # by this name, the next attempt knows that the snapshot is complete
    beside.rename(whole)
    sync_folder(folder)
    shutil.rmtree(folder / name)
    whole.rename(folder / name)
    sync_folder(folder)


STEPS = (
    Step("commands", 2, "commands wait in commands/ instead of orders/", _rename_orders),
    Step(
        "journal",
        2,
        "every frame of the journal proves the frames before it, and a mark proves its end",
        _chain_journal,
    ),
    Step(
        "snapshots", 2, "snapshots name the frames they stand on and have checksums of small blocks", _rewrite_snapshots
    ),
)
assert all(PARTS[part] == max([1, *(step.after for step in STEPS if step.part == part)]) for part in PARTS)
