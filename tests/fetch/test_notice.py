"""Notices by HTTP: they arrive, they say who they are, and they go nowhere they may not."""

import asyncio

import pytest

from centime.fetch.notice import Notifier
from centime.fetch.resolver import Answer
from centime.fetch.settings import FetchSettings
from tests.fetch.hostile import HERE, Server, answer


async def posted(server: Server, path: str, settings: FetchSettings, seconds: float = 5.0, url: str = "") -> str:
    async def lookup(name: str) -> Answer:
        return Answer(("127.0.0.1",), 60.0)

    notifier = Notifier(settings, lookup=lookup)
    try:
        return await notifier.post(url or server.url + path, b'{"id":"1"}', "1-1@s", seconds=seconds)
    finally:
        await notifier.close()


OPEN = FetchSettings(allow_networks=HERE)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("200 OK", ""),
        ("204 No Content", ""),
        ("302 Found", "it answered with status 302"),
        ("500 No", "it answered with status 500"),
    ],
)
def test_any_2xx_is_success_and_nothing_else_is(status: str, said: str) -> None:
    async def run() -> None:
        async with Server({"/hook": answer(b"", status, Location="/elsewhere")}) as server:
            assert await posted(server, "/hook", OPEN) == said
            assert server.asked == ["/hook"]
            head = server.heads[0].lower()
            assert head.startswith(b"post /hook ")
            assert b"idempotency-key: 1-1@s" in head
            assert b"content-type: application/json" in head

    asyncio.run(run())


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "inside.example", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433"]
)
def test_an_address_that_is_not_public_is_refused_however_it_is_spelled(host: str) -> None:
    async def run() -> None:
        async with Server({"/hook": answer()}) as server:
            said = await posted(server, "", FetchSettings(), url=f"http://{host}:{server.port}/hook")
            assert "is not a public address" in said or "is not a canonical IPv4 address" in said
            assert server.connections == 0

    asyncio.run(run())


def test_a_subscriber_that_never_answers_is_given_up() -> None:
    async def silent(writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async def run() -> None:
        async with Server({"/hook": silent}) as server:
            assert await posted(server, "/hook", OPEN, seconds=0.2) == "it did not answer within 0.2 s"

    asyncio.run(run())


@pytest.mark.parametrize("url", ["http://", "http://:x/", "nonsense", "http://a b/", "ftp://a.example/"])
def test_what_is_no_url_is_a_sentence_and_no_exception(url: str) -> None:
    async def run() -> None:
        async with Server({}) as server:
            assert await posted(server, "", OPEN, url=url)

    asyncio.run(run())
