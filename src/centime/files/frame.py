"""One frame of the journal, and how to distinguish a torn tail from damage.

    frame     length u32, kind u8 (1 to 255), checksum u64, chain u64, payload
    checksum  xxh3-64 of the payload, seeded with length and kind, plus the frame's index, modulo 2^64
    chain     xxh3-64 of the chain of the frame before and this checksum: it identifies all frames up to here

The checksum contains the index, so the index of a frame can be computed from its bytes. A valid frame after a gap of
unknown length is recognised because its index fits the gap, and a frame in the wrong place is rejected. The chain
rejects a frame that has the right index but other frames before it: of another crawl, or of a different history of this
one. Kind 0 is never written, so zeros are not a frame."""

from struct import Struct
from typing import NamedTuple

import numpy as np
from xxhash import xxh3_64_intdigest

FRAME = Struct("<IBQQ")
LARGEST_FRAME = 64 << 20
ALL_BITS = (1 << 64) - 1
BLOCK = 1 << 20

_link = Struct("<QQ").pack


class Frame(NamedTuple):
    """A frame that was read, and the chain up to it."""

    kind: int
    payload: bytes
    chain: int


def frame_head(kind: int, index: int, payload: bytes, chain: int) -> tuple[bytes, int]:
    """The bytes before the payload of a frame after others with this chain, and the chain up to it."""
    checksum = (_hash(kind, payload) + index) & ALL_BITS
    chain = linked(chain, checksum)
    return FRAME.pack(len(payload), kind, checksum, chain), chain


def linked(chain: int, checksum: int) -> int:
    """The chain up to a frame with this checksum."""
    return xxh3_64_intdigest(_link(chain, checksum))


def frame_at(data: bytes, at: int, index: int, chain: int) -> Frame | None:
    """The frame at an offset, or None if it is incomplete, damaged or does not follow the frames before it."""
    begin = at + FRAME.size
    if begin > len(data):
        return None
    length, kind, checksum, after = FRAME.unpack_from(data, at)
    if kind == 0 or length > len(data) - begin or after != linked(chain, checksum):
        return None
    payload = data[begin : begin + length]
    return Frame(kind, payload, after) if checksum == (_hash(kind, payload) + index) & ALL_BITS else None


def frame_behind(data: bytes, index: int) -> int | None:
    """The offset of the first frame with a good checksum after the bad frame with this index at the start of the data,
    or None.
    """
    octets = np.frombuffer(data, dtype=np.uint8)
    last = len(data) - FRAME.size
    for begin in range(FRAME.size, last + 1, BLOCK):
        places = np.arange(begin, min(begin + BLOCK, last + 1))
        lengths = np.zeros(len(places), dtype=np.int64)
        for byte in range(4):
            lengths |= octets[places + byte].astype(np.int64) << (8 * byte)
        for place in places[(octets[places + 4] != 0) & (lengths <= last - places)].tolist():
            if 1 <= (index_of(data, place) - index) & ALL_BITS <= place // FRAME.size:
                return int(place)
    return None


def index_of(data: bytes, at: int) -> int:
    """The index that the frame at an offset must have for its checksum to be right."""
    length, kind, checksum, _ = FRAME.unpack_from(data, at)
    return int((checksum - _hash(kind, data[at + FRAME.size : at + FRAME.size + length])) & ALL_BITS)


def _hash(kind: int, payload: bytes) -> int:
    return xxh3_64_intdigest(payload, len(payload) << 8 | kind)
