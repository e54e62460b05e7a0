"""A lack of this machine is not a failure of a server."""

import asyncio
import errno
import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from centime.fetch import fetcher as fetching
from centime.fetch.failure import LACKING, failure_of
from centime.fetch.fetcher import Fetcher
from centime.fetch.resolver import Answer
from centime.model.outcome import Outcome
from centime.model.response import Request, Response
from tests.fetch.hostile import Server, answer, run, settings


@contextmanager
def no_more_files() -> Iterator[None]:
    """This process can open no file; those that are open stay so."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def nowhere(name: str) -> Answer:
    return Answer((), 300.0, "no DNS server was reached")


@pytest.mark.parametrize("knows_robots", [False, True])
def test_without_open_files_nothing_is_said_of_a_server_and_the_next_try_succeeds(
    knows_robots: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "_PAUSES", (0.01, 0.01))

    async def work() -> tuple[Response, Response]:
        async with Server({"/page": answer(b"x", Connection="close"), "/other": answer(b"y")}) as server:
            fetcher = Fetcher(settings())
            if knows_robots:
                await fetcher.fetch(Request(url=f"{server.url}/page"))
            with no_more_files():
                lost = await fetcher.fetch(Request(url=f"{server.url}/other"))
            found = await fetcher.fetch(Request(url=f"{server.url}/other"))
            await fetcher.close()
            return lost, found

    lost, found = run(work())
    assert lost.outcome is Outcome.LOST
    assert lost.detail.startswith(LACKING)
    assert "ulimit -n" in lost.detail
    assert found.outcome is Outcome.READ


def test_a_request_waits_until_there_are_open_files_again() -> None:
    async def work() -> Response:
        async with Server({"/page": answer(b"x")}) as server:
            fetcher = Fetcher(settings())
            with no_more_files():
                task = asyncio.create_task(fetcher.fetch(Request(url=f"{server.url}/page")))
                await asyncio.sleep(0.1)
            response = await task
            await fetcher.close()
            return response

    assert run(work()).outcome is Outcome.READ


def test_a_name_that_could_not_be_looked_up_for_want_of_files_is_not_without_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fetching, "_PAUSES", (0.01,))

    async def work() -> tuple[Response, Response]:
        fetcher = Fetcher(settings(), lookup=nowhere)
        with no_more_files():
            lost = await fetcher.fetch(Request(url="http://some.example/"))
        found = await fetcher.fetch(Request(url="http://some.example/"))
        await fetcher.close()
        return lost, found

    lost, found = run(work())
    assert (lost.outcome, found.outcome) == (Outcome.LOST, Outcome.NO_ADDRESS)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM])
def test_what_this_machine_lacks_is_an_unknown_outcome(number: int) -> None:
    assert failure_of(OSError(number, "lacking"))[0] is Outcome.LOST
    assert failure_of(OSError(errno.ECONNREFUSED, "refused"))[0] is Outcome.NO_CONNECTION
