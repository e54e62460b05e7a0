"""One frame of the journal, and how to distinguish a torn tail from damage.

    frame     length u32, kind u8 (1 to 255), checksum u64, payload
    checksum  xxh3-64 of the payload, seeded with length and kind, plus the frame's index, modulo 2^64

The checksum contains the index, so the index of a frame can be computed from its bytes. A valid frame after a gap of
unknown length is recognised because its index fits the gap, and a frame in the wrong place is rejected. Kind 0 is never
written, so zeros are not a frame.
"""

from struct import Struct

import numpy as np
from xxhash import xxh3_64_intdigest

FRAME = Struct("<IBQ")
LARGEST_FRAME = 64 << 20
ALL_BITS = (1 << 64) - 1
BLOCK = 1 << 20


def frame_head(kind: int, index: int, payload: bytes) -> bytes:
    """The bytes before the payload."""
    return FRAME.pack(len(payload), kind, (_hash(kind, payload) + index) & ALL_BITS)


def frame_at(data: bytes, at: int, index: int) -> tuple[int, bytes] | None:
    """Kind and payload of the frame at an offset, or None if it is incomplete or damaged."""
    begin = at + FRAME.size
    if begin > len(data):
        return None
    length, kind, stored = FRAME.unpack_from(data, at)
    if kind == 0 or length > len(data) - begin:
        return None
    payload = data[begin : begin + length]
    return (kind, payload) if stored == (_hash(kind, payload) + index) & ALL_BITS else None


def frame_behind(data: bytes, index: int) -> int | None:
    """The offset of the first valid frame after the bad frame with this index at the start of the data, or None."""
    octets = np.frombuffer(data, dtype=np.uint8)
    last = len(data) - FRAME.size
    for begin in range(FRAME.size, last + 1, BLOCK):
        places = np.arange(begin, min(begin + BLOCK, last + 1))
        lengths = np.zeros(len(places), dtype=np.int64)
        for byte in range(4):
            lengths |= octets[places + byte].astype(np.int64) << (8 * byte)
        for place in places[(octets[places + 4] != 0) & (lengths <= last - places)].tolist():
            length, kind, stored = FRAME.unpack_from(data, place)
            payload = data[place + FRAME.size : place + FRAME.size + length]
            if 1 <= (stored - _hash(kind, payload) - index) & ALL_BITS <= place // FRAME.size:
                return int(place)
    return None


def _hash(kind: int, payload: bytes) -> int:
    return xxh3_64_intdigest(payload, len(payload) << 8 | kind)
