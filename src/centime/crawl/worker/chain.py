"""Fetches a page, and follows a redirect as far as that is needed to read this page.

A redirect is an answer like others: its target is a page of its own, which waits in the frontier for its turn, so that
delays, robots.txt, importance and the journal are those of every page. But many sites set a cookie, redirect, and
deliver the page when it is asked for again with that cookie: A -> A, or A -> check -> A. Without the cookie such a page
is a loop, and can never be read.

So a chain is followed within one visit while it stays on the host and in scope, and only after a cookie was set (or if
the crawl keeps cookies anyway). If it comes back to the page itself, the answer is that of the page. Otherwise the page
is a redirect to its first target, which gets the cookies of the chain when its turn comes. Every request of a chain
waits for the delay of the host.

Cost: a host that sets cookies on ordinary redirects would have their targets fetched twice. After FRUITLESS chains of a
host that did not come back, only redirects of a page to itself are followed there.

Bounds: MOST_HOPS requests per chain; cookies by `fetch/cookies.py`; MOST_HOSTS counts of fruitless chains.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from centime.discover.canonical import canonical
from centime.fetch.cookies import Cookies, Jar
from centime.fetch.fetcher import Fetcher
from centime.model.address import host_of
from centime.model.response import Request, Response

MOST_HOPS = 20
FRUITLESS = 3
MOST_HOSTS = 10_000


class Chains:
    """Fetches pages with the cookies that they need."""

    def __init__(
        self,
        fetcher: Fetcher,
        admits: Callable[[str], bool],
        *,
        cookies: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`admits` says whether a URL is in scope. With `cookies`, each host gets all cookies that it has set;
        otherwise each page gets those of the redirects that led to it.
        """
        self._fetcher = fetcher
        self._clock = clock
        self._admits = admits
        self._by_host = cookies
        self._jar = Jar()
        self._fruitless: OrderedDict[str, int] = OrderedDict()

    @property
    def product(self) -> str:
        """Our name in robots.txt and X-Robots-Tag."""
        return self._fetcher.product

    async def close(self) -> None:
        """Closes every connection; nothing can be fetched afterwards."""
        await self._fetcher.close()

    async def fetch(self, request: Request) -> list[Response]:
        """The answer to a request, and before it the redirects that were followed within the visit."""
        url = at = request.url
        host = host_of(url)
        cookies = self._jar.shared(host) if self._by_host else Cookies(self._jar.of(url))
        responses: list[Response] = []
        seen: set[tuple[str, str]] = set()
        first_target = ""
        is_set = False
        while True:
            sent = cookies.header(at, self._clock())
            seen.add((at, sent))
            wanted = request if at == url else Request(url=at, patience=request.patience)
            response = await self._fetcher.fetch(replace(wanted, cookie=sent) if sent else wanted)
            responses.append(response)
            is_set = cookies.take(at, response.headers, self._clock()) or is_set
            target = canonical(response.target, at) if response.outcome.redirect else None
            if target is not None and host_of(target) == host:
                first_target = first_target or target
            if (
                target is None
                or not (is_set or self._by_host)
                or host_of(target) != host
                or len(responses) > MOST_HOPS
                or (target, cookies.header(target, self._clock())) in seen
                or not (target == url or (self._is_worthwhile(host) and self._admits(target)))
            ):
                break
            at = target
        came_back = at == url and not response.outcome.redirect
        if len(responses) > 1:
            self._note_end(host, came_back)
        if is_set and self._by_host:
            self._jar.keep(host, cookies)
        elif is_set and (first_target if not came_back else len(responses) > 1):
            self._jar.keep(url if came_back else first_target, cookies)
        followed = responses[:-1] if came_back else []
        return [*followed, _together(responses[-1 if came_back else 0], responses)]

    def _is_worthwhile(self, host: str) -> bool:
        return self._fruitless.get(host, 0) < FRUITLESS

    def _note_end(self, host: str, came_back: bool) -> None:
        before = self._fruitless.pop(host, 0)
        if not came_back:
            self._fruitless[host] = before + 1
        if len(self._fruitless) > MOST_HOSTS:
            self._fruitless.popitem(last=False)


def _together(answer: Response, responses: list[Response]) -> Response:
    """The answer with the bytes and times of all requests."""
    if len(responses) == 1:
        return answer
    return replace(
        answer,
        asked_at=responses[-1].asked_at,
        held=sum(response.held for response in responses),
        wire_bytes=sum(response.wire_bytes for response in responses),
        sitemaps=responses[0].sitemaps,
    )
