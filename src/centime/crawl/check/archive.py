"""The archive of bodies against its index: every record whole, every capture where its line says, every body of its
digest.

A WARC file is a row of gzip members, each under its own checksum: all are read, also those that no line of the index
names (requests). A file whose index is still open (`.cdxj.open`) is being written, or was when its process was killed:
what lies behind the last capture named there may be torn.
"""

import re
import zlib
from pathlib import Path
from typing import NamedTuple

from centime.crawl.check.findings import Proof
from centime.model.errors import DamagedFile
from centime.store.captures import OPEN, Capture, capture_of, read_body

CHUNK = 1 << 20
ENDING = ".warc.gz"
HEAD_BYTES = 16_384  # of a record, in which its type, URL, date and status stand
CAPTURES = ("response", "revisit")
_NOT_DIGITS = re.compile(r"\D")


class Member(NamedTuple):
    """A whole gzip member, and what the record in it says of itself."""

    length: int
    type: str
    url: str
    timestamp: str
    status: int


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
        captures += sum(_is_right(folder, path, capture, whole.get(capture.offset), proof) for capture in lines)
        named_at = {capture.offset for capture in lines}
        for offset, member in whole.items():
            if member.type in CAPTURES and offset not in named_at and not is_open:
                proof.wrong(
                    "bodies", f"no line of its index names the {member.type} at byte {offset}, of {member.url}", path
                )
    for index in sorted([*folder.glob("[!.]*.cdxj"), *folder.glob(f"*{OPEN}")]):
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


def _members(path: Path) -> tuple[dict[int, Member], int, int]:
    """The whole gzip members of a file by where they begin, where the last of them ends, and the size of the file."""
    members: dict[int, Member] = {}
    begin = read = 0
    member, head = zlib.decompressobj(31), b""
    with path.open("rb") as file:
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
                    members[begin] = _member(end - begin, head)
                    begin, member, head = end, zlib.decompressobj(31), b""
            except zlib.error:
                break
            data = file.read(CHUNK)
    return members, begin, path.stat().st_size


def _member(length: int, head: bytes) -> Member:
    about, _, answer = head.partition(b"\r\n\r\n")
    fields = dict(line.partition(": ")[::2] for line in about.decode(errors="replace").split("\r\n"))
    status = re.match(rb"HTTP/\S+ (\d{3})", answer)
    timestamp = _NOT_DIGITS.sub("", fields.get("WARC-Date", ""))[:14]
    return Member(
        length,
        fields.get("WARC-Type", ""),
        fields.get("WARC-Target-URI", ""),
        timestamp,
        int(status[1]) if status else 0,
    )


def _is_right(folder: Path, path: Path, capture: Capture, member: Member | None, proof: Proof) -> bool:
    if capture.filename != path.name:
        proof.wrong("bodies", f"its index names {capture.filename} for {capture.url}", path)
        return False
    if member is None or member.length != capture.length:
        proof.wrong(
            "bodies",
            f"there is no whole record of {capture.length} bytes at byte {capture.offset}, for {capture.url}",
            path,
        )
        return False
    status = 0 if member.type == "revisit" else member.status
    if (member.url, member.timestamp, status, member.type == "revisit") != (
        capture.url,
        capture.timestamp,
        capture.status,
        capture.revisit,
    ):
        proof.wrong(
            "bodies", f"the record at byte {capture.offset} is of another URL, time or status than its index says", path
        )
        return False
    try:
        read_body(folder, capture)
    except (DamagedFile, OSError) as trouble:
        proof.caught("bodies", trouble, path)
        return False
    return True
