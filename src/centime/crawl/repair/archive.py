"""Repairs the archive of bodies: an index is rebuilt from the records of its file, and a file with damaged records
is replaced by one with its whole records.

    index lost or damaged       nothing is lost: the line follows from the whole record
    records damaged or cut      their captures are lost, and revisits of a body that is nowhere else

A file or index that was damaged is kept in the folder `damaged/`. Each step replaces one file as a whole, so a repair
that is killed can be repeated. Files that a killed process left open are completed before (`complete_open_files`).
"""

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from centime.crawl.repair.report import Repaired
from centime.files.disk import create_file, make_folder, naming, read_file, sync_folder, write_whole
from centime.files.listing import list_folder
from centime.files.replacement import replace_file
from centime.store.archives.captures import CLOSED, OPEN, Capture, capture_of, recorded

ENDING = ".warc.gz"
MAGIC = b"\x1f\x8b\x08"
CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class _Record:
    """A whole record: where it begins and ends, and its capture unless it is a request or a warcinfo."""

    begin: int
    end: int
    capture: Capture | None


def repair_archive(bodies: Path, damaged: Path, report: Repaired, *, write: bool = True) -> None:
    """Repairs all closed files of an archive; without `write`, only reports what is wrong."""
    files = {path: list(_records(path)) for path in _files(bodies, f"*{ENDING}") if not _open_index(path).exists()}
    originals = {
        (one.capture.url, one.capture.digest)
        for records in files.values()
        for one in records
        if one.capture is not None and one.capture.document
    }
    for path, records in files.items():
        kept = [one for one in records if _has_body(one.capture, originals)]
        size = path.stat().st_size
        if sum(one.end - one.begin for one in kept) != size:
            report.bytes_lost += size - sum(one.end - one.begin for one in records)
            report.restored.append(f"{path}: its {len(kept)} whole records; what is damaged in it was set aside")
            if write:
                _keep_whole(path, kept, damaged)
            kept = _moved(kept)
        _restore_index(path, kept, damaged, report, write=write)
    for index in _files(bodies, CLOSED):
        if not index.with_suffix(ENDING).is_file():
            count = read_file(index).count(b"\n")
            report.lost.append(f"{index}: {count} captures, because {index.with_suffix(ENDING).name} is missing")
            if write:
                _set_aside(index, damaged)
                index.unlink()


def _files(bodies: Path, pattern: str) -> list[Path]:
    """Files of the archive; without `write`, there may be other files beside them."""
    return [path for path in list_folder(bodies, pattern) if path.is_file()]


def _restore_index(path: Path, kept: list[_Record], damaged: Path, report: Repaired, *, write: bool) -> None:
    index = path.with_name(path.name.removesuffix(ENDING) + ".cdxj")
    lines = b"".join(sorted(one.capture.line() for one in kept if one.capture is not None))
    before = read_file(index) if index.is_file() else None
    if before is not None and _without_types(before) == _without_types(lines):
        return
    lost = _visits(before or b"") - _visits(lines)
    if lost:
        report.lost.append(f"{path}: {len(lost)} captures, such as {min(lost)[0]} of {min(lost)[1]}")
    count = lines.count(b"\n")
    report.restored.append(f"{index}: {count} lines, from the records of its file")
    if write:
        if before is not None:
            _set_aside(index, damaged)
        replace_file(index, lines)
        sync_folder(index.parent)


def _records(path: Path) -> Iterator[_Record]:
    """The whole records of a file; damaged bytes between them are skipped."""
    at, size = 0, path.stat().st_size
    with naming(path), path.open("rb") as file:
        while at < size:
            data = _member(file.fileno(), at)
            found = recorded(data, path.name, at) if data else None
            if found is None:
                at = _next_magic(file.fileno(), at + 1, size)
                continue
            yield _Record(at, at + len(data), found[1])
            at += len(data)


def _member(handle: int, at: int) -> bytes:
    """The gzip member at a place, as it is stored; empty if there is no whole one."""
    unpacked, begin = zlib.decompressobj(31), at
    try:
        while not unpacked.eof:
            data = os.pread(handle, CHUNK, at)
            if not data:
                return b""
            while data and not unpacked.eof:
                unpacked.decompress(data, CHUNK)
                at += len(data) - len(unpacked.unconsumed_tail) - len(unpacked.unused_data)
                data = unpacked.unconsumed_tail
        return os.pread(handle, at - begin, begin)
    except zlib.error:
        return b""


def _next_magic(handle: int, at: int, size: int) -> int:
    """Where the next gzip member may begin."""
    while at < size:
        data = os.pread(handle, CHUNK, at)
        place = data.find(MAGIC)
        if place >= 0:
            return at + place
        at += max(1, len(data) - len(MAGIC) + 1)
    return size


def _has_body(capture: Capture | None, originals: set[tuple[str, str]]) -> bool:
    return capture is None or not capture.revisit or (capture.url, capture.digest) in originals


def _moved(kept: list[_Record]) -> list[_Record]:
    """The records with their places in a file that has nothing else."""
    moved, at = [], 0
    for one in kept:
        length = one.end - one.begin
        moved.append(_Record(at, at + length, None if one.capture is None else replace(one.capture, offset=at)))
        at += length
    return moved


def _keep_whole(path: Path, kept: list[_Record], damaged: Path) -> None:
    """Replaces a file by its whole records."""
    fresh, at = path.with_name(f".{path.name}.repaired"), 0
    handle = create_file(fresh, os.O_WRONLY | os.O_TRUNC)
    try:
        with path.open("rb") as old:
            for one in kept:
                write_whole(handle, os.pread(old.fileno(), one.end - one.begin, one.begin), at, fresh)
                at += one.end - one.begin
        os.fsync(handle)
    finally:
        os.close(handle)
    _set_aside(path, damaged)
    fresh.replace(path)
    sync_folder(path.parent)


def _set_aside(path: Path, damaged: Path) -> None:
    """Keeps a file in the folder of damaged ones too, under a name that is free there."""
    make_folder(damaged)
    number = 0
    while True:
        name = damaged / (path.name if not number else f"{path.name}.{number}")
        try:
            os.link(path, name)
            break
        except FileExistsError:
            number += 1
    sync_folder(damaged)


def _without_types(lines: bytes) -> bytes | list[Capture]:
    """The captures of an index without their content types, which servers spell differently."""
    try:
        captures = [capture_of(line) for line in lines.splitlines(keepends=True)]
    except (ValueError, LookupError, TypeError):
        return lines
    written = b"".join(capture.line() for capture in captures)
    return [one if one.revisit else replace(one, mime="") for one in captures] if written == lines else lines


def _visits(lines: bytes) -> set[tuple[str, str]]:
    """URL and time of the captures of an index, as far as its lines can be read."""
    found = set()
    for line in lines.splitlines():
        try:
            capture = capture_of(line)
        except (ValueError, LookupError, TypeError):
            continue
        found.add((capture.url, capture.timestamp))
    return found


def _open_index(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(ENDING) + OPEN)
