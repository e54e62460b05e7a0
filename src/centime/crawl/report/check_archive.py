"""The archive of bodies against its index: every record whole, every capture where its line says, every body of its digest.

A WARC file is a row of gzip members, each under its own checksum: all are read, also those that no line of the index names (requests).
A file whose index is still open (`.cdxj.open`) is being written, or was when its process was killed: what lies behind the last capture
named there may be torn.
"""

import zlib
from pathlib import Path

from centime.crawl.report.proof import Proof
from centime.model.errors import DamagedFile
from centime.store.captures import OPEN, Capture, capture_of, read_body

CHUNK = 1 << 20
ENDING = ".warc.gz"


def check_archive(folder: Path, proof: Proof) -> None:
    """Looks at every file of the archive."""
    captures = records = files = 0
    before = len(proof.problems)
    for path in sorted(folder.glob(f"*{ENDING}")):
        found = _index(path, proof)
        if found is None:
            proof.wrong("bodies", "there is no index of it", path)
            continue
        lines, is_open = found
        whole, end, size = _members(path)
        named = max((capture.offset + capture.length for capture in lines), default=0)
        if end < size and (not is_open or end < named):
            proof.wrong("bodies", f"the record at byte {end} is damaged or cut short", path)
        elif end < size:
            proof.notes.append(f"{path}: {size - end} bytes behind the last whole record, which nothing names")
        records, files = records + len(whole), files + 1
        captures += sum(_is_right(folder, path, capture, whole, proof) for capture in lines)
    for index in sorted([*folder.glob("*.cdxj"), *folder.glob(f"*{OPEN}")]):
        if not _warc_of(index).exists() and index.exists():
            proof.wrong("bodies", f"its archive {_warc_of(index).name} is missing", index)
    if files:
        proof.holds("bodies", "records are whole", records, before)
        proof.holds("bodies", "captures lie where the index says, with bodies of their digests", captures, before)


def _index(path: Path, proof: Proof) -> tuple[list[Capture], bool] | None:
    """The captures of a WARC file, and whether its index is still open."""
    stem = path.name.removesuffix(ENDING)
    for index in (path.with_name(f"{stem}{OPEN}"), path.with_name(f"{stem}.cdxj")):
        try:
            data = index.read_bytes()
        except FileNotFoundError:
            continue  # the open one is closed and sorted at some time: then the other is there
        is_open = index.name.endswith(OPEN)
        lines = data.splitlines(keepends=True)
        if is_open and lines and not lines[-1].endswith(b"\n"):
            lines.pop()
        if not is_open and lines != sorted(lines):
            proof.wrong("bodies", "its lines are not in order", index)
        captures = []
        for number, line in enumerate(lines, 1):
            try:
                capture = capture_of(line)
            except (ValueError, LookupError, TypeError):
                proof.wrong("bodies", f"line {number} is damaged", index)
                continue
            if capture.line() != line:
                proof.wrong("bodies", f"line {number} is damaged: it is not as we write it", index)
            captures.append(capture)
        return captures, is_open
    return None


def _warc_of(index: Path) -> Path:
    return index.with_name(index.name.removesuffix(".open").removesuffix(".cdxj") + ENDING)


def _members(path: Path) -> tuple[dict[int, int], int, int]:
    """Where the whole gzip members of a file begin and how long each is, where the last of them ends, and the size of the file."""
    members: dict[int, int] = {}
    begin = read = 0
    member = zlib.decompressobj(31)
    with path.open("rb") as file:
        data = file.read(CHUNK)
        while data:
            read += len(data)
            try:
                while data:
                    member.decompress(data)
                    if not member.eof:
                        break
                    data = member.unused_data
                    end = read - len(data)
                    members[begin] = end - begin
                    begin, member = end, zlib.decompressobj(31)
            except zlib.error:
                break
            data = file.read(CHUNK)
    return members, begin, path.stat().st_size


def _is_right(folder: Path, path: Path, capture: Capture, members: dict[int, int], proof: Proof) -> bool:
    if capture.filename != path.name:
        proof.wrong("bodies", f"its index names {capture.filename} for {capture.url}", path)
        return False
    if members.get(capture.offset) != capture.length:
        proof.wrong("bodies", f"there is no whole record of {capture.length} bytes at byte {capture.offset}, for {capture.url}", path)
        return False
    try:
        read_body(folder, capture)
    except (DamagedFile, OSError) as trouble:
        proof.caught("bodies", trouble, path)
        return False
    return True
