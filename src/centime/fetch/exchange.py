"""One HTTP request and its answer, whatever comes, within the bounds of the settings.

Nothing is followed, nothing is retried and nothing raises (but a cancellation from outside). Memory per request is
bounded by the body's limit and a few buffers: the body is undone by `coding` piece by piece and reading stops at the
limit, of decompressed and of received bytes alike, since endless empty gzip members give nothing and cost all the same.

Traps. aiohttp asks a second time by itself when a connection breaks, even a new one; that is switched off, because a
host would see two requests at once. A kept connection may have been closed by the server meanwhile, or still bring
bytes behind the last answer (see `framing`): that alone is worth another try, and `ask` gives nothing back then, so
that the caller can keep to the delay. aiohttp does not bound the connections that it keeps; when too many are open, an
answer's connection is closed instead of kept. For a small answer the connection has been given back before the answer
is seen: its address must be noted earlier, which `_Answer` does.
"""

import asyncio
import socket
import ssl
import time
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from centime.fetch.answer import decode_headers, outcome_of, retry_after, target_of
from centime.fetch.coding import ACCEPTED, decoder_for
from centime.fetch.failure import NoAddress, RefusedAddress, failure_of
from centime.fetch.framing import Framed
from centime.fetch.guard import Guard
from centime.fetch.resolver import Resolver
from centime.fetch.settings import FetchSettings
from centime.fetch.watch import Attempt, Watch
from centime.model.outcome import Outcome
from centime.model.response import Request, Response

_DRAINED = 16 * 1024  # what is read of an answer that nobody wants, to keep its connection
_DRAIN_SECONDS = 2.0
_NO_LIMIT = aiohttp.ClientTimeout(total=None, sock_connect=None)  # the watch keeps the time
_attempt: ContextVar[Attempt] = ContextVar("attempt")
_peers: weakref.WeakKeyDictionary[Any, tuple[Any, ...]] = weakref.WeakKeyDictionary()


class _Answer(aiohttp.ClientResponse):
    """An answer that notes when it was asked for and where it comes from."""

    async def start(self, connection: Any) -> aiohttp.ClientResponse:
        attempt = _attempt.get()
        attempt.sent = now = time.monotonic()
        attempt.deadline = min(attempt.end, now + attempt.patience)
        protocol = connection.protocol
        peer = _peers.get(protocol)
        if peer is None:  # asking the transport is a system call, and a connection keeps its peer
            peer = _peers[protocol] = connection.transport.get_extra_info("peername") or ("",)
        attempt.address = peer[0]
        if not attempt.keep:
            protocol.force_close()
        await super().start(connection)
        attempt.answered = time.monotonic()
        attempt.deadline = attempt.end
        return self


class Judged(AbstractResolver):
    """Gives the connector what the guard let through, and nothing else."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The address of a name, if it may be asked."""
        place = await self._resolver.find(host)
        if place.outcome is Outcome.REFUSED_ADDRESS:
            raise RefusedAddress(place.detail)
        if not place.address:
            raise NoAddress(place.detail)
        found = socket.AF_INET6 if ":" in place.address else socket.AF_INET
        return [
            ResolveResult(
                hostname=host, host=place.address, port=port, family=found, proto=0, flags=socket.AI_NUMERICHOST
            )
        ]

    async def close(self) -> None:
        """There is nothing to let go of."""


class Exchange:
    """Asks for single pages over connections that are kept."""

    def __init__(self, settings: FetchSettings, guard: Guard, resolver: Resolver, clock: Callable[[], float]) -> None:
        """An exchange for the running loop; `clock` is the time of the world."""
        self._settings = settings
        self._guard = guard
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        shortest = min(settings.total_seconds, settings.connect_seconds, settings.first_byte_seconds)
        self._watch = Watch(
            tick_seconds=min(0.25, shortest / 4, settings.slow_grace_seconds / 4 or 0.25),
            least_bytes_per_second=settings.least_bytes_per_second,
            grace_seconds=settings.slow_grace_seconds,
        )
        connector = aiohttp.TCPConnector(
            limit=0,
            limit_per_host=0,
            resolver=Judged(resolver),
            use_dns_cache=False,
            keepalive_timeout=settings.keep_alive_seconds,
            socket_factory=self._open_socket,
            ssl=ssl.create_default_context(),
        )
        protocol: type[ResponseHandler] = Framed
        connector._factory = partial(protocol, loop=self._loop)
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": settings.user_agent, "Accept": "*/*", "Accept-Encoding": ACCEPTED},
            auto_decompress=False,
            response_class=_Answer,
            timeout=_NO_LIMIT,
            max_line_size=settings.most_header_bytes,
            max_field_size=settings.most_header_bytes,
            max_headers=512,
        )
        self._session._retry_connection = False

    @property
    def open_sockets(self) -> int:
        """How many connections are open, asked over or kept."""
        return len(self._sockets)

    async def close(self) -> None:
        """Close all connections."""
        self._watch.close()
        await self._session.close()

    async def ask(self, request: Request, *, most_bytes: int, again: bool, crawl_delay: float) -> Response | None:
        """The answer to one request, or nothing if a kept connection turned out to be dead and `again` lets the
        caller try once more.
        """
        task = asyncio.current_task()
        assert task is not None
        settings = self._settings
        attempt = Attempt(
            task, time.monotonic(), settings.connect_seconds, settings.first_byte_seconds, settings.total_seconds
        )
        attempt.keep = len(self._sockets) <= settings.connections
        _attempt.set(attempt)
        self._watch.add(attempt, self._loop)
        try:
            return await self._exchange(request, attempt, most_bytes, crawl_delay)
        except asyncio.CancelledError:
            self._watch.drop(attempt)
            if not attempt.expired or task.uncancel() > 0:
                raise
            return self._failed(request, attempt, crawl_delay, Outcome.TIMED_OUT, attempt.expired)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientResponseError) as error:
            if again and not attempt.fresh and not attempt.answered:
                return None
            return self._failed(request, attempt, crawl_delay, *failure_of(error))
        except Exception as error:  # the web finds ways that no list of exceptions foresees
            return self._failed(request, attempt, crawl_delay, *failure_of(error))
        finally:
            self._watch.drop(attempt)

    async def _exchange(self, request: Request, attempt: Attempt, most_bytes: int, crawl_delay: float) -> Response:
        url = URL(request.url, encoded=True)
        if url.raw_user is not None:
            url = url.with_user(None)  # we have no account anywhere
        headers = {}
        if request.etag:
            headers["If-None-Match"] = request.etag
        if request.modified:
            headers["If-Modified-Since"] = request.modified
        answer = await self._session.get(url, headers=headers or None, allow_redirects=False)
        asked_at = self._clock()
        try:
            head = decode_headers(answer.raw_headers)
            fields = dict(reversed(head))  # the first of repeated ones
            status = answer.status
            outcome = outcome_of(status, conditional=bool(headers))
            detail, target, wait, body, raw, truncated = "", "", 0.0, b"", b"", status == 206
            head_bytes = sum(
                [len(name) + len(value) + 4 for name, value in head]
            )  # about: characters rather than bytes
            if head_bytes > self._settings.most_header_bytes:
                outcome, detail = Outcome.BAD_RESPONSE, "the headers are too large"
            elif outcome is Outcome.READ:
                body, raw, cut = await self._read(answer, attempt, fields.get("content-encoding", ""), most_bytes)
                truncated = truncated or cut
            elif outcome.redirect:
                target = target_of(request.url, fields.get("location", ""))
                if not target:
                    outcome, detail = Outcome.BAD_RESPONSE, f"status {status} without a place to go"
            elif outcome is Outcome.BAD_RESPONSE:
                detail = f"status {status} was not to be expected"
            elif status >= 400 and "retry-after" in fields:
                wait = retry_after(fields["retry-after"], date=fields.get("date", ""), now=asked_at)
            if outcome is not Outcome.READ:
                await self._drain(answer, attempt)
        finally:
            if not answer.closed:
                answer.close()
        return Response(
            url=request.url,
            outcome=outcome,
            status=status,
            headers=head,
            body=body,
            truncated=truncated,
            target=target,
            address=attempt.address,
            asked_at=asked_at,
            seconds=attempt.answered - attempt.sent,
            wire_bytes=attempt.received + head_bytes + len(answer.reason or "") + 17,
            crawl_delay=crawl_delay,
            retry_after=wait,
            detail=detail,
            request_head=self._request_head(answer, url) if self._settings.keep_heads else b"",
            response_head=self._response_head(answer) if self._settings.keep_heads else b"",
            raw_body=raw,
        )

    async def _read(
        self, answer: aiohttp.ClientResponse, attempt: Attempt, coding: str, most: int
    ) -> tuple[bytes, bytes, bool]:
        """The body, the body as received if it is wanted and was coded, and whether there was more."""
        decoder = decoder_for(coding) if coding else None
        content = answer.content
        wanted = self._settings.keep_heads and decoder is not None
        raw: list[bytes] = []
        pieces: list[bytes] = []
        size = 0
        while not content.at_eof():
            chunk = await content.readany()
            attempt.received += len(chunk)
            if wanted:
                raw.append(chunk)
            for piece in (chunk,) if decoder is None else decoder.pieces(chunk):
                size += len(piece)
                if size > most:
                    pieces.append(
                        piece[: most - size]
                    )  # cut here rather than after joining, which would copy it all once more
                    break
                pieces.append(piece)
            if size > most or attempt.received > most + _DRAINED:
                return b"".join(pieces), b"".join(raw), True
        if decoder is not None:
            decoder.finish()
        return (pieces[0] if len(pieces) == 1 else b"".join(pieces)), b"".join(raw), False

    async def _drain(self, answer: aiohttp.ClientResponse, attempt: Attempt) -> None:
        """Read a small rest so that the connection can be kept; a large or slow one is not worth it."""
        content = answer.content
        attempt.deadline = min(attempt.deadline, time.monotonic() + _DRAIN_SECONDS)
        try:
            while attempt.received <= _DRAINED and (chunk := await content.readany()):
                attempt.received += len(chunk)
        except asyncio.CancelledError:
            self._watch.drop(attempt)
            if not attempt.expired or attempt.task.uncancel() > 0:
                raise
        except (aiohttp.ClientError, OSError):
            pass  # the head has come, and that is all that was wanted

    def _failed(
        self, request: Request, attempt: Attempt, crawl_delay: float, outcome: Outcome, detail: str
    ) -> Response:
        now = time.monotonic()
        return Response(
            url=request.url,
            outcome=outcome,
            address=attempt.address,
            asked_at=self._clock(),
            seconds=(attempt.answered or now) - (attempt.sent or attempt.started),
            wire_bytes=attempt.received,
            crawl_delay=crawl_delay,
            detail=detail,
        )

    def _open_socket(self, info: Any) -> socket.socket:
        """A socket for the address that is about to be connected to: the last door, where the guard looks once more."""
        family, kind, protocol, _, place = info
        if not self._guard.allows(place[0]):
            raise RefusedAddress(f"{place[0]} is not a public address")
        attempt = _attempt.get()
        attempt.fresh = True
        attempt.address = place[0]
        opened = socket.socket(family, kind, protocol)
        self._sockets.add(opened)
        return opened

    @staticmethod
    def _request_head(answer: aiohttp.ClientResponse, url: URL) -> bytes:
        lines = [
            f"GET {url.raw_path_qs} HTTP/1.1",
            *(f"{name}: {value}" for name, value in answer.request_info.headers.items()),
        ]
        return "\r\n".join([*lines, "", ""]).encode()

    @staticmethod
    def _response_head(answer: aiohttp.ClientResponse) -> bytes:
        version = answer.version or aiohttp.HttpVersion11
        first = f"HTTP/{version.major}.{version.minor} {answer.status} {answer.reason or ''}".encode(
            "utf-8", "surrogateescape"
        )
        return b"\r\n".join([first, *(name + b": " + value for name, value in answer.raw_headers), b"", b""])
