"""Instantaneous codes in a stream of bits, most significant bit first, as WebGraph writes them.

    unary     n zeros, then a one
    gamma     h in unary, then h bits: 2^h + bits - 1
    delta     h in gamma, then h bits: 2^h + bits - 1
    zeta_k    h in unary, then the offset in 2^(hk) .. 2^((h+1)k) - 1, minus 1, in minimal binary
    nibble    groups of 3 bits, each after a bit that is one in the last group only
    golomb_k  the quotient by k in unary, then the remainder in minimal binary

The stream is an array of 32-bit words, two zero words longer than the file. A reader returns (value, next bit). The
value is `BROKEN`, which is negative, if the code runs past the end or its value cannot be a page number, so a caller
that checks ranges needs no other check.

Guaranteed: no read outside the words, whatever the bits are; every reader moves forward; all arithmetic stays below
2^63 and above -1.
"""

import sys
from io import BufferedIOBase, BytesIO

import numpy as np
import numpy.typing as npt

from centime.model.kernel import inlined, kernel

Words = npt.NDArray[np.uint32]

UNARY, GAMMA, DELTA, ZETA, NIBBLE, GOLOMB = range(6)
FILE_ORDER = ">u4"  # the first bit of a file is the highest of its first byte
BROKEN = -1
WIDEST = 34  # bits of the largest value in a file with 2^31 pages, with a margin
LEADING_ZEROS = np.array([8 - byte.bit_length() for byte in range(256)], dtype=np.int64)


def words_of(data: bytes) -> Words:
    """Bytes as 32-bit words, with two zero words after the last."""
    return words_from(BytesIO(data), len(data))


def words_from(file: BufferedIOBase, size: int) -> Words:
    """The next `size` bytes of a file as 32-bit words, with two zero words after the last; makes no second copy."""
    words = np.zeros((size + 3) // 4 + 2, dtype=np.uint32)
    view = words.data.cast("B")[:size]
    while len(view) and (read := file.readinto(view)):
        view = view[read:]
    if sys.byteorder == "little":
        words.byteswap(inplace=True)
    return words


@inlined
def _window(words: Words, bit: int) -> int:
    """The next 32 bits as a number; bits after the end are zero."""
    word = bit >> 5
    if word + 1 >= len(words):
        return 0
    shift = bit & 31
    return ((int(np.int64(words[word])) << shift) & 0xFFFFFFFF) | (int(np.int64(words[word + 1])) >> (32 - shift))


@inlined
def _bits(words: Words, bit: int, count: int) -> int:
    """The next `count` bits, at most 62, as a number."""
    if count <= 32:
        return _window(words, bit) >> (32 - count)
    return (_window(words, bit) << (count - 32)) | (_window(words, bit + 32) >> (64 - count))


@inlined
def _unary(words: Words, bit: int, end: int) -> tuple[int, int]:
    start = bit
    window = _window(words, bit)
    while window == 0:
        bit += 32
        if bit >= end:
            return BROKEN, bit
        window = _window(words, bit)
    while window < 1 << 24:
        window <<= 8
        bit += 8
    bit += int(LEADING_ZEROS[window >> 24])
    return (bit - start if bit < end else BROKEN), bit + 1


@inlined
def _gamma(words: Words, bit: int, end: int) -> tuple[int, int]:
    width, bit = _unary(words, bit, end)
    if width < 0 or width > WIDEST or bit + width > end:
        return BROKEN, bit
    return (1 << width) + _bits(words, bit, width) - 1, bit + width


@inlined
def _minimal_binary(words: Words, bit: int, size: int, width: int) -> tuple[int, int]:
    """A number below `size`, which is from 2^width to 2^(width+1); small numbers have `width` bits, others one more."""
    short = (2 << width) - size
    value = _bits(words, bit, width)
    if value < short:
        return value, bit + width
    return _bits(words, bit, width + 1) - short, bit + width + 1


@kernel
def read_gamma(words: Words, bit: int, end: int) -> tuple[int, int]:
    """The value of the gamma code that starts at `bit` and the bit after it."""
    return _gamma(words, bit, end)


@kernel
def read_code(words: Words, bit: int, end: int, code: int, parameter: int) -> tuple[int, int]:
    """The value of the code that starts at `bit` and the bit after it; k of zeta and golomb is `parameter`."""
    if code == GAMMA:
        return _gamma(words, bit, end)
    value, width = BROKEN, 0
    if code == NIBBLE:
        value = 0
        last = False
        while not last:
            if bit + 4 > end or value >= 1 << WIDEST:
                return BROKEN, bit
            group = _bits(words, bit, 4)
            value = (value << 3) | (group & 7)
            last = group >= 8
            bit += 4
        return value, bit
    if code == DELTA:
        width, bit = _gamma(words, bit, end)
        if width < 0 or width > WIDEST:
            return BROKEN, bit
        value, bit = (1 << width) + _bits(words, bit, width) - 1, bit + width
    else:
        value, bit = _unary(words, bit, end)
        if code == ZETA and 0 <= value:
            if value * parameter > WIDEST:
                return BROKEN, bit
            low = 1 << value * parameter
            width = value * parameter + parameter - 1
            rest, bit = _minimal_binary(words, bit, (low << parameter) - low, width)
            value = low + rest - 1
        elif code == GOLOMB and 0 <= value:
            width = 0
            while parameter >> (width + 1) > 0:
                width += 1
            rest, bit = _minimal_binary(words, bit, parameter, width)
            value = value * parameter + rest
    return (value if bit <= end else BROKEN), bit
