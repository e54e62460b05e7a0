"""Finds a flipped bit by trying all of them: bytes with a checksum can be restored if only one bit of them is wrong.

A block of n bytes takes 8n hashes of n bytes: 30 milliseconds for 4 KiB, ten seconds for 128 KiB. The checksum has 64
bits and at most 2^20 bits are tried, so a wrong restoration has a probability below 2^-44.
"""

from collections.abc import Callable

MOST_BYTES = 1 << 17


def flipped_bit(data: bytes, is_right: Callable[[bytearray], bool]) -> int | None:
    """The bit (counted from the first byte, lowest bit first) whose flip makes the data right; None if there is none,
    or if the data is too long to try.
    """
    if len(data) > MOST_BYTES:
        return None
    tried = bytearray(data)
    for byte in range(len(tried)):
        for bit in range(8):
            tried[byte] ^= 1 << bit
            if is_right(tried):
                return 8 * byte + bit
            tried[byte] ^= 1 << bit
    return None


def with_bit_flipped(data: bytes, bit: int) -> bytes:
    """The data with one bit flipped."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)
