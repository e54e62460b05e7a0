"""Fetches a page, and follows a redirect as far as that is needed to read this page.

A redirect is an answer like others: its target is a page of its own, which waits in the frontier for its turn, so that
delays, robots.txt, importance and the journal are those of every page. But many sites set a cookie, redirect, and
deliver the page when it is requested again with that cookie: A -> A, or A -> check -> A. Without the cookie such a page
is a loop, and can never be read.

So a chain is followed within one visit while it stays in scope, if there is reason to expect it back:

- a cookie was set on the way (or the crawl keeps cookies anyway, and the chain is still on the host), or
- the target names the page in its query: without a cookie, how else could it lead back (A -> check?to=A -> A)?

It may lead over other hosts, as single sign-on does: A -> other -> A. A redirect to the same path of another host is
not followed, because that is a site that has moved. If a chain comes back to the page itself, the answer is that of the
page; a host whose chain came back over others keeps its cookies for its next pages, so that the others are contacted
only once. Otherwise the page is a redirect to its first target, which gets the cookies of the chain when its turn
comes.

Politeness: every request of a chain obeys robots.txt and waits for the delay of its host, as this fetcher knows it. The
visit says which other hosts were contacted, and the shard delays them. If another fetcher contacts such a host in the
same moment, its delay is not kept between these two requests.

Cost: a host that sets cookies on ordinary redirects would have their targets fetched twice. After FRUITLESS chains of a
host that did not come back, only redirects of a page to itself are followed there.

Bounds: MOST_HOPS requests per chain; cookies by `fetch/cookies.py`; MOST_HOSTS counts of fruitless chains.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import unquote

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
        """The answer to a request, preceded by the redirects that were followed within the visit."""
        url = at = request.url
        host = host_of(url)
        keeps = self._by_host or host in self._jar
        cookies = {host: self._jar.shared(host) if keeps else Cookies(self._jar.of(url))}
        responses: list[Response] = []
        seen: set[tuple[str, str]] = set()
        first_target = ""
        changed: set[str] = set()  # hosts that have set cookies
        while True:
            here = host_of(at)
            own = cookies.setdefault(here, self._jar.shared(here) if self._by_host else Cookies(self._jar.of(here)))
            sent = own.header(at, self._clock())
            seen.add((at, sent))
            wanted = request if at == url else Request(url=at, patience=request.patience)
            response = await self._fetcher.fetch(replace(wanted, cookie=sent) if sent else wanted)
            responses.append(response)
            if own.take(at, response.headers, self._clock()):
                changed.add(here)
            target = canonical(response.target, at) if response.outcome.redirect else None
            if target is None:
                break
            there = host_of(target)
            if there == host:
                first_target = first_target or target
            expected = changed or (keeps and there == here) or _names(target, url) or len(cookies) > 1
            sends = cookies[there].header(target, self._clock()) if there in cookies else ""
            if (
                not expected
                or len(responses) > MOST_HOPS
                or (target, sends) in seen
                or not (target == url or (self._is_worthwhile(host) and self._admits(target)))
                or (there != here and there != host and target[len(there) :] == at[len(here) :])
            ):
                break
            at = target
        came_back = at == url and not response.outcome.redirect
        if len(responses) > 1:
            self._note_end(host, came_back)
        keeps = keeps or (came_back and len(cookies) > 1)
        for name in changed:
            if self._by_host or (keeps and (came_back or name == host)):
                self._jar.keep(name, cookies[name])
        if host in changed and not keeps and (first_target if not came_back else len(responses) > 1):
            self._jar.keep(url if came_back else first_target, cookies[host])
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


def _names(target: str, url: str) -> bool:
    """Whether the query of a redirect's target contains the URL of the page or its path."""
    query = target.partition("?")[2]
    path = url[url.find("/", 8) :]
    return bool(query) and len(path) > 1 and path in unquote(query)


def _together(answer: Response, responses: list[Response]) -> Response:
    """The answer with the bytes and times of all requests, and the other hosts that were contacted."""
    if len(responses) == 1:
        return answer
    host = host_of(answer.url)
    at_home = [response for response in responses if host_of(response.url) == host]
    elsewhere = {host_of(response.url): response.asked_at for response in responses}
    del elsewhere[host]
    return replace(
        answer,
        asked_at=at_home[-1].asked_at,
        held=sum(response.held for response in at_home),
        wire_bytes=sum(response.wire_bytes for response in responses),
        sitemaps=responses[0].sitemaps,
        elsewhere=tuple(elsewhere.items()),
    )
