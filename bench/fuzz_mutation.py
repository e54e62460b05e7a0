"""Mutated inputs: the same number gives the same input, so a finding is named by target and number alone.

Bits and bytes are changed, blocks deleted, repeated, exchanged and taken from other good inputs, words of the format
inserted, and numbers, binary or written in digits, replaced by those at which arithmetic breaks. Half of the inputs are
changed in one or two places only, so that a reader goes on behind the damage. One input in LONG_EVERY may be long.
"""

import re
import zlib
from random import Random

from bench.fuzz_target import Target

BYTES = b"\x00\x01\x09\x0a\x0d\x1b\x20\x22\x26\x27\x2f\x30\x3c\x3e\x7f\x80\x85\x9b\xc0\xe2\xf0\xff"
NUMBERS = (0, 1, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)
WRITTEN = (*(b"%d" % number for number in NUMBERS), b"-1", b"1e309", b"0x10", b"007", b"9" * 400)
COUNTS = (1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 8)
LENGTHS = (1, 1, 2, 4, 8, 20, 40, 100)
REPEATED = (1, 1, 1, 2, 3, 20)
MOST_BYTES, LONGEST_BYTES = 2_000, 20_000
LONG_EVERY = 64

_DIGITS = re.compile(rb"[0-9]+")
_chance = Random()


def mutated(name: str, target: Target, number: int) -> bytes:
    """The input of a target with this number; its good inputs come first."""
    seeds = target.seeds
    if number < len(seeds):
        return seeds[number]
    _chance.seed(number << 32 | zlib.crc32(name.encode()))
    draw = _chance.random
    data = bytearray(seeds[int(draw() * len(seeds))])
    long = number % LONG_EVERY == 0
    for _ in range(COUNTS[int(draw() * len(COUNTS))]):
        at = int(draw() * (len(data) + 1))
        end = at + LENGTHS[int(draw() * len(LENGTHS))] * (10 if long else 1)
        _mutate(data, target, at, min(end, len(data)))
    return bytes(data[: LONGEST_BYTES if long else MOST_BYTES + len(seeds[0])])


def _mutate(data: bytearray, target: Target, at: int, end: int) -> None:
    draw = _chance.random
    match int(draw() * 11):
        case 0 if at < len(data):
            data[at] ^= 1 << int(draw() * 8)
        case 1 if at < len(data):
            data[at] = BYTES[int(draw() * len(BYTES))]
        case 2:
            del data[at:end]
        case 3:
            data[at:at] = data[at:end] * REPEATED[int(draw() * len(REPEATED))]
        case 4 | 5 if target.words:
            data[at:at] = target.words[int(draw() * len(target.words))]
        case 6:
            other = target.seeds[int(draw() * len(target.seeds))]
            begin = int(draw() * len(other))
            data[at:end] = other[begin : begin + 1 + int(draw() * 60)]
        case 7:
            size = 1 << int(draw() * 4)
            number = NUMBERS[int(draw() * len(NUMBERS))] % (1 << 8 * size)
            data[at : at + size] = number.to_bytes(size, "little" if draw() < 0.5 else "big")
        case 8:
            found = _DIGITS.search(data, at)
            begin, behind = found.span() if found else (at, end)
            data[begin:behind] = WRITTEN[int(draw() * len(WRITTEN))]
        case 9:
            other_at = int(draw() * (len(data) + 1))
            block = data[at:end]
            del data[at:end]
            data[other_at:other_at] = block
        case _ if draw() < 0.3:
            del data[end:]
        case _:
            data[at:end] = _chance.randbytes(4)
