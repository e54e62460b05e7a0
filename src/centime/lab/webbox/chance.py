"""Stateless random numbers: every random number of the box is a hash of the seed and of its purpose.

    draw(seed, a, b) = mix(mix(seed + a * GOLDEN) + b * SECOND)          mix: the finaliser of splitmix64

Numbers are not drawn in a sequence, so any page can be computed alone, in any process, with the same result. All
arithmetic is on 64-bit words modulo 2^64, which plain Python does not have: these kernels must be compiled.
"""

import math

import numpy as np

from centime.model.kernel import Whole, inlined

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
SECOND = np.uint64(0xD1B54A32D192ED03)
FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
SHIFT_30, SHIFT_27, SHIFT_31, SHIFT_11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
PAIRS, QUADS, NIBBLES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
ONE_A_BYTE, SHIFT_1, SHIFT_2, SHIFT_4, SHIFT_56 = (
    np.uint64(0x0101010101010101),
    np.uint64(1),
    np.uint64(2),
    np.uint64(4),
    np.uint64(56),
)


@inlined
def mix(value: np.uint64) -> np.uint64:
    """The word with its bits mixed by a one-to-one function."""
    value = (value ^ (value >> SHIFT_30)) * FIRST_FACTOR
    value = (value ^ (value >> SHIFT_27)) * SECOND_FACTOR
    return value ^ (value >> SHIFT_31)


@inlined
def draw(seed: np.uint64, first: Whole, second: Whole) -> np.uint64:
    """64 random bits for two numbers under a seed."""
    return mix(mix(seed + np.uint64(first) * GOLDEN) + np.uint64(second) * SECOND)


@inlined
def unit(bits: np.uint64) -> float:
    """A uniform number from 0 up to, but never, 1."""
    return np.float64(bits >> SHIFT_11) * 2.0**-53


@inlined
def normal(bits: np.uint64) -> float:
    """A normal number with mean 0 and standard deviation 1 (Box and Muller)."""
    return math.sqrt(-2.0 * math.log(1.0 - unit(bits))) * math.cos(2.0 * math.pi * unit(mix(bits + GOLDEN)))


@inlined
def ones(bits: np.uint64) -> Whole:
    """The number of bits set in a word."""
    bits = bits - ((bits >> SHIFT_1) & PAIRS)
    bits = (bits & QUADS) + ((bits >> SHIFT_2) & QUADS)
    return np.int64((((bits + (bits >> SHIFT_4)) & NIBBLES) * ONE_A_BYTE) >> SHIFT_56)
