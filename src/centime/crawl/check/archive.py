"""Checks the archive of bodies against its index: every record is whole, every capture is where its line says, and
every body matches its digest.

A WARC file is a sequence of gzip members, each with its own checksum. All of them are read, also those that no line of
the index names (requests). A file whose index is still open (`.cdxj.open`) is being written, or was being written when
its process was killed: what follows the last capture named there may be incomplete.
"""

import zlib
from pathlib import Path
from typing import NamedTuple

from centime.crawl.check.findings import Findings
from centime.crawl.imports.elsewhere import is_there
from centime.files.disk import naming, read_file
from centime.files.listing import list_folder, not_a_file
from centime.model.errors import DamagedFile
from centime.store.archives.captures import CLOSED, OPEN, Capture, capture_of, every_capture, read_body, recorded
from centime.store.archives.warc import HEAD_BYTES, RecordFacts, facts_of
from centime.store.places import misplaced_bodies

CHUNK = 1 << 20
ENDING = ".warc.gz"
CAPTURES = ("response", "revisit")


class Member(NamedTuple):
    """A whole gzip member: its length in the file, and what its record says."""

    length: int
    facts: RecordFacts


def check_archive(folder: Path, findings: Findings) -> None:
    """Checks every file of the archive."""
    captures = records = files = 0
    before = len(findings.problems)
    strange = misplaced_bodies(folder)
    for sentence in strange.values():
        findings.caught("bodies", DamagedFile(sentence))
    for path in (path for path in list_folder(folder, f"*{ENDING}") if path not in strange):
        found = check_archive_file(folder, path, findings)
        if found is not None:
            records, captures, files = records + found[0], captures + found[1], files + 1
    for index in sorted([*list_folder(folder, CLOSED), *list_folder(folder, f"*{OPEN}")]):
        if index not in strange and not _warc_of(index).is_file() and index.exists():
            findings.wrong("bodies", f"its archive {_warc_of(index).name} is missing", index)
    if files:
        findings.holds("bodies", "records are whole", records, before)
        findings.holds("bodies", "captures are where the index says, and match their digests", captures, before)


def check_archive_file(folder: Path, path: Path, findings: Findings) -> tuple[int, int] | None:
    """Checks one file of an archive and its index; returns its whole records and correct captures, None without
    index."""
    found = _index(path, findings)
    if found is None:
        if path.stat().st_size:  # otherwise its process has not made the index yet, or was killed before
            findings.wrong("bodies", "its index is missing", path)
        return None
    lines, is_open = found
    whole, end, size = _members(path)
    named = max((capture.offset + capture.length for capture in lines), default=0)
    if end < size and (not is_open or end < named):
        findings.wrong("bodies", f"the record at byte {end} is damaged or cut short", path)
    elif end < size:
        findings.notes.append(f"{path}: {size - end} bytes after the last whole record, which no index names")
    right = sum(_is_right(folder, path, capture, whole.get(capture.offset), findings) for capture in lines)
    named_at = {capture.offset for capture in lines}
    for offset, member in whole.items():
        facts = member.facts
        if facts.type in CAPTURES and offset not in named_at and not is_open:
            findings.wrong(
                "bodies", f"no line of its index names the {facts.type} at byte {offset}, of {facts.url}", path
            )
    return len(whole), right


def _index(path: Path, findings: Findings) -> tuple[list[Capture], bool] | None:
    """The captures of a WARC file, and whether its index is still open."""
    stem = path.name.removesuffix(ENDING)
    for index in (path.with_name(f"{stem}{OPEN}"), path.with_name(f"{stem}.cdxj")):
        if not_a_file(index):
            continue  # reported already
        try:
            data = read_file(index)
        except FileNotFoundError:
            continue  # an open index is sorted and renamed when it is closed
        is_open = index.name.endswith(OPEN)
        lines = data.splitlines(keepends=True)
        if is_open and lines and not lines[-1].endswith(b"\n"):
            lines.pop()
        if not is_open and lines != sorted(lines):
            findings.wrong("bodies", "its lines are not in order", index)
        captures = []
        seen: dict[bytes, int] = {}  # the first line of each kind
        for number, line in enumerate(lines, 1):
            if seen.setdefault(line, number) != number:
                findings.wrong("bodies", f"line {number} is line {seen[line]} again", index)
            try:
                capture = capture_of(line)
                as_written = capture.line()
            except (ValueError, LookupError, TypeError):
                findings.wrong("bodies", f"line {number} is damaged", index)
                continue
            if as_written != line:
                findings.wrong("bodies", f"line {number} is damaged: it is not in our format", index)
            captures.append(capture)
        return captures, is_open
    return None


def _warc_of(index: Path) -> Path:
    return index.with_name(index.name.removesuffix(".open").removesuffix(".cdxj") + ENDING)


def _members(path: Path) -> tuple[dict[int, Member], int, int]:
    """The whole gzip members of a file by their offsets, the end of the last one, and the size of the file."""
    members: dict[int, Member] = {}
    begin = read = 0
    member, head = zlib.decompressobj(31), b""
    with naming(path), path.open("rb") as file:
        data = file.read(CHUNK)
        while data:
            read += len(data)
            try:
                while data:
                    head = (head + member.decompress(data))[:HEAD_BYTES]
                    if not member.eof:
                        break
                    data = member.unused_data
                    end = read - len(data)
                    members[begin] = Member(end - begin, facts_of(head))
                    begin, member, head = end, zlib.decompressobj(31), b""
            except zlib.error:
                break
            data = file.read(CHUNK)
    return members, begin, path.stat().st_size


def check_imported(folder: Path, findings: Findings) -> None:
    """Checks the indexes of imported bodies that stay where they are. A missing file is no damage: it is not the
    crawl's."""
    lines = list(every_capture(folder))
    for name in sorted({capture.filename for capture in lines}):
        if not is_there(Path(name)):
            findings.notes.append(f"{name}: this imported file, which holds bodies of the crawl, is missing")
    if lines:
        findings.holds("imported bodies", "lines of indexes name the files that hold bodies", len(lines))


def _is_right(folder: Path, path: Path, capture: Capture, member: Member | None, findings: Findings) -> bool:
    if capture.filename != path.name:
        findings.wrong("bodies", f"its index names {capture.filename} for {capture.url}", path)
        return False
    if member is None or member.length != capture.length:
        findings.wrong(
            "bodies",
            f"there is no whole record of {capture.length} bytes at byte {capture.offset}, for {capture.url}",
            path,
        )
        return False
    try:
        with path.open("rb") as file:
            file.seek(capture.offset)
            found = recorded(file.read(capture.length), path.name, capture.offset)
        if found is None:
            raise DamagedFile(f"{path}: the record at byte {capture.offset} is damaged")
        if found[1] != capture:
            raise DamagedFile(f"{path}: the record at byte {capture.offset} differs from its index")
        if capture.revisit:
            read_body(folder, capture)
    except (DamagedFile, OSError) as trouble:
        findings.caught("bodies", trouble, path)
        return False
    return True
