"""One HTTP request and its answer, whatever the server sends, within the bounds of the settings.

Redirects are not followed, requests are not retried, and nothing raises except a cancellation from outside. Memory per
request is bounded by the body's limit and a few buffers: `coding` decompresses the body piece by piece, and reading
stops at the limit of decompressed and of received bytes alike, because endless empty gzip members produce nothing and
still cost time.

Traps. A kept connection may have been closed by the server in the meantime, or may still deliver bytes that belong
behind the last answer. Only then is another try worthwhile, and `ask` returns nothing, so that the caller can observe
the delay. URLs and validators come from the web: characters that could end a line of the request are never sent.
"""

import asyncio
import time
from collections.abc import Callable

from centime.fetch.answer import decode_headers, outcome_of, retry_after, target_of
from centime.fetch.coding import ACCEPTED, decoder_for
from centime.fetch.connection import Connection
from centime.fetch.failure import BadAnswer, BadRequest, failure_of
from centime.fetch.guard import Guard
from centime.fetch.pool import Pool
from centime.fetch.settings import FetchSettings
from centime.fetch.watch import Attempt, Watch
from centime.model.outcome import Outcome
from centime.model.response import Request, Response

_SLACK = 16 * 1024  # received bytes above the limit of a body: a compressed body may be longer than its content
_ERROR_SECONDS = 10.0  # for the body of an error, if it is kept
_MOST_ERROR_BYTES = 1 << 20
_DRAIN_SECONDS = 2.0


class Exchange:
    """Requests single pages over connections that are kept."""

    def __init__(self, settings: FetchSettings, guard: Guard, clock: Callable[[], float]) -> None:
        """An exchange for the running loop; `clock` is the time of the world."""
        self._settings = settings
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        shortest = min(settings.total_seconds, settings.connect_seconds, settings.first_byte_seconds)
        self._watch = Watch(
            tick_seconds=min(0.25, shortest / 4, settings.slow_grace_seconds / 4 or 0.25),
            least_bytes_per_second=settings.least_bytes_per_second,
            grace_seconds=settings.slow_grace_seconds,
        )
        self._pool = Pool(guard, settings, clock=clock, most_kept=settings.connections)
        general = "".join(line for host, line in settings.header_lines if not host)
        accept = "" if "\r\naccept:" in f"\r\n{general}".lower() else "Accept: */*\r\n"
        self._lines = f"User-Agent: {settings.user_agent}\r\n{accept}Accept-Encoding: {ACCEPTED}\r\n{general}"
        self._secret_lines: dict[str, str] = {}  # by the only host that gets them
        self._own_cookies: dict[str, str] = {}
        for host, line in settings.header_lines:
            name, _, value = line.partition(":")
            if host and name.lower() == "cookie":
                self._own_cookies[host] = "; ".join(filter(None, (self._own_cookies.get(host), value.strip())))
            elif host:
                self._secret_lines[host] = self._secret_lines.get(host, "") + line

    @property
    def open_sockets(self) -> int:
        """How many connections are open, in use or kept."""
        return len(self._pool)

    def drop_kept(self) -> None:
        """Closes the connections that wait for a request."""
        self._pool.drop_kept()

    async def close(self) -> None:
        """Closes all connections."""
        self._watch.close()
        await self._pool.close()

    async def ask(
        self, request: Request, *, address: str, most_bytes: int, again: bool, crawl_delay: float
    ) -> Response | None:
        """The answer to one request, sent to an address of its host.

        Nothing if a kept connection turned out to be dead and `again` lets the caller try once more.
        """
        task = asyncio.current_task()
        assert task is not None
        settings = self._settings
        most = request.patience or settings.total_seconds
        connect, first_byte = min(settings.connect_seconds, most), min(settings.first_byte_seconds, most)
        attempt = Attempt(task, time.monotonic(), connect, first_byte, settings.total_seconds)
        self._watch.add(attempt, self._loop)
        connection: Connection | None = None
        try:
            host, head, secret, conditional = self._head(request)
            connection = self._pool.take(host, address, attempt)
            if connection is None:
                connection = await self._pool.open(host, address, attempt)
            else:
                attempt.address = address
            await connection.send(head + secret + b"\r\n")
            if connection.error is not None and not attempt.answered:
                raise connection.error
            return await self._receive(
                connection,
                request.url,
                most_bytes,
                crawl_delay,
                conditional,
                head + b"\r\n" if settings.keep_heads else b"",
            )
        except asyncio.CancelledError:
            self._watch.drop(attempt)
            if not attempt.expired or task.uncancel() > 0:
                raise
            return self._failed(request, attempt, crawl_delay, Outcome.TIMED_OUT, attempt.expired)
        except (OSError, BadAnswer) as error:
            if again and connection is not None and not attempt.fresh and not attempt.answered:
                return None
            return self._failed(request, attempt, crawl_delay, *failure_of(error))
        except Exception as error:  # no list of exceptions is complete for the web
            return self._failed(request, attempt, crawl_delay, *failure_of(error))
        finally:
            self._watch.drop(attempt)
            if connection is not None:
                self._pool.release(connection)

    def _head(self, request: Request) -> tuple[str, bytes, bytes, bool]:
        """The host to connect to, the lines of the request, those that only the server may see, and whether the request
        is conditional.
        """
        url = request.url.partition("#")[0]
        if not url.isascii() or not url.isprintable() or " " in url:
            raise BadRequest("not the canonical URL of a page")
        slash = url.find("/", 8)
        host = url[:slash]
        scheme, _, authority = host.partition("://")
        if "@" in authority:
            authority = authority[authority.rfind("@") + 1 :]  # we have no account anywhere
            host = f"{scheme}://{authority}"
        validators = ""
        if request.etag and request.etag.isprintable():
            validators = f"If-None-Match: {request.etag}\r\n"
        if request.modified and request.modified.isprintable():
            validators += f"If-Modified-Since: {request.modified}\r\n"
        cookie = f"Cookie: {request.cookie}\r\n" if request.cookie else ""
        target = url[slash:]
        secret = self._secret_lines.get(host, "") if self._secret_lines else ""
        if own := self._own_cookies.get(host):
            secret, cookie = f"{secret}Cookie: {'; '.join(filter(None, (own, request.cookie)))}\r\n", ""
        if self._pool.proxies and scheme == "http" and (proxy := self._pool.proxies.of(host)) is not None:
            target = f"{host}{target}"
            secret += proxy.line
        head = f"GET {target} HTTP/1.1\r\nHost: {authority}\r\n{self._lines}{validators}{cookie}"
        return host, head.encode(), secret.encode(), bool(validators)

    async def _receive(
        self, connection: Connection, url: str, most_bytes: int, crawl_delay: float, conditional: bool, sent: bytes
    ) -> Response:
        """The response, once the head of the answer is there."""
        attempt = connection.attempt
        status = connection.status
        headers = decode_headers(connection.headers)
        fields = dict(reversed(headers))  # the first of repeated ones
        outcome = outcome_of(status, conditional=conditional)
        detail, target, wait, body, truncated = "", "", 0.0, b"", status == 206
        most = self._settings.most_header_bytes
        if attempt.wire > most and sum([len(name) + len(value) + 4 for name, value in connection.headers]) > most:
            outcome, detail = Outcome.BAD_RESPONSE, "the headers are too large"
        elif outcome is Outcome.READ:
            body, cut = await self._read(connection, fields.get("content-encoding", ""), most_bytes)
            truncated = truncated or cut
        elif outcome.redirect:
            target = target_of(url, fields.get("location", ""))
            if not target:
                outcome, detail = Outcome.BAD_RESPONSE, f"status {status} without a valid Location"
        elif status == 407:
            outcome, detail = Outcome.NO_CONNECTION, "the proxy wants another user or password (407)"
        elif outcome is Outcome.BAD_RESPONSE:
            detail = f"unexpected status {status}"
        elif status >= 400 and "retry-after" in fields:
            wait = retry_after(fields["retry-after"], date=fields.get("date", ""), now=attempt.asked_at)
        if outcome is not Outcome.READ and self._settings.keep_errors and status >= 300:
            body, truncated = await self._read_error(connection, fields.get("content-encoding", ""))
        elif outcome is not Outcome.READ and not connection.complete:
            await self._drain(connection)
        return Response(
            url=url,
            outcome=outcome,
            status=status,
            headers=headers,
            body=body,
            truncated=truncated,
            target=target,
            address=attempt.address,
            asked_at=attempt.asked_at,
            seconds=max(0.0, attempt.answered - attempt.sent),  # a server may answer before the request
            held=time.monotonic() - attempt.started,
            wire_bytes=attempt.wire,
            crawl_delay=crawl_delay,
            retry_after=wait,
            detail=detail,
            request_head=sent,
            response_head=_head_of(connection) if self._settings.keep_heads else b"",
        )

    async def _read(self, connection: Connection, coding: str, most: int) -> tuple[bytes, bool]:
        """The body, decoded, and whether there was more."""
        decoder = decoder_for(coding) if coding else None
        pieces: list[bytes] = []
        size = 0
        while True:
            complete, error = connection.complete, connection.error
            chunk = connection.take()
            if chunk:
                for piece in (chunk,) if decoder is None else decoder.pieces(chunk):
                    size += len(piece)
                    if size > most:
                        pieces.append(piece[: most - size])  # cut here: cutting after joining would copy all of it
                        break
                    pieces.append(piece)
                if size > most or connection.attempt.received > most + _SLACK:
                    return b"".join(pieces), True
            if complete:
                break
            if error is not None:
                raise error
            await connection.wait()
        if decoder is not None:
            decoder.finish()
        return (pieces[0] if len(pieces) == 1 else b"".join(pieces)), False

    async def _drain(self, connection: Connection) -> None:
        """Waits for a small rest, so that the connection can be kept; a large or slow one is not worth it."""
        attempt = connection.attempt
        attempt.deadline = min(attempt.deadline, time.monotonic() + _DRAIN_SECONDS)
        try:
            await connection.wait()
        except asyncio.CancelledError:
            self._give_up_rest(attempt)

    async def _read_error(self, connection: Connection, coding: str) -> tuple[bytes, bool]:
        """The body of a redirect or an error, and whether there was more; empty if it does not come in time or is
        broken: the head has the important facts.
        """
        attempt = connection.attempt
        attempt.deadline = min(attempt.deadline, time.monotonic() + _ERROR_SECONDS)
        try:
            body, cut = await self._read(connection, coding, _MOST_ERROR_BYTES)
            return body, cut
        except asyncio.CancelledError:
            self._give_up_rest(attempt)
        except Exception:  # a broken body does not matter here
            return b"", False
        return b"", False

    def _give_up_rest(self, attempt: Attempt) -> None:
        """Continues without the rest of a body whose time is over; CancelledError if the task itself is cancelled."""
        self._watch.drop(attempt)
        if not attempt.expired or attempt.task.uncancel() > 0:
            raise asyncio.CancelledError

    def _failed(
        self, request: Request, attempt: Attempt, crawl_delay: float, outcome: Outcome, detail: str
    ) -> Response:
        now = time.monotonic()
        return Response(
            url=request.url,
            outcome=outcome,
            address=attempt.address,
            asked_at=self._clock(),
            seconds=max(0.0, (attempt.answered or now) - (attempt.sent or attempt.started)),
            held=now - attempt.started,
            wire_bytes=attempt.wire,
            crawl_delay=crawl_delay,
            detail=detail,
        )


def _head_of(connection: Connection) -> bytes:
    """The head of an answer, its lines ended and its values unfolded as they should have been."""
    first = b"HTTP/%s %03d %s" % (connection.version.encode(), connection.status, connection.reason)
    return b"\r\n".join([first, *(name + b": " + value for name, value in connection.headers), b"", b""])
