"""How a file of records is packed: members of gzip, or frames of Zstandard (.warc.zst), one after the other.

A file of Zstandard may begin with a skippable frame that holds a dictionary for all its frames, itself packed or not.
Both kinds have the interface of zlib: unpacking has a limit of bytes, and the bytes behind a member are left over.
"""

import sys
import zlib
from typing import Protocol

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

GZIP = b"\x1f\x8b\x08"
ZSTANDARD = b"\x28\xb5\x2f\xfd"
DICTIONARY = b"\x5d\x2a\x4d\x18"
SKIPPABLE = b"\x2a\x4d\x18"  # after a first byte of 0x50 to 0x5f
FRAME_HEAD = 8
MOST_DICTIONARY = 16 << 20
BROKEN = (zlib.error, zstd.ZstdError)


class Stream(Protocol):
    """Unpacks one member."""

    eof: bool
    unused_data: bytes
    unconsumed_tail: bytes

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """At most `most` unpacked bytes of the data."""
        ...


class _Frame:
    """A frame of Zstandard, with the interface of zlib. It keeps the data that it has not unpacked yet."""

    unconsumed_tail = b""

    def __init__(self, dictionary: "zstd.ZstdDict | None") -> None:
        self._frame = zstd.ZstdDecompressor(zstd_dict=dictionary)

    @property
    def eof(self) -> bool:
        """Whether the frame has ended."""
        return self._frame.eof

    @property
    def unused_data(self) -> bytes:
        """What follows the frame."""
        return self._frame.unused_data

    def decompress(self, data: bytes, most: int, /) -> bytes:
        """At most `most` unpacked bytes of the frame."""
        return self._frame.decompress(data, most)


class Packing:
    """How the members of one file are packed."""

    def __init__(self, magic: bytes, dictionary: "zstd.ZstdDict | None" = None) -> None:
        self.magic = magic  # with which a member begins
        self._dictionary = dictionary

    def stream(self) -> Stream:
        """A stream that unpacks the next member."""
        return zlib.decompressobj(31) if self.magic == GZIP else _Frame(self._dictionary)  # type: ignore[return-value]

    def skipped(self, window: bytes) -> int:
        """The number of bytes of a skippable frame with which the window begins; 0 if it begins with none."""
        if self.magic != ZSTANDARD or window[1:4] != SKIPPABLE or window[0] & 0xF0 != 0x50:
            return 0
        return FRAME_HEAD + int.from_bytes(window[4:8], "little")


def dictionary_bytes(begin: bytes) -> int:
    """The number of bytes of the dictionary with which a file begins, its head included; 0 if it has none."""
    size = FRAME_HEAD + int.from_bytes(begin[4:8], "little") if begin.startswith(DICTIONARY) else 0
    return size if size <= MOST_DICTIONARY else 0


def packing_of(begin: bytes) -> Packing | None:
    """How the file that begins with these bytes is packed, dictionary included; None if it is not packed."""
    if begin.startswith(GZIP):
        return Packing(GZIP)
    if not begin.startswith((ZSTANDARD, DICTIONARY)):
        return None
    words = begin[FRAME_HEAD : dictionary_bytes(begin)]
    try:
        words = _unpacked_dictionary(words) if words.startswith(ZSTANDARD) else words
        return Packing(ZSTANDARD, zstd.ZstdDict(words) if words else None)
    except (zstd.ZstdError, ValueError):
        return Packing(ZSTANDARD)


def _unpacked_dictionary(packed: bytes) -> bytes:
    """The dictionary that a frame holds, whatever follows the frame; empty if it is cut or too long."""
    frame = zstd.ZstdDecompressor()
    words = frame.decompress(packed, MOST_DICTIONARY)
    return words if frame.eof else b""
