"""The formats of a crawl folder, and the steps that bring an older folder to the newest.

    centime.json    "format": the folder as a whole, "parts": the format of each part

A change of format is one `Step`: it names the part, says in a sentence what changes, and rewrites that part. Steps run
in sequence, under the folder's lock. A step can be repeated: a process that was killed in the middle leaves a folder
that the next upgrade finishes. After each step `centime.json` is replaced, so no step that has finished runs again.

Promise, from 0.2.0 on: the newest code reads or upgrades the last two formats, and the tests open and continue a golden
folder of each (`tests/golden`).
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from centime.files.disk import sync_folder
from centime.model.errors import DamagedFile
from centime.store import snapshot
from centime.store.folder import FORMAT, PARTS, About, CrawlFolder, read_about

PARTS_OF_FORMAT_2 = {"journal": 1, "snapshots": 1, "state": 1, "bodies": 1, "commands": 1}


@dataclass(frozen=True, slots=True)
class Step:
    """One change of the format of one part of a folder, to the number `after`."""

    part: str
    after: int
    what: str
    run: Callable[[Path], None]


def pending(path: Path) -> list[Step]:
    """The steps that a folder still needs, in sequence; DamagedFile if it is older than the oldest that is known."""
    parts = _parts(read_about(path), path)
    return [step for step in STEPS if parts[step.part] < step.after]


def upgrade(path: Path, report: Callable[[str], None] = lambda sentence: None) -> list[str]:
    """Brings a folder to the newest format; returns a sentence for each step that ran. InUse while a crawl runs."""
    about = read_about(path)
    if about.format == FORMAT:
        return []
    parts = _parts(about, path)
    folder = CrawlFolder(path, about.created, about.settings)
    folder.lock()
    try:
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
    if about.format > FORMAT:
        raise DamagedFile(
            f"{path}: this crawl has format {about.format}, made by a newer Centime; this version reads {FORMAT}"
        )
    if about.format < 2:
        raise DamagedFile(f"{path}: this crawl has format {about.format}; this version upgrades formats 2 to {FORMAT}")
    return dict(PARTS_OF_FORMAT_2 | about.parts)


# ---- the steps


def _rename_orders(path: Path) -> None:
    if (path / "orders").is_dir():
        (path / "orders").rename(path / "commands")
        sync_folder(path)


def _rename_in_snapshots(path: Path) -> None:
    for name, facts, arrays in _snapshots(path / "snapshots", version=1):
        facts["refreshing"] = facts.pop("upkeep")
        renamed = {_renamed(title): array for title, array in arrays.items()}
        hosts, addresses = msgspec.msgpack.decode(renamed["hosts"].tobytes())
        for host in hosts:
            host["politeness"] = host.pop("manners")
        renamed["hosts"] = np.frombuffer(msgspec.msgpack.encode([hosts, addresses]), dtype=np.uint8)
        _replace_snapshot(path / "snapshots", name, facts, renamed)


def _renamed(title: str) -> str:
    if title == "wishes":
        return "requests"
    return title.replace("upkeep_eagerness", "refreshing_spending").replace("upkeep_", "refreshing_", 1)


def _snapshots(folder: Path, version: int) -> Iterator[tuple[str, dict[str, Any], snapshot.Arrays]]:
    """The snapshots of an older format, oldest first; unfinished upgrades of an earlier attempt are completed first."""
    for finished in folder.glob(".[0-9]*.upgraded"):
        name = finished.name[1:].partition(".")[0]
        shutil.rmtree(folder / name, ignore_errors=True)
        finished.rename(folder / name)
    for name in snapshot.names(folder):
        with suppress(DamagedFile):  # opening the crawl reports a damaged snapshot and renames it
            if snapshot.version_of(folder / name) == version:
                yield name, *snapshot.read_snapshot(folder / name, version=version)


def _replace_snapshot(folder: Path, name: str, facts: Mapping[str, Any], arrays: snapshot.Arrays) -> None:
    """Writes a snapshot under a temporary name and puts it in the place of the one with its name."""
    beside = folder / f".{name}.upgrading"
    shutil.rmtree(beside, ignore_errors=True)
    snapshot.write_content(beside, facts, arrays)
    whole = folder / f".{name}.upgraded"  # this name tells the next attempt that the snapshot is complete
    beside.rename(whole)
    sync_folder(folder)
    shutil.rmtree(folder / name)
    whole.rename(folder / name)
    sync_folder(folder)


STEPS = (
    Step("commands", 2, "commands wait in commands/ instead of orders/", _rename_orders),
    Step("snapshots", 2, "snapshots name requests, refreshing and politeness by their new words", _rename_in_snapshots),
)
assert all(PARTS[part] == max([1, *(step.after for step in STEPS if step.part == part)]) for part in PARTS)
