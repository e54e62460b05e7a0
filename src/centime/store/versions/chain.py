"""Versions of a document as a chain: a key frame, then each version compressed with the one before it as a prefix.

Versions are bytes, so they are stored without loss; deltas of trees are derived. A key frame begins every KEY_EVERY
versions, so a version is restored from at most that many frames. Zstandard with a prefix finds common parts of both
over any distance; the window covers both, so memory is a small multiple of the two. A key frame of a small page may be
compressed with a dictionary that is trained on pages of the same crawl (`dictionary.py`); its head has the number of
that dictionary.

Trap: the previous version as a raw *dictionary* instead of a prefix takes 180 times the room, because only the last
bytes of a dictionary are searched.
"""

import sys
from collections.abc import Callable
from typing import TypeAlias

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from centime.model.errors import DamagedFile

KEY_EVERY = 32
LEVEL = 3  # of compression; 9 takes three times as long for 8 % less
LEAST_PREFIX = 8  # bytes
LEAST_WINDOW, MOST_WINDOW = 10, 27  # logarithms of the bytes in which repetitions are found
_WIDE = {int(zstd.DecompressionParameter.window_log_max): MOST_WINDOW + 1}
_ALONE = zstd.ZstdCompressor(level=LEVEL)  # shared by all key frames: making its tables takes a fifth of the time


class Dictionary:
    """Common parts of the pages of a crawl; frames refer to it by `number`. It is used for pages of up to `longest`
    bytes.
    """

    def __init__(self, content: bytes, longest: int) -> None:
        try:
            self.loaded = zstd.ZstdDict(content)
        except (ValueError, zstd.ZstdError) as trouble:
            raise DamagedFile(f"a dictionary cannot be read: {trouble}") from trouble
        self.content, self.longest = content, longest
        self.number = self.loaded.dict_id
        self._compressor: zstd.ZstdCompressor | None = None

    def compress(self, body: bytes) -> bytes:
        """A frame of a body."""
        if self._compressor is None:
            self._compressor = zstd.ZstdCompressor(level=LEVEL, zstd_dict=self.loaded.as_digested_dict)
        return self._compressor.compress(body, mode=zstd.ZstdCompressor.FLUSH_FRAME)


Dictionaries: TypeAlias = Callable[[int], Dictionary]
"""The dictionary with a number; DamagedFile if it is lost."""


def packed(body: bytes, before: bytes | None, dictionary: Dictionary | None = None) -> bytes:
    """A version as a frame: alone if `before` is None, with a dictionary if there is one; else with the version before
    it as a prefix.
    """
    if before is None or len(before) < LEAST_PREFIX:
        if dictionary is not None and len(body) <= dictionary.longest:
            return dictionary.compress(body)
        return _ALONE.compress(body, mode=zstd.ZstdCompressor.FLUSH_FRAME)
    parameter = zstd.CompressionParameter
    options = {
        int(parameter.compression_level): LEVEL,
        int(parameter.window_log): _window(len(body) + len(before)),
        int(parameter.enable_long_distance_matching): 1,
    }
    return zstd.compress(body, options=options, zstd_dict=zstd.ZstdDict(before, is_raw=True).as_prefix)


def unpacked(frame: bytes, before: bytes | None, size: int, dictionaries: Dictionaries | None = None) -> bytes:
    """The version of a frame, which has `size` bytes; DamagedFile if the frame is not whole or of another version."""
    try:
        reader = _reader(frame, before, size, dictionaries)
        body = reader.decompress(frame, max_length=size + 1)
    except zstd.ZstdError as trouble:
        raise DamagedFile(f"a frame of a version cannot be read: {trouble}") from trouble
    if len(body) != size or not reader.eof or reader.unused_data:
        raise DamagedFile(f"a frame of a version has not the {size} bytes that it should have")
    return body


def _reader(frame: bytes, before: bytes | None, size: int, dictionaries: Dictionaries | None) -> zstd.ZstdDecompressor:
    if before is not None and len(before) >= LEAST_PREFIX:
        return zstd.ZstdDecompressor(zstd_dict=zstd.ZstdDict(before, is_raw=True).as_prefix, options=_WIDE)
    if dictionaries is not None and (number := zstd.get_frame_info(frame).dictionary_id):
        return zstd.ZstdDecompressor(zstd_dict=dictionaries(number).loaded.as_digested_dict)
    # always allows a window of up to MOST_WINDOW, which is quicker than a check
    return zstd.ZstdDecompressor(options=_WIDE) if size > 1 << MOST_WINDOW else zstd.ZstdDecompressor()


def _window(size: int) -> int:
    return min(max((size + 1024).bit_length(), LEAST_WINDOW), MOST_WINDOW)
