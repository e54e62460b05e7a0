"""Decodes content codings piece by piece: for any input, at most PIECE bytes are produced at a time.

A bomb (a gigabyte of nothing in a few hundred bytes) costs one piece of memory, because the reader of the pieces stops
when it has enough. Codings of codings ("gzip, br") are decoded one inside the other under the same bound, at most
MOST_CODINGS deep.

Servers lie: a body that is declared as gzip or zstd but does not start like it is taken unchanged, and so is one
declared as deflate or br that fails before it has produced anything. A body that breaks later, or ends early, is a
`BrokenCoding`. Bytes behind the end of a stream are ignored, as browsers do, unless they are another member of the same
kind; more than MOST_MEMBERS are hostile, because empty ones cost time and produce nothing. The result does not depend
on how the network divides the body.

Traps: a call that meets an error loses its output before the error. brotli also treats bytes behind the end of a stream
as an error, and a failed stream returns nothing more; so a br body is held until its end, and read again if it fails.
zstd accepts no bytes for a stream that has ended; and it compares the length of a frame with its head only if it gets
all of it at once, so it never does.
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
        """The decoded data, in pieces of bounded size."""

    def finish(self) -> None:
        """Raises `BrokenCoding` if the stream is not complete."""


class _Deflated:
    """gzip (any number of members), zlib or bare deflate."""

    def __init__(self, gzip: bool) -> None:
        self._gzip = gzip
        self._bits = 31
        self._members = 0
        self._stream: zlib._Decompress | None = None
        self._plain = False
        self._given = False
        self._held: list[bytes] = []  # the input before any output: it may not be coded at all
        self._over = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while data and not self._over:
            if self._plain:
                yield data
                return
            if self._stream is None:
                data = b"".join([*self._held, data])
                self._held.clear()
                if not self._start(data):
                    self._held.append(data)
                    return
                continue
            try:
                piece = self._stream.decompress(data, PIECE)
            except zlib.error as error:
                data = b"".join([*self._held, data])
                if self._gzip or self._given or self._gives(data):
                    raise BrokenCoding(f"the compressed body is broken ({error})") from None
                self._plain = True
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
        begun = self._stream is not None or bool(self._held)
        if begun and not self._plain and not (self._stream is not None and self._stream.eof):
            raise BrokenCoding("the compressed body ends early")

    def _start(self, data: bytes) -> bool:
        """Starts the stream that begins with these bytes; returns whether they are enough to recognise its kind."""
        if self._gzip:
            self._plain = data[:1] != b"\x1f"
            self._stream = zlib.decompressobj(31)
        elif len(data) >= 2:
            wrapped = data[0] & 0x0F == 8 and (data[0] * 256 + data[1]) % 31 == 0
            self._bits = 15 if wrapped else -15
            self._stream = zlib.decompressobj(self._bits)
        return self._stream is not None

    def _gives(self, data: bytes) -> bool:
        """Whether a stream that fails produces anything before."""
        stream, at = zlib.decompressobj(self._bits), 0
        for step in (4096, 64, 1):
            while at < len(data):
                tried = stream.copy()
                try:
                    if tried.decompress(data[at : at + step], 1):
                        return True
                except zlib.error:
                    break
                stream, at = tried, at + step
        return False


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()
        self._plain = False
        self._over = False
        self._given = 0  # bytes
        self._held: list[bytes] = []  # the input so far

    def pieces(self, data: bytes) -> Iterator[bytes]:
        if self._plain:
            yield data
        elif not self._over:
            self._held.append(data)
            try:
                for piece in _drained(self._stream, data):
                    self._given += len(piece)
                    yield piece
                self._over = self._stream.is_finished()
            except brotli.error as error:
                yield from self._read_again(error)
            if self._over or self._plain:
                self._held.clear()

    def finish(self) -> None:
        if self._held:
            raise BrokenCoding("the compressed body ends early")

    def _read_again(self, error: brotli.error) -> Iterator[bytes]:
        """The output of a failed stream up to its end; the body itself if it is not such a stream."""
        data = b"".join(self._held)
        stream = brotli.Decompressor()
        skipped = self._given
        for piece in _drained(stream, data[: _sound(data)]):
            self._given += max(0, len(piece) - skipped)
            if len(piece) > skipped:
                yield piece[skipped:]
            skipped = max(0, skipped - len(piece))
        self._over = stream.is_finished()
        self._plain = not self._given and not self._over
        if self._plain:
            yield data
        elif not self._over:
            raise BrokenCoding(f"the compressed body is broken ({error})") from None


def _drained(stream: brotli.Decompressor, data: bytes) -> Iterator[bytes]:
    """The output of a stream for some more data."""
    while piece := stream.process(data, output_buffer_limit=PIECE):
        yield piece
        data = b""


def _sound(data: bytes) -> int:
    """The number of bytes that a brotli stream accepts before it ends or fails."""
    sound = 0
    for step in (4096, 64, 1):
        stream = brotli.Decompressor()
        try:
            for _ in _drained(stream, data[:sound]):
                pass
            while sound < len(data):
                for _ in _drained(stream, data[sound : sound + step]):
                    pass
                sound += step
        except brotli.error:
            continue
    return sound


class _Zstandard:
    def __init__(self) -> None:
        self._members = 0
        self._stream: ZstdDecompressor | None = None
        self._plain = False
        self._over = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        if self._stream is None:
            self._plain = self._plain or data[0] not in _FRAMES
        if self._plain:
            yield data
            return
        while not self._over:
            if self._stream is None or self._stream.eof:
                if not data:
                    return
                self._over = data[0] not in _FRAMES
                if self._over:
                    return
                self._members = _count(self._members)
                self._stream = ZstdDecompressor(options=_WINDOW)
                self._stream.decompress(data[:1])
                data = data[1:]
            try:
                piece = self._stream.decompress(data, PIECE)
            except ZstdError as error:
                raise BrokenCoding(f"the compressed body is broken ({error})") from None
            data = b""
            if piece:
                yield piece
            if self._stream.eof:
                data = self._stream.unused_data
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
