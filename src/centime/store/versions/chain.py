"""Versions of a document as a chain: a key frame, then each version compressed with the one before it as a prefix.

Versions are bytes, so nothing of them is lost; deltas of trees are derived. A key frame begins every KEY_EVERY
versions, so a version is restored from at most that many frames. Zstandard with a prefix finds what both have in common
over any distance; the window covers both, so memory is a small multiple of the two.

Trap: the previous version as a raw *dictionary* instead of a prefix takes 180 times the room, because only the last
bytes of a dictionary are searched.
"""

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from centime.model.errors import DamagedFile

KEY_EVERY = 32
LEVEL = 3  # of compression; 9 takes three times as long for 8 % less
LEAST_PREFIX = 8  # bytes
LEAST_WINDOW, MOST_WINDOW = 10, 27  # logarithms of the bytes in which repetitions are found
_ALONE = zstd.ZstdCompressor(level=LEVEL)  # used again for every key frame: its tables take a fifth of the time


def packed(body: bytes, before: bytes | None) -> bytes:
    """A version as a frame: alone if `before` is None, else with the version before it as a prefix."""
    if before is None or len(before) < LEAST_PREFIX:
        return _ALONE.compress(body, mode=zstd.ZstdCompressor.FLUSH_FRAME)
    parameter = zstd.CompressionParameter
    options = {
        int(parameter.compression_level): LEVEL,
        int(parameter.window_log): _window(len(body) + len(before)),
        int(parameter.enable_long_distance_matching): 1,
    }
    return zstd.compress(body, options=options, zstd_dict=zstd.ZstdDict(before, is_raw=True).as_prefix)


def unpacked(frame: bytes, before: bytes | None, size: int) -> bytes:
    """The version of a frame, which has `size` bytes; DamagedFile if the frame is not whole or of another version."""
    options = {int(zstd.DecompressionParameter.window_log_max): MOST_WINDOW + 1}
    prefix = None if before is None or len(before) < LEAST_PREFIX else zstd.ZstdDict(before, is_raw=True).as_prefix
    reader = zstd.ZstdDecompressor(zstd_dict=prefix, options=options)
    try:
        body = reader.decompress(frame, max_length=size + 1)
    except zstd.ZstdError as trouble:
        raise DamagedFile(f"a frame of a version cannot be read: {trouble}") from trouble
    if len(body) != size or not reader.eof or reader.unused_data:
        raise DamagedFile(f"a frame of a version has not the {size} bytes that it should have")
    return body


def _window(size: int) -> int:
    return min(max((size + 1024).bit_length(), LEAST_WINDOW), MOST_WINDOW)
