"""Files against their checksums: both kept snapshots, the files that only grow, every frame of the journal.

Snapshots and files are looked at for every snapshot that is kept, since each is what a crash may have to go back to. A
torn tail of the last segment of the journal is no damage: it was never promised to anyone.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from xxhash import xxh3_64_hexdigest

from centime.crawl.check.findings import Proof
from centime.files.appended import AppendedFile
from centime.files.frame import FRAME
from centime.model.errors import CentimeError, DamagedFile
from centime.store import records, row_code
from centime.store.folder import CrawlFolder
from centime.store.journal import HEAD, HEAD_BYTES, Journal
from centime.store.link_rows import DiskRows
from centime.store.snapshot import Arrays, read_snapshot

GROWING = {  # array of the snapshot: file, name in its head, unit
    "pages_texts": ("texts.bin", "texts", 1),
    "pages_text_ends": ("text_ends.bin", "textends", 1),
    "pages_origins": ("origins.bin", "origins", 1),
    "pages_records": ("records.bin", "records", records.UNIT),
    "pages_rows": ("", "rows", row_code.UNIT),
}


def check_snapshots(folder: CrawlFolder, proof: Proof) -> dict[str, tuple[dict[str, Any], Arrays]]:
    """Facts and arrays of the snapshots that are right, by name, oldest first."""
    good = {}
    paths = sorted(path for path in folder.snapshots.glob("[0-9]*") if path.name.isdigit())
    for path in paths:
        try:
            facts, arrays = read_snapshot(path)
        except FileNotFoundError:
            continue  # a running crawl has removed it
        except DamagedFile as trouble:
            proof.caught("snapshot", trouble, path)
            _all_wrong_arrays(path, proof)
            continue
        good[path.name] = (facts, arrays)
        proof.holds("snapshot", f"manifest and arrays of {path.name} have their checksums", len(arrays))
    return good


def _all_wrong_arrays(path: Path, proof: Proof) -> None:
    """Names every damaged array of a snapshot, where opening it stops at the first."""
    try:
        described = json.loads((path / "manifest.json").read_bytes())["snapshot"]["arrays"].items()
        checksums = {str(name): str(about["checksum"]) for name, about in described}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return  # the manifest itself has been reported
    for name, checksum in checksums.items():
        file = path / f"{name}.bin"
        if not file.is_file():
            proof.wrong("snapshot", "is missing", file)
            continue
        octets = np.fromfile(file, dtype=np.uint8)
        if xxh3_64_hexdigest(octets.data) != checksum:
            proof.wrong("snapshot", f"damaged or cut short: the checksum of its {len(octets)} bytes is wrong", file)


def check_growing(folder: CrawlFolder, name: str, arrays: Arrays, proof: Proof) -> None:
    """Holds the files that only grow against what one snapshot says of them; a file that another has found damaged
    is told once.
    """
    told = {problem.file for problem in proof.problems if problem.part == "state"}
    size, right, before = 0, True, len(proof.problems)
    for title, (filename, content, unit) in GROWING.items():
        path = folder.state / filename if filename else DiskRows.path(folder.state, int(arrays["pages_row_facts"][0]))
        if str(path) in told:
            right = False
            continue
        try:
            file = AppendedFile.open(path, content, arrays[title], writable=False, unit=unit)
        except FileNotFoundError:
            if not (folder.snapshots / name).exists():
                raise  # a running crawl has tidied up behind a newer snapshot
            proof.wrong("state", "is missing", path)
            continue
        except CentimeError as trouble:
            proof.caught("state", trouble, path)
            continue
        try:
            file.check(arrays[title])
            size += int(arrays[title][0])
        except DamagedFile as trouble:
            proof.caught("state", trouble, path)
        finally:
            file.close()
    if right:
        proof.holds(
            "state", f"bytes of texts, origins, records and rows are as snapshot {name} knows them", size, before
        )


def check_journal(folder: CrawlFolder, proof: Proof) -> None:
    """Reads every frame of every segment; behind a damaged one it goes on with the next segment."""
    segments = sorted(folder.journal.glob("[0-9]*.log"))
    try:
        journal = Journal.open(folder.journal, writable=False)
    except CentimeError as trouble:
        proof.caught("journal", trouble, folder.journal)
        return
    frames, size, before = 0, 0, len(proof.problems)
    due: int | None = journal.first_index
    while due is not None:
        try:
            for index, _, payload in journal.frames(due):
                frames, size, due = frames + 1, size + FRAME.size + len(payload), index + 1
        except CentimeError as trouble:
            proof.caught("journal", trouble, folder.journal)
            due = _first_behind(segments, due)
        else:
            break
    proof.holds("journal", "frames have their checksums and numbers", frames, before)
    proof.holds("journal", "segments follow each other", len(segments), before)
    rest = sum(path.stat().st_size for path in segments if path.exists()) - size - HEAD_BYTES * len(segments)
    if rest > 0 and len(proof.problems) == before:
        proof.notes.append(
            f"{rest} bytes at the end of the journal are a frame that was never finished: cut at the next opening"
        )


def _first_behind(segments: list[Path], frame: int) -> int | None:
    """The index of the first frame of the first segment that begins behind a frame."""
    for path in segments:
        head = path.read_bytes()[: HEAD.size] if path.exists() else b""
        if len(head) == HEAD.size and HEAD.unpack(head)[3] > frame:
            return int(HEAD.unpack(head)[3])
    return None
