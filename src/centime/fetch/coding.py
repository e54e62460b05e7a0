"""Decodes content codings piece by piece: whatever comes, at most PIECE bytes are made at a time.

A bomb (a gigabyte of nothing in a few hundred bytes) costs one piece of memory, because the reader of the pieces stops
when it has enough. Codings of codings ("gzip, br") are decoded one inside the other under the same bound, at most
MOST_CODINGS deep.

Servers lie: a body that is called gzip or zstd but does not start like it is taken as it is, and so is one called
deflate or br that fails before it gave anything. A body that breaks later, or ends early, is a `BrokenCoding`. Bytes
behind the end of a stream are ignored, as browsers do, unless they are another member of the same kind; more than
MOST_MEMBERS are hostile, because empty ones cost time and give nothing.
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

import brotli
from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdError

from centime.model.errors import CentimeError

PIECE = 64 * 1024
MOST_CODINGS = 3
MOST_MEMBERS = 4096
ACCEPTED = "gzip, br, zstd"
_WINDOW: dict[int, int] = {DecompressionParameter.window_log_max: 23}  # 8 MiB, the most that RFC 9659 allows a server

_FRAMES = frozenset((0x28, *range(0x50, 0x60)))  # first bytes of a zstd frame, or of one to be skipped


class BrokenCoding(CentimeError):
    """A compressed body that cannot be decoded; it becomes an outcome and never leaves the fetcher."""


class Decoder(Protocol):
    """Decodes one coding."""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What the data gives, in pieces of bounded size."""

    def finish(self) -> None:
        """Raises `BrokenCoding` if the stream is not complete."""


class _Deflated:
    """gzip (any number of members), zlib or bare deflate."""

    def __init__(self, gzip: bool) -> None:
        self._gzip = gzip
        self._members = 0
        self._stream: zlib._Decompress | None = None
        self._plain = False
        self._given = False
        self._held: list[bytes] = []  # what came before the stream gave anything: it may not be coded at all
        self._over = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while data and not self._over:
            if self._plain:
                yield data
                return
            if self._stream is None:
                self._start(data)
                continue
            try:
                piece = self._stream.decompress(data, PIECE)
            except zlib.error as error:
                if self._gzip or self._given:
                    raise BrokenCoding(f"the compressed body is broken ({error})") from None
                self._plain = True
                data = b"".join([*self._held, data])
                continue
            if not piece and not self._given and not self._gzip:
                self._held.append(data)
            data = self._stream.unconsumed_tail
            if piece:
                self._given = True
                self._held.clear()
                yield piece
                # zlib may hold more than it was allowed to give.
                while not data and len(piece) == PIECE and not self._stream.eof:
                    piece = self._stream.decompress(b"", PIECE)
                    if piece:
                        yield piece
            if self._stream.eof:
                data = self._stream.unused_data
                if self._gzip and data[:1] == b"\x1f":
                    self._members = _count(self._members)
                    self._stream = zlib.decompressobj(31)
                else:
                    self._over = bool(data) or not self._gzip

    def finish(self) -> None:
        if self._stream is not None and not self._plain and not self._stream.eof:
            raise BrokenCoding("the compressed body ends early")

    def _start(self, data: bytes) -> None:
        if self._gzip:
            self._plain = data[:1] != b"\x1f"
            self._stream = zlib.decompressobj(31)
        else:
            wrapped = data[0] & 0x0F == 8 and (len(data) < 2 or (data[0] * 256 + data[1]) % 31 == 0)
            self._stream = zlib.decompressobj(15 if wrapped else -15)


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()
        self._plain = False
        self._begun = False
        self._given = False
        self._held: list[bytes] = []  # what came before the stream gave anything: it may not be coded at all

    def pieces(self, data: bytes) -> Iterator[bytes]:
        if self._plain:
            yield data
            return
        if self._stream.is_finished():
            return
        self._begun = True
        rest = data
        while True:
            try:
                piece = self._stream.process(rest, output_buffer_limit=PIECE)
            except brotli.error as error:
                if self._given:
                    if self._stream.is_finished():
                        return
                    raise BrokenCoding(f"the compressed body is broken ({error})") from None
                self._plain = True
                yield b"".join([*self._held, data])
                return
            rest = b""
            if not piece:
                if not self._given:
                    self._held.append(data)
                return
            self._given = True
            self._held.clear()
            yield piece
            if self._stream.is_finished():
                return

    def finish(self) -> None:
        if self._begun and not self._plain and not self._stream.is_finished():
            raise BrokenCoding("the compressed body ends early")


class _Zstandard:
    def __init__(self) -> None:
        self._members = 0
        self._stream: ZstdDecompressor | None = None
        self._plain = False
        self._over = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        if self._stream is None:
            self._plain = data[0] not in _FRAMES
            self._stream = ZstdDecompressor(options=_WINDOW)
        if self._plain:
            yield data
            return
        while not self._over:
            try:
                piece = self._stream.decompress(data, PIECE)
            except ZstdError as error:
                raise BrokenCoding(f"the compressed body is broken ({error})") from None
            data = b""
            if piece:
                yield piece
            if self._stream.eof:
                data = self._stream.unused_data
                if not data:
                    return
                self._members = _count(self._members)
                self._over = data[0] not in _FRAMES
                self._stream = ZstdDecompressor(options=_WINDOW)
            elif self._stream.needs_input:
                return

    def finish(self) -> None:
        if self._stream is not None and not (self._plain or self._over or self._stream.eof):
            raise BrokenCoding("the compressed body ends early")


class _Chain:
    """Codings inside codings: the last one applied is decoded first."""

    def __init__(self, outer: Decoder, inner: Decoder) -> None:
        self._outer = outer
        self._inner = inner

    def pieces(self, data: bytes) -> Iterator[bytes]:
        for piece in self._outer.pieces(data):
            yield from self._inner.pieces(piece)

    def finish(self) -> None:
        self._outer.finish()
        self._inner.finish()


def _count(members: int) -> int:
    if members >= MOST_MEMBERS:
        raise BrokenCoding(f"the compressed body has more than {MOST_MEMBERS} members")
    return members + 1


_MAKERS: dict[str, Callable[[], Decoder]] = {
    "gzip": lambda: _Deflated(gzip=True),
    "x-gzip": lambda: _Deflated(gzip=True),
    "deflate": lambda: _Deflated(gzip=False),
    "br": _Brotli,
    "zstd": _Zstandard,
}


def decoder_for(content_encoding: str) -> Decoder | None:
    """The decoder for a Content-Encoding, or nothing if the body is not coded; unknown names are ignored."""
    names = [name for name in (part.strip().lower() for part in content_encoding.split(",")) if name in _MAKERS]
    if len(names) > MOST_CODINGS:
        raise BrokenCoding(f"the body is coded {len(names)} times")
    decoder: Decoder | None = None
    for name in names:
        one = _MAKERS[name]()
        decoder = one if decoder is None else _Chain(one, decoder)
    return decoder
