"""The journal of a damaged crawl: restores flipped bits, finds the frames that can still be read, and those behind a
gap."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from xxhash import xxh3_64_intdigest

from centime.crawl.repair.bits import flipped_bit, with_bit_flipped
from centime.crawl.repair.report import Repaired
from centime.files.disk import read_file
from centime.files.frame import ALL_BITS, FRAME, frame_at, frame_behind, index_of, linked
from centime.files.listing import list_files
from centime.files.replacement import replace_file
from centime.store.journal import HEAD, HEAD_BYTES, MAGIC, SEGMENTS, Cursor


@dataclass(slots=True)
class Usable:
    """Frames that follow a snapshot without a gap, and those behind the first gap."""

    frames: list[tuple[int, int, bytes]] = field(default_factory=list)  # index, kind, payload
    behind: list[tuple[int, int, bytes]] = field(default_factory=list)  # of frames with a good checksum
    chain: int = 0  # after the last usable frame
    end: int = 0  # the index after the last known frame
    bytes_lost: int = 0


def restore_bits(folder: Path, identity: int, report: Repaired) -> None:
    """Restores heads and frames of which one bit is wrong."""
    for path in list_files(folder, SEGMENTS):
        data = read_file(path)
        fixed = _with_good_head(data, int(path.stem), identity)
        if fixed is not None and fixed != data:
            report.restored.append(f"{path}: a bit of the head")
            data = fixed
        if fixed is not None:
            data = _with_good_frames(path, data, report)
        if data != read_file(path):
            replace_file(path, data)


def _with_good_head(data: bytes, number: int, identity: int) -> bytes | None:
    """The segment with a good head; None if more than a bit is wrong."""

    def is_right(head: bytes | bytearray) -> bool:
        packed = bytes(head[: HEAD.size])
        return xxh3_64_intdigest(packed).to_bytes(8, "little") == head[HEAD.size :] and packed[:8] == MAGIC

    head = data[:HEAD_BYTES]
    if len(head) < HEAD_BYTES:
        return None
    if not is_right(head):
        bit = flipped_bit(head, is_right)
        if bit is None:
            return None
        head = with_bit_flipped(head, bit)
    _, _, segment, owner, _, _ = HEAD.unpack_from(head)
    return head + data[HEAD_BYTES:] if (segment, owner) == (number, identity) else None


def _with_good_frames(path: Path, data: bytes, report: Repaired) -> bytes:
    _, _, _, _, index, chain = HEAD.unpack_from(data)
    at = HEAD_BYTES
    while at < len(data):
        frame = frame_at(data, at, index, chain)
        if frame is None:
            fixed = _with_good_frame(data, Cursor(int(path.stem), at, index, chain))
            if fixed is None:
                return data
            report.restored.append(f"{path}: a bit of frame {index} at byte {at}")
            data = fixed
            continue
        index, chain, at = index + 1, frame.chain, at + FRAME.size + len(frame.payload)
    return data


def _with_good_frame(data: bytes, cursor: Cursor) -> bytes | None:
    """The segment with a good frame at a cursor, if one bit of that frame is wrong and another frame follows it, or
    the end.
    """
    _, at, index, chain = cursor
    behind = frame_behind(data[at:], index)
    end = len(data) if behind is None else at + behind
    bit = flipped_bit(data[at:end], lambda tried: _is_frame(bytes(tried), index, chain))
    if bit is None:
        return None
    return data[:at] + with_bit_flipped(data[at:end], bit) + data[end:]


def _is_frame(data: bytes, index: int, chain: int) -> bool:
    """Whether these bytes are one whole frame; rejects most of them without a hash of the payload."""
    length, kind, _, _ = FRAME.unpack_from(data) if len(data) >= FRAME.size else (-1, 0, 0, 0)
    return length == len(data) - FRAME.size and kind > 0 and frame_at(data, 0, index, chain) is not None


def read_usable(folder: Path, identity: int, start: int, chain: int) -> Usable:
    """The frames from `start` on, as far as they can be proven, given the chain of the frames before; and the
    frames with a good checksum behind that.
    """
    found = Usable(chain=chain, end=start)
    base, expected = start, start
    for path in list_files(folder, SEGMENTS):
        data = read_file(path)
        head = _with_good_head(data, int(path.stem), identity)
        if head is not None:
            base = int(HEAD.unpack_from(head)[4])
        elif _is_foreign(data, identity):
            continue
        size = HEAD_BYTES
        for index, kind, payload, checksum, after in _frames_of(data, base):
            size += FRAME.size + len(payload)
            base = index + 1
            found.end = max(found.end, base)
            if index == expected and after == linked(found.chain, checksum):
                found.frames.append((index, kind, payload))
                found.chain, expected = after, expected + 1
            elif index >= expected:
                found.behind.append((index, kind, payload))
        found.bytes_lost += max(0, len(data) - size)
    return found


def _is_foreign(data: bytes, identity: int) -> bool:
    """Whether a segment has a whole head of another crawl."""
    head = data[:HEAD_BYTES]
    whole = xxh3_64_intdigest(head[: HEAD.size]).to_bytes(8, "little") == head[HEAD.size :]
    return whole and head[:8] == MAGIC and HEAD.unpack_from(head)[3] != identity


def _frames_of(data: bytes, index: int) -> Iterator[tuple[int, int, bytes, int, int]]:
    """Index, kind, payload, checksum and chain of all frames of a segment with a good checksum; the first has about
    this index.
    """
    at = HEAD_BYTES
    while at + FRAME.size <= len(data):
        length, kind, checksum, after = FRAME.unpack_from(data, at)
        end = at + FRAME.size + length
        ahead = (index_of(data, at) - index) & ALL_BITS if kind and end <= len(data) else ALL_BITS
        if ahead <= (at - HEAD_BYTES) // FRAME.size + 1:  # up to this many frames may be damaged before it
            index += ahead
            yield index, kind, data[at + FRAME.size : end], checksum, after
            index, at = index + 1, end
            continue
        behind = frame_behind(data[at:], index)
        if behind is None:
            return
        at += behind
