"""The hubs that a feed announces, which notify subscribers when it changes (W3C WebSub, section 4: discovery).

The `Link` headers of the answer count first, then the links of the feed itself: rel="hub" and rel="self", the topic. A
topic of another host than the feed's is not trusted: only a site itself may name its hubs.
"""

from collections.abc import Iterable

import ada_url

from centime.discover.canonical import canonical
from centime.discover.feed import Feed
from centime.model.address import host_of
from centime.parse.header_links import header_relations

MOST_HUBS = 4
LONGEST = 2_000  # characters of a URL


def announced_hubs(feed: Feed, headers: Iterable[tuple[str, str]], url: str) -> tuple[str, ...]:
    """The topic of a feed at `url` and its hubs; nothing if it announces none."""
    relations = header_relations(headers, url, ("hub", "self"))
    written = [*((one, "hub") for one in feed.hubs), *([(feed.address, "self")] if feed.address else [])]
    inside = [(relation, joined) for href, relation in written if (joined := _joined(url, href))]
    first = relations if any(relation == "hub" for relation, _ in relations) else [*relations, *inside]
    hubs = list(dict.fromkeys(href for relation, href in first if relation == "hub" and _is_web(href)))[:MOST_HUBS]
    topic = next((href for relation, href in [*relations, *inside] if relation == "self"), url)
    if not hubs or len(topic) > LONGEST or host_of(canonical(topic) or "") != host_of(url):
        return ()
    return topic, *hubs


def _joined(url: str, href: str) -> str:
    try:
        return ada_url.join_url(url, href)
    except ValueError:
        return ""


def _is_web(url: str) -> bool:
    return url.startswith(("http://", "https://")) and len(url) <= LONGEST
