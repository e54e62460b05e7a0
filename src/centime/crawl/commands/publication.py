"""What somebody announces, from the words and files that were given: canonical URLs in the scope of the crawl, and why
the others are not.

    URL                      a page that is new or has changed
    sitemap:URL, feed:URL    to be read by the crawl, which alone asks the network
    sitemap:FILE, feed:FILE  read here, with the times of change that they tell; parts of a sitemap index are ordered to be read
    a file of URLs           one a line, comments (# at the beginning or behind white space) skipped
    IndexNow                 {"host": ..., "urlList": [...]}, where a URL of another host is refused, as its protocol says
    WebSub                   the feed that a hub posts, with the signature of its `X-Hub-Signature` field if a secret was agreed upon

Nothing is dropped in silence: what is no URL, or is out of scope, is counted and named. A word that can only be a typo
is an error.
"""

import hmac
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from centime.discover.canonical import canonical
from centime.discover.feed import read_feed
from centime.discover.scope import Scope
from centime.discover.seeds import without_comment
from centime.discover.sitemap import read_sitemap
from centime.model.address import host_of
from centime.model.errors import BadInput
from centime.refresh.credit import CHANGE_FREQUENCIES
from centime.settings.crawl import CrawlSettings
from centime.shard.command import PublishCommand, Source, publications

MOST_NAMED = 20  # of the URLs that were refused
LARGEST_FILE = 1 << 30
STANDARD_INPUT = "-"
SIGNED_BY = ("sha1", "sha256", "sha384", "sha512")  # the methods of WebSub

Said = tuple[float, float]  # when it changed, and how often it does: seconds, 0 if not said
NOTHING: Said = (0.0, 0.0)


@dataclass(slots=True)
class Publication:
    """What is to be ordered, each URL once, in the command given."""

    scope: Scope
    pages: dict[str, Said] = field(default_factory=dict)
    sitemaps: dict[str, None] = field(default_factory=dict)
    feeds: dict[str, None] = field(default_factory=dict)
    refused: int = 0
    reasons: list[dict[str, Any]] = field(default_factory=list)  # the first of those refused
    troubles: list[str] = field(default_factory=list)  # what was wrong with files that were read all the same

    def add(self, href: str, said: Said = NOTHING, source: Source = "url", base: str | None = None) -> None:
        """Takes a URL as it was written, in a document at `base`."""
        url = canonical(href, base)
        refusal = (
            "it is not the URL of a page"
            if url is None
            else self.scope.refusal(url if source == "url" else url.removesuffix(".gz"))
        )
        if url is None or refusal:
            self.refuse(href, refusal)
        elif source == "url":
            self.pages[url] = said if said != NOTHING else self.pages.get(url, NOTHING)
        else:
            (self.sitemaps if source == "sitemap" else self.feeds)[url] = None

    def refuse(self, href: str, reason: str) -> None:
        """Counts a URL that cannot be published, and names the first of them."""
        self.refused += 1
        if len(self.reasons) < MOST_NAMED:
            self.reasons.append({"url": href[:200], "reason": reason})

    def commands(self, *, time: float, cluster: str = "", publisher: str = "") -> list[PublishCommand]:
        """The commands that publish it."""
        modified, periods = zip(*self.pages.values(), strict=True) if self.pages else ((), ())
        parts: Iterable[Iterator[PublishCommand]] = (
            publications(
                list(self.pages), time=time, cluster=cluster, publisher=publisher, modified=modified, periods=periods
            ),
            publications(list(self.sitemaps), time=time, source="sitemap", cluster=cluster, publisher=publisher),
            publications(list(self.feeds), time=time, source="feed", cluster=cluster, publisher=publisher),
        )
        return [command for part in parts for command in part]


def read_publication(
    words: Sequence[str],
    settings: CrawlSettings,
    *,
    files: Sequence[str] = (),
    indexnow: Sequence[str] = (),
    websub: str = "",
    signature: str = "",
    secret_file: str = "",
) -> Publication:
    """What words and files announce; BadInput names what can only be a mistake."""
    publication = Publication(settings.scope_rules())
    for word in words:
        kind, colon, place = word.partition(":")
        if colon and kind in ("sitemap", "feed") and not place.strip():
            raise BadInput(f"{kind}: names no {kind}; give a URL or a file, as {kind}:https://a.example/{kind}.xml")
        if colon and kind in ("sitemap", "feed"):
            _read_source(publication, "sitemap" if kind == "sitemap" else "feed", place)
        elif "://" not in word:
            raise BadInput(
                f"{word!r} is not a URL; a file of URLs is given with -f, a sitemap or feed as sitemap:... or feed:..."
            )
        else:
            publication.add(word.strip())
    for name in files:
        for line in _lines(name):
            publication.add(line)
    for name in indexnow:
        _read_indexnow(publication, name)
    if websub:
        body = _body(websub)
        if signature or secret_file:
            _verify(websub, body, signature, secret_file)
        _read_feed(publication, websub, body)
    if not (words or files or indexnow or websub):
        raise BadInput(
            "nothing is published: give URLs, sitemap:..., feed:..., -f FILE, --indexnow FILE or --websub FILE"
        )
    return publication


def _read_source(publication: Publication, kind: Source, place: str) -> None:
    """Takes a sitemap or feed: read here if it is a file, otherwise to be read by the crawl."""
    if "://" in place:
        publication.add(place, source=kind)
        return
    body = _body(place)
    if kind == "feed":
        _read_feed(publication, place, body)
        return
    sitemap = read_sitemap(body)
    for entry in sitemap.entries:
        said = (max(entry.modified, entry.published), CHANGE_FREQUENCIES.get(entry.frequency, 0.0))
        publication.add(entry.url, said, "sitemap" if sitemap.is_index else "url")
    _note_trouble(publication, place, sitemap.trouble, len(sitemap.entries))


def _read_feed(publication: Publication, place: str, body: bytes) -> None:
    """Takes the entries of a feed; their links are relative to where it says that it is."""
    feed = read_feed(body)
    base = canonical(feed.address)
    for item in feed.entries:
        publication.add(item.link, (item.updated, 0.0), base=base)
    _note_trouble(publication, place, feed.trouble, len(feed.entries))


def _note_trouble(publication: Publication, place: str, trouble: str, found: int) -> None:
    if trouble and not found:
        raise BadInput(f"{place}: {trouble}")
    if trouble:
        publication.troubles.append(f"{place}: {trouble}")


def _read_indexnow(publication: Publication, name: str) -> None:
    try:
        said = json.loads(_body(name))
        host, urls = said["host"], said["urlList"]
        if not isinstance(host, str) or not isinstance(urls, list) or not all(isinstance(url, str) for url in urls):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadInput(
            f'{name}: the IndexNow form is a JSON object as {{"host": "a.example", "urlList": ["https://a.example/"]}}'
        ) from None
    for href in urls:
        url = canonical(href)
        if url is not None and host_of(url).partition("//")[2] != host.lower():
            publication.refuse(href, f"its host is not {host}, for which the list speaks")
        else:
            publication.add(href)


def _verify(name: str, body: bytes, signature: str, secret_file: str) -> None:
    """Refuses a body that was not signed with the secret."""
    if not signature or not secret_file:
        raise BadInput("a signature is verified with a secret: give both --signature and --secret-file, or neither")
    method, _, digest = signature.strip().partition("=")
    if method.lower() not in SIGNED_BY or not digest:
        raise BadInput(
            f"{signature!r} is not the signature of a hub: it is METHOD=HEX, the method {', '.join(SIGNED_BY[:-1])} or {SIGNED_BY[-1]}"
        )
    secret = _body(secret_file).strip()
    if not secret:
        raise BadInput(f"{secret_file}: there is no secret in it")
    if not hmac.compare_digest(
        hmac.new(secret, body, method.lower()).hexdigest().encode(), digest.strip().lower().encode()
    ):
        raise BadInput(f"{name}: the signature does not fit what it is to prove, so nothing is published")


def _body(name: str) -> bytes:
    try:
        if name == STANDARD_INPUT:
            return sys.stdin.buffer.read(LARGEST_FILE)
        path = Path(name)
        if path.stat().st_size > LARGEST_FILE:
            raise BadInput(f"{name}: larger than 1 GiB")
        return path.read_bytes()
    except (OSError, ValueError) as trouble:
        raise BadInput(f"{name}: cannot be read: {getattr(trouble, 'strerror', None) or trouble}") from trouble


def _lines(name: str) -> Iterator[str]:
    try:
        text = _body(name).decode("utf-8-sig")
    except UnicodeDecodeError as trouble:
        raise BadInput(f"{name}: this is not text: {trouble}") from trouble
    for line in text.splitlines():
        if word := without_comment(line):
            yield word
