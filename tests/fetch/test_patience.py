"""A caller that doubts a host waits less for it, and learns how long the host kept it waiting."""

import asyncio
import time

from centime.fetch.fetcher import Fetcher
from centime.model.outcome import Outcome
from centime.model.response import Request, Response
from tests.fetch.hostile import Server, answer, fetch_all, hanging, run, settings


def test_the_patience_of_a_request_is_also_that_of_robots() -> None:
    async def work() -> Response:
        async with Server({"/robots.txt": hanging(b"HTTP/1.1 200 OK\r\nX: ")}) as server:
            fetcher = Fetcher(settings())
            try:
                return await fetcher.fetch(Request(url=server.url + "/page", patience=0.1))
            finally:
                await fetcher.close()

    began = time.monotonic()
    response = run(work())
    assert response.outcome is Outcome.NO_ROBOTS
    assert "no answer after 0." in response.detail
    assert time.monotonic() - began < settings().first_byte_seconds / 2


def test_the_time_that_a_host_takes_is_told_with_that_of_its_robots_file_once() -> None:
    waits: list[float] = []  # as the server saw them: the timers of uvloop may be a millisecond early

    async def slow(writer: asyncio.StreamWriter) -> None:
        began = time.monotonic()
        await asyncio.sleep(0.2)
        waits.append(time.monotonic() - began)
        writer.write(answer(b"User-agent: *"))

    (first, second), _ = fetch_all({"/robots.txt": slow, "/page": answer(b"x")}, ["/page", "/page"])
    (waited,) = waits
    assert first.held >= first.seconds + waited
    assert 0.0 < second.held < second.seconds + waited
