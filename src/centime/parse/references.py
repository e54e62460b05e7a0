"""Character references of WHATWG: `&amp;`, `&#233;`, `&#xE9;` and the 106 names that need no semicolon.

In an attribute, a name without a semicolon is not a reference if `=`, a letter or a digit follows: `?a=1&copy=2` stays
as it is. Numbers without a character become U+FFFD; numbers of C1 controls become the windows-1252 characters.

A name has at most LONGEST_NAME bytes, so the work per `&` is bounded by a constant. The output has at most 6 / 5 of the
length of the input.
"""

from html.entities import html5

import numpy as np
import numpy.typing as npt

from centime.model.kernel import Whole, bare_inlined, bare_part, late_kernel
from centime.parse.names import CODE_MASK

Bytes = npt.NDArray[np.uint8]

IN_TEXT, IN_VALUE = np.int64(0), np.int64(1)  # the place of a reference
LONGEST_NAME = max(map(len, html5))
LONGEST_OPEN_NAME = max(len(name) for name in html5 if name[-1] != ";")
_SLOTS = 8_192
_REPLACEMENT = 0xFFFD
_TOO_LARGE = np.int64(0x110000)
_WINDOWS = np.array([ord(bytes([byte]).decode("cp1252", "replace")) for byte in range(128, 160)], dtype=np.int64)
_WINDOWS[_WINDOWS == _REPLACEMENT] = np.arange(128, 160)[_WINDOWS == _REPLACEMENT]


def _table() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The codes of the names by slot, and the one or two characters of each."""
    codes, characters = np.zeros(_SLOTS, dtype=np.int64), np.zeros((_SLOTS, 2), dtype=np.int64)
    taken = [0] * _SLOTS
    for name, meant in html5.items():
        code = 0
        for byte in name.encode():
            code = (257 * code + byte) & CODE_MASK
        slot = (code ^ (code >> 13)) % _SLOTS
        while taken[slot]:
            slot = (slot + 1) % _SLOTS
        taken[slot] = code
        codes[slot] = code
        for place, character in enumerate(meant):
            characters[slot, place] = ord(character)
    return codes, characters


_CODES, _CHARACTERS = _table()


def without_references(text: bytes, *, attribute: bool) -> str:
    """The text of an attribute or a title with resolved references, normalised line ends and replaced NULs."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"&" in text:
        data = np.frombuffer(text, dtype=np.uint8)
        out = np.empty(2 * len(data), dtype=np.uint8)
        text = out[: resolve(data, 0, len(data), IN_VALUE if attribute else IN_TEXT, out, 0)].tobytes()
    found = text.decode()
    return found.replace("\0", "\ufffd") if "\0" in found else found


@late_kernel(0.5)
def resolve(data: Bytes, at: Whole, end: Whole, where: Whole, out: Bytes, written: Whole) -> Whole:
    """Copies bytes with resolved references; returns the new end of the output."""
    return resolve_part(data, at, end, where, out, written)


@bare_part
def resolve_part(data: Bytes, at: Whole, end: Whole, where: Whole, out: Bytes, written: Whole) -> Whole:
    """The same as a part of other kernels."""
    while at < end:
        byte = data[at]
        if byte == 38:
            at, written = reference(data, at, end, where, out, written)
        else:
            out[written] = byte
            written += 1
            at += 1
    return written


@bare_part
def reference(data: Bytes, at: Whole, end: Whole, where: Whole, out: Bytes, written: Whole) -> tuple[Whole, Whole]:
    """Writes the characters of the reference at an `&`; returns the next place to read and the end of the output."""
    if at + 2 < end and data[at + 1] == 35:
        return _number(data, at, end, out, written)
    code = np.int64(0)
    found: Whole = np.int64(-1)
    found_end = at
    place = at + 1
    last = min(end, at + 1 + LONGEST_NAME)
    while place < last:
        byte = np.int64(data[place])
        if not (97 <= (byte | 32) <= 122 or 48 <= byte <= 57 or byte == 59):
            break
        code = (257 * code + byte) & CODE_MASK
        place += 1
        if byte == 59 or place - at - 1 <= LONGEST_OPEN_NAME:
            slot = _slot_of(code)
            if slot >= 0:
                found, found_end = slot, place
        if byte == 59:
            break
    if found >= 0 and where == IN_VALUE and data[found_end - 1] != 59 and found_end < end:
        byte = np.int64(data[found_end])
        if 97 <= (byte | 32) <= 122 or 48 <= byte <= 57 or byte == 61:
            found = np.int64(-1)
    if found < 0:
        out[written] = 38
        return at + 1, written + 1
    written = write_character(_CHARACTERS[found, 0], out, written)
    if _CHARACTERS[found, 1]:
        written = write_character(_CHARACTERS[found, 1], out, written)
    return found_end, written


@bare_inlined
def _slot_of(code: Whole) -> Whole:
    """The slot of the name with this code; -1 if there is none."""
    slot = (code ^ (code >> 13)) % _SLOTS
    while _CODES[slot] != 0:
        if _CODES[slot] == code:
            return slot
        slot = (slot + 1) % _SLOTS
    return np.int64(-1)


@bare_inlined
def _number(data: Bytes, at: Whole, end: Whole, out: Bytes, written: Whole) -> tuple[Whole, Whole]:
    """The same for a numeric reference, `&#`."""
    place = at + 2
    hexadecimal = data[place] | 32 == 120
    if hexadecimal:
        place += 1
    first = place
    value = np.int64(0)
    while place < end:
        byte = np.int64(data[place])
        if 48 <= byte <= 57:
            digit = byte - 48
        elif hexadecimal and 97 <= (byte | 32) <= 102:
            digit = (byte | 32) - 87
        else:
            break
        value = min(value * (16 if hexadecimal else 10) + digit, _TOO_LARGE)
        place += 1
    if place == first:
        out[written] = 38
        return at + 1, written + 1
    if place < end and data[place] == 59:
        place += 1
    if value == 0 or value > 0x10FFFF or 0xD800 <= value <= 0xDFFF:
        value = np.int64(_REPLACEMENT)
    elif 128 <= value < 160:
        value = _WINDOWS[value - 128]
    return place, write_character(value, out, written)


@bare_inlined
def write_character(character: Whole, out: Bytes, written: Whole) -> Whole:
    """Writes a character in UTF-8; returns the new end of the output."""
    if character < 0x80:
        out[written] = character
        return written + 1
    if character < 0x800:
        out[written] = 0xC0 | (character >> 6)
        out[written + 1] = 0x80 | (character & 63)
        return written + 2
    if character < 0x10000:
        out[written] = 0xE0 | (character >> 12)
        out[written + 1] = 0x80 | ((character >> 6) & 63)
        out[written + 2] = 0x80 | (character & 63)
        return written + 3
    out[written] = 0xF0 | (character >> 18)
    out[written + 1] = 0x80 | ((character >> 12) & 63)
    out[written + 2] = 0x80 | ((character >> 6) & 63)
    out[written + 3] = 0x80 | (character & 63)
    return written + 4
