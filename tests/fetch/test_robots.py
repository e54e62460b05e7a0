import asyncio

import pytest

from centime.fetch import robots as module
from centime.fetch.fetcher import Fetcher
from centime.model.outcome import Outcome
from centime.model.response import Request, Response
from tests.fetch.hostile import Handler, Server, answer, closing, endless, fetch_all, hanging, reset, run, settings

PAGE = answer(b"page")
NO = answer(b"User-agent: *\nDisallow: /page\n")


@pytest.mark.parametrize(
    ("robots", "outcome"),
    [
        (NO, Outcome.DISALLOWED),
        (answer(b"User-agent: *\nAllow: /"), Outcome.READ),
        (answer(b"\xef\xbb\xbfUser-agent: *\nDisallow: /page\n"), Outcome.DISALLOWED),
        (answer(b"User-agent: *\nDisallow: /page\n", Content_Encoding="gzip"), Outcome.DISALLOWED),
        (answer(b"<html>no such file</html>"), Outcome.READ),
        (answer(status="404 Not Found"), Outcome.READ),
        (answer(status="401 No"), Outcome.READ),
        (answer(status="403 No"), Outcome.READ),
        (answer(status="500 Oops"), Outcome.NO_ROBOTS),
        (answer(status="503 Busy"), Outcome.NO_ROBOTS),
        (answer(status="429 Busy"), Outcome.NO_ROBOTS),
        (hanging(b""), Outcome.NO_ROBOTS),
        (closing(b"nonsense\r\n\r\n"), Outcome.NO_ROBOTS),
        (reset(), Outcome.NO_CONNECTION),
    ],
)
def test_what_robots_says_decides(robots: bytes | Handler, outcome: Outcome) -> None:
    (response,), server = fetch_all({"/robots.txt": robots, "/page": PAGE}, ["/page"], first_byte_seconds=0.1)
    assert response.outcome is outcome
    assert server.asked == ["/robots.txt"] + ["/page"] * (outcome is Outcome.READ)


def test_a_huge_robots_file_is_read_to_its_limit() -> None:
    head = answer().replace(b"Content-Length: 0\r\n", b"")
    responses, _ = fetch_all(
        {"/robots.txt": endless(head + b"User-agent: *\nDisallow: /page\n", b"# more\n" * 5000), "/other": PAGE},
        ["/page", "/other"],
    )
    assert [response.outcome for response in responses] == [Outcome.DISALLOWED, Outcome.READ]


def test_redirects_of_robots_are_followed_five_times() -> None:
    routes: dict[str, bytes | Handler] = {
        f"/r{n}": answer(status="302 There", Location=f"/r{n + 1}") for n in range(1, 7)
    }
    routes["/robots.txt"] = answer(status="301 There", Location="/r1")
    routes["/page"] = PAGE
    (response,), server = fetch_all({**routes, "/r5": NO}, ["/page"])
    assert response.outcome is Outcome.DISALLOWED
    assert server.asked == ["/robots.txt", "/r1", "/r2", "/r3", "/r4", "/r5"]
    (response,), server = fetch_all({**routes, "/r6": NO}, ["/page"])
    assert response.outcome is Outcome.READ  # as if there were none
    assert server.asked[:-1] == ["/robots.txt", "/r1", "/r2", "/r3", "/r4", "/r5"]


def test_redirects_of_robots_lead_to_other_hosts_but_not_to_private_ones() -> None:
    async def work(location: str) -> Response:
        async with Server({"/rules": NO}) as other, Server({"/page": PAGE}) as server:
            server.routes["/robots.txt"] = answer(status="301 There", Location=location.format(port=other.port))
            fetcher = Fetcher(settings())
            response = await fetcher.fetch(Request(url=f"{server.url}/page"))
            await fetcher.close()
            return response

    assert run(work("http://localhost:{port}/rules")).outcome is Outcome.DISALLOWED
    assert run(work("http://10.0.0.1/rules")).outcome is Outcome.NO_ROBOTS
    assert run(work("ftp://localhost/rules")).outcome is Outcome.READ


def test_robots_is_asked_for_once_however_many_wait() -> None:
    async def work() -> tuple[list[Response], list[str]]:
        async with Server({"/robots.txt": answer(), **{f"/{n}": PAGE for n in range(10)}}) as server:
            fetcher = Fetcher(settings())
            responses = await asyncio.gather(*(fetcher.fetch(Request(url=f"{server.url}/{n}")) for n in range(10)))
            await fetcher.close()
            return list(responses), server.asked

    responses, asked = run(work())
    assert {response.outcome for response in responses} == {Outcome.READ}
    assert asked.count("/robots.txt") == 1


@pytest.mark.parametrize(("asked_for", "waits"), [(3, [3.0, 3.0, 3.0]), (0, [15.0, 30.0, 60.0])])
def test_a_server_error_of_robots_lasts_as_long_as_the_server_says_or_twice_as_long_each_time(
    asked_for: int, waits: list[float]
) -> None:
    now = 1_000_000.0

    async def work() -> list[float]:
        nonlocal now
        seen = []
        busy = answer(status="503 Busy", Retry_After=str(asked_for)) if asked_for else answer(status="503 Busy")
        routes: dict[str, bytes | Handler] = {"/robots.txt": busy, "/page": PAGE}
        async with Server(routes) as server:
            fetcher = Fetcher(settings(), clock=lambda: now)
            for _ in range(3):
                response = await fetcher.fetch(Request(url=f"{server.url}/page"))
                assert response.outcome is Outcome.NO_ROBOTS
                seen.append(response.retry_after)
                now += response.retry_after
            await fetcher.close()
        return seen

    assert run(work()) == waits


def test_robots_is_believed_for_a_day_and_a_failure_for_a_while() -> None:
    now = 1_000_000.0

    async def work() -> list[tuple[Outcome, int, float]]:
        nonlocal now
        seen = []
        async with Server({"/robots.txt": answer(status="500 Oops"), "/page": PAGE}) as server:
            fetcher = Fetcher(settings(), clock=lambda: now)
            for passed in (0.0, 14.0, 2.0, 86_399.0, 2.0):
                now += passed
                if passed == 2.0:
                    server.routes["/robots.txt"] = NO if server.asked.count("/robots.txt") > 1 else answer()
                response = await fetcher.fetch(Request(url=f"{server.url}/page"))
                seen.append((response.outcome, server.asked.count("/robots.txt"), response.retry_after))
            await fetcher.close()
        return seen

    assert run(work()) == [
        (Outcome.NO_ROBOTS, 1, 15.0),
        (Outcome.NO_ROBOTS, 1, 1.0),
        (Outcome.READ, 2, 0.0),
        (Outcome.READ, 2, 0.0),
        (Outcome.DISALLOWED, 3, 0.0),
    ]


def test_a_host_that_cannot_be_reached_is_asked_again_the_next_time() -> None:
    routes: dict[str, bytes | Handler] = {"/robots.txt": reset(), "/page": PAGE}
    responses, server = fetch_all(routes, ["/page", "/page"])
    assert [response.outcome for response in responses] == [Outcome.NO_CONNECTION] * 2
    assert server.asked == ["/robots.txt"] * 2


def test_the_crawl_delay_is_told_and_capped() -> None:
    robots = answer(b"User-agent: *\nCrawl-delay: 500\nDisallow: /no")
    (response,), _ = fetch_all({"/robots.txt": robots}, ["/no"])
    assert (response.outcome, response.crawl_delay) == (Outcome.DISALLOWED, 60.0)
    (response,), _ = fetch_all({"/robots.txt": robots, "/page": PAGE}, ["/page"], most_crawl_delay_seconds=0.01)
    assert (response.outcome, response.crawl_delay) == (Outcome.READ, 0.01)


def test_no_host_sees_two_requests_closer_than_its_delay() -> None:
    routes: dict[str, bytes | Handler] = {
        "/robots.txt": answer(status="302 There", Location="/rules"),
        "/rules": answer(b"User-agent: *\nCrawl-delay: 0.05"),
        "/a": PAGE,
        "/b": PAGE,
    }

    async def work() -> Server:
        async with Server(routes) as server:
            fetcher = Fetcher(settings(delay_seconds=0.03))
            await asyncio.gather(*(fetcher.fetch(Request(url=server.url + path)) for path in ("/a", "/b", "/a")))
            await fetcher.close()
            return server

    server = run(work())
    assert server.asked[:2] == ["/robots.txt", "/rules"]
    gaps = [after - before for before, after in zip(server.times, server.times[1:], strict=False)]
    assert len(gaps) == 4
    assert gaps[0] >= 0.03
    assert min(gaps[1:]) >= 0.05


def test_the_memory_for_robots_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_HOSTS", 5)

    async def work() -> int | float:
        async with Server({"/robots.txt": NO}) as server:
            fetcher = Fetcher(settings())
            for number in range(20):
                await fetcher.fetch(Request(url=f"http://h{number}.localhost:{server.port}/page"))
            known = fetcher.statistics()["robots_known"]
            await fetcher.close()
            return known

    assert run(work()) == 5
