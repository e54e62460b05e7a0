"""Whole numbers in as few bytes as they need, for kernels: seven bits per byte, low ones first, the high bit set in all
bytes but the last (LEB128).

The reader never reads outside the given bytes, whatever they contain: zeros follow their end. A signed number is folded
first, so that small ones of both signs are short: 0, -1, 1, -2 become 0, 1, 2, 3.
"""

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined

Octets = npt.NDArray[np.uint8]

MOST_BITS = 56  # of a number that `read_varint` reads, so that sums of two never overflow
SIGNED_BITS = 63
LONGEST = 10  # bytes of a number of 64 bits


@bare_inlined
def varint_size(value: Whole) -> Whole:
    """The bytes of a number, which is not negative."""
    size = np.int64(1)
    while value >= 128:
        value >>= 7
        size += 1
    return size


@bare_inlined
def write_varint(octets: Octets, at: Whole, value: Whole) -> Whole:
    """Writes a number, which is not negative; returns the place after it."""
    while value >= 128:
        octets[at] = np.uint8((value & 127) | 128)
        value >>= 7
        at += 1
    octets[at] = np.uint8(value)
    return at + 1


@bare_inlined
def _read(octets: Octets, at: Whole, bits: Whole) -> tuple[Whole, Whole]:
    """The number of at most `bits` bits at `at`, and the place after it."""
    octet = np.int64(octets[at]) if at < len(octets) else np.int64(0)
    at += 1
    value = octet & 127
    shift = 7
    while octet >= 128 and shift < bits:
        octet = np.int64(octets[at]) if at < len(octets) else np.int64(0)
        at += 1
        value |= (octet & 127) << shift
        shift += 7
    return value, at


@bare_inlined
def read_varint(octets: Octets, at: Whole) -> tuple[Whole, Whole]:
    """The number at `at` and the place after it."""
    return _read(octets, at, MOST_BITS)


@bare_inlined
def write_signed(octets: Octets, at: Whole, value: Whole) -> Whole:
    """Writes a number of at most 62 bits and a sign; returns the place after it."""
    return write_varint(octets, at, -2 * value - 1 if value < 0 else 2 * value)


@bare_inlined
def read_signed(octets: Octets, at: Whole) -> tuple[Whole, Whole]:
    """The signed number at `at` and the place after it."""
    value, at = _read(octets, at, SIGNED_BITS)
    return (-(value + 1) // 2 if value % 2 else value // 2), at
