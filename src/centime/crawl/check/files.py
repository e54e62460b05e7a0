"""Checks files against their checksums: both snapshots, the append-only files, every frame of the journal.

Every snapshot is checked, with the append-only files as it describes them, because a crawl may have to fall back to
any of them. An incomplete frame at the end of the journal is no damage: it was never synced.
"""

import json
from pathlib import Path
from typing import Any

from xxhash import xxh3_64_hexdigest

from centime.crawl.check.findings import Findings
from centime.crawl.engine.assembly import must_reach_back
from centime.files.appended import AppendedFile
from centime.files.frame import FRAME
from centime.files.listing import list_files
from centime.files.mark import mark_trouble
from centime.files.octets import read_array
from centime.model.errors import CentimeError, DamagedFile
from centime.store import records, row_code
from centime.store.folder import CrawlFolder
from centime.store.journal import HEAD, HEAD_BYTES, SEGMENTS, Journal, mark_path
from centime.store.link_rows import DiskRows
from centime.store.snapshot import Arrays, facts_of_all, names, read_snapshot

MARK_READS = 5
APPENDED = {  # array of the snapshot: file, name in its head, unit
    "pages_texts": ("texts.bin", "texts", 1),
    "pages_text_ends": ("text_ends.bin", "textends", 1),
    "pages_origins": ("origins.bin", "origins", 1),
    "pages_records": ("records.bin", "records", records.UNIT),
    "pages_rows": ("", "rows", row_code.UNIT),
}


def check_snapshots(folder: CrawlFolder, findings: Findings) -> dict[str, tuple[dict[str, Any], Arrays]]:
    """Facts and arrays of the intact snapshots, by name, oldest first."""
    good = {}
    for path in (folder.snapshots / name for name in names(folder.snapshots)):
        try:
            facts, arrays = read_snapshot(path)
        except FileNotFoundError:
            continue  # a running crawl has removed it
        except DamagedFile as trouble:
            findings.caught("snapshot", trouble, path)
            _all_wrong_arrays(path, findings)
            continue
        good[path.name] = (facts, arrays)
        findings.holds("snapshot", f"manifest and arrays of {path.name} have their checksums", len(arrays))
    return good


def _all_wrong_arrays(path: Path, findings: Findings) -> None:
    """Adds a problem for every damaged array of a snapshot; opening the snapshot stops at the first."""
    try:
        described = json.loads((path / "manifest.json").read_bytes())["snapshot"]["arrays"].items()
        checksums = {str(name): str(about["checksum"]) for name, about in described}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return  # the manifest itself has been reported
    for name, checksum in checksums.items():
        file = path / f"{name}.bin"
        if not file.is_file():
            findings.wrong("snapshot", "is missing", file)
            continue
        octets = read_array(str(file))
        if xxh3_64_hexdigest(octets.data) != checksum:
            findings.wrong("snapshot", f"damaged or cut short: the checksum of its {len(octets)} bytes is wrong", file)


def check_appended(folder: CrawlFolder, name: str, arrays: Arrays, findings: Findings) -> None:
    """Checks the append-only files against one snapshot; a file that is already known to be damaged is skipped."""
    reported = {problem.file for problem in findings.problems if problem.part == "state"}
    size, right, before = 0, True, len(findings.problems)
    for title, (filename, content, unit) in APPENDED.items():
        path = folder.state / filename if filename else DiskRows.path(folder.state, int(arrays["pages_row_facts"][0]))
        if str(path) in reported:
            right = False
            continue
        try:
            file = AppendedFile.open(path, content, arrays[title], writable=False, unit=unit)
        except FileNotFoundError:
            if not (folder.snapshots / name).exists():
                raise  # a running crawl has written a newer snapshot and removed older files
            findings.wrong("state", "is missing", path)
            continue
        except (CentimeError, OSError) as trouble:
            findings.caught("state", trouble, path)
            continue
        size += int(arrays[title][0])
        file.close()
    if right:
        findings.holds("state", f"bytes of texts, origins, records and rows match snapshot {name}", size, before)


def check_journal(folder: CrawlFolder, findings: Findings) -> None:
    """Reads every frame of every segment; after a damaged frame it continues with the next segment."""
    _check_mark(mark_path(folder.journal), findings)
    segments = list_files(folder.journal, SEGMENTS)
    try:
        journal = Journal.open(folder.journal, writable=False, identity=folder.identity)
    except CentimeError as trouble:
        findings.caught("journal", trouble, folder.journal)
        return
    frames, size, before = 0, 0, len(findings.problems)
    for name, facts in facts_of_all(folder.snapshots).items():
        try:
            must_reach_back(name, facts, journal)
        except CentimeError as trouble:
            findings.caught("journal", trouble, folder.journal)
    due: int | None = journal.first_index
    while due is not None:
        try:
            for index, _, payload in journal.frames(due):
                frames, size, due = frames + 1, size + FRAME.size + len(payload), index + 1
        except CentimeError as trouble:
            findings.caught("journal", trouble, folder.journal)
            due = _first_behind(segments, due)
        else:
            break
    findings.holds("journal", "frames have their checksums and numbers", frames, before)
    findings.holds("journal", "segments follow each other", len(segments), before)
    rest = sum(path.stat().st_size for path in segments if path.exists()) - size - HEAD_BYTES * len(segments)
    if rest > 0 and len(findings.problems) == before:
        findings.notes.append(
            f"{rest} bytes at the end of the journal are a frame that was never finished; the next run removes them"
        )


def _check_mark(path: Path, findings: Findings) -> None:
    for _ in range(MARK_READS):  # a running crawl may be writing it
        trouble = mark_trouble(path)
        if not trouble:
            findings.holds("journal", "marks of confirmed frames are whole", 2)
            return
    findings.wrong("journal", trouble, path)


def _first_behind(segments: list[Path], frame: int) -> int | None:
    """The index of the first frame of the first segment that begins after a frame."""
    for path in segments:
        head = path.read_bytes()[: HEAD.size] if path.exists() else b""
        if len(head) == HEAD.size and HEAD.unpack(head)[4] > frame:
            return int(HEAD.unpack(head)[4])
    return None
