"""Reads a publication from arguments and files: its canonical URLs in the scope of the crawl, and why others are
refused.

    URL                        a page that is new or has changed
    sitemap:URL, feed:URL      the crawl fetches it; only the crawl uses the network
    sitemap:FILE, feed:FILE    read here, with the times of change in it; the crawl fetches the parts of a sitemap index
    a file of URLs             one per line; comments (# at the beginning or after white space) are skipped
    IndexNow                   {"host": ..., "urlList": [...]}; as its protocol says, URLs of other hosts are refused
    WebSub                     the feed that a hub posts, with its `X-Hub-Signature` if a secret was agreed upon

Nothing is dropped silently: a word that is not a URL, or a URL out of scope, is counted and named. An argument that can
only be a typo is an error.
"""

import codecs
import hmac
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from centime.discover.canonical import canonical
from centime.discover.feed import read_feed
from centime.discover.scope import Scope
from centime.discover.seeds import without_comment
from centime.discover.sitemap import read_sitemap
from centime.model.address import host_of
from centime.model.errors import BadInput
from centime.model.visible import visible
from centime.refresh.learning.credit import CHANGE_FREQUENCIES
from centime.settings.crawl import CrawlSettings
from centime.shard.people.command import PublishCommand, Source, publications

MOST_NAMED = 20  # refused URLs that are named, at most
LARGEST_FILE = 1 << 30
STANDARD_INPUT = "-"
SIGNED_BY = ("sha1", "sha256", "sha384", "sha512")  # the methods of WebSub

Claim = tuple[float, float]  # when a page changed, and its period of changes: seconds, 0 if unknown
NO_CLAIM: Claim = (0.0, 0.0)


@dataclass(slots=True)
class Publication:
    """The URLs to publish, each once, in the order given."""

    scope: Scope
    pages: dict[str, Claim] = field(default_factory=dict)
    sitemaps: dict[str, None] = field(default_factory=dict)
    feeds: dict[str, None] = field(default_factory=dict)
    refused: int = 0
    reasons: list[dict[str, Any]] = field(default_factory=list)  # of the first refused URLs
    troubles: list[str] = field(default_factory=list)  # defects of files that were read nevertheless

    def add(self, href: str, claim: Claim = NO_CLAIM, source: Source = "url", base: str | None = None) -> None:
        """Adds or refuses a URL as written in a document at `base`."""
        url = canonical(href, base)
        refusal = (
            "it is not the URL of a page"
            if url is None
            else self.scope.refusal(url if source == "url" else url.removesuffix(".gz"))
        )
        if url is None or refusal:
            self.refuse(href, refusal)
        elif source == "url":
            self.pages[url] = claim if claim != NO_CLAIM else self.pages.get(url, NO_CLAIM)
        else:
            (self.sitemaps if source == "sitemap" else self.feeds)[url] = None

    def refuse(self, href: str, reason: str) -> None:
        """Counts a URL that cannot be published, and keeps the reasons of the first ones."""
        self.refused += 1
        if len(self.reasons) < MOST_NAMED:
            self.reasons.append({"url": visible(href[:200]), "reason": reason})

    def commands(self, *, time: float, cluster: str = "", publisher: str = "", by: str = "") -> list[PublishCommand]:
        """The commands that publish all of it."""
        modified, periods = zip(*self.pages.values(), strict=True) if self.pages else ((), ())
        common: dict[str, Any] = {"time": time, "cluster": cluster, "publisher": publisher, "by": by}
        parts: Iterable[Iterator[PublishCommand]] = (
            publications(list(self.pages), modified=modified, periods=periods, **common),
            publications(list(self.sitemaps), source="sitemap", **common),
            publications(list(self.feeds), source="feed", **common),
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
    """The publication in arguments and files; BadInput if an argument can only be a mistake."""
    publication = Publication(settings.scope_rules())
    for word in words:
        kind, colon, place = word.partition(":")
        if colon and kind in ("sitemap", "feed") and not place.strip():
            raise BadInput(f"{kind}: names no {kind}; give a URL or a file, like {kind}:https://a.example/{kind}.xml")
        if colon and kind in ("sitemap", "feed"):
            _read_source(publication, "sitemap" if kind == "sitemap" else "feed", place)
        elif "://" not in word:
            raise BadInput(
                f"{word!r} is not a URL; give a file of URLs with -f, a sitemap or feed as sitemap:... or feed:..."
            )
        else:
            publication.add(word.strip())
    for name in files:
        for line in _lines(name):
            publication.add(line)
    for name in indexnow:
        add_indexnow(publication, name, _body(name))
    if websub:
        body = _body(websub)
        if signature or secret_file:
            if not signature or not secret_file:
                raise BadInput(
                    "a signature is verified with a secret: give both --signature and --secret-file, or neither"
                )
            secret = _body(secret_file).strip()
            if not secret:
                raise BadInput(f"{secret_file}: contains no secret")
            verify(websub, body, signature, secret)
        add_feed(publication, websub, body)
    if not (words or files or indexnow or websub):
        raise BadInput(
            "nothing to publish: give URLs, sitemap:..., feed:..., -f FILE, --indexnow FILE or --websub FILE"
        )
    return publication


def _read_source(publication: Publication, kind: Source, place: str) -> None:
    """Adds a sitemap or feed: a file is read here, a URL is left to the crawl."""
    if "://" in place:
        publication.add(place, source=kind)
        return
    body = _body(place)
    if kind == "feed":
        add_feed(publication, place, body)
        return
    sitemap = read_sitemap(body)
    for entry in sitemap.entries:
        claim = (max(entry.modified, entry.published), CHANGE_FREQUENCIES.get(entry.frequency, 0.0))
        publication.add(entry.url, claim, "sitemap" if sitemap.is_index else "url")
    _note_trouble(publication, place, sitemap.trouble, len(sitemap.entries))


def add_feed(publication: Publication, place: str, body: bytes, url: str = "") -> None:
    """Adds the entries of a feed; their links are relative to the address that the feed gives for itself, or to its
    URL if that is known.
    """
    feed = read_feed(body)
    base = canonical(feed.address) or canonical(url)
    for item in feed.entries:
        publication.add(item.link, (item.updated, 0.0), base=base)
    _note_trouble(publication, place, feed.trouble, len(feed.entries))


def _note_trouble(publication: Publication, place: str, trouble: str, found: int) -> None:
    if trouble and not found:
        raise BadInput(f"{place}: {trouble}")
    if trouble:
        publication.troubles.append(f"{place}: {trouble}")


def add_indexnow(publication: Publication, name: str, body: bytes) -> None:
    """Adds the URLs of an IndexNow request that are of its host."""
    try:
        form = read_form(body)
        host, urls = form["host"], form["urlList"]
        if not isinstance(host, str) or not isinstance(urls, list) or not all(isinstance(url, str) for url in urls):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        raise BadInput(
            f"{name}: the IndexNow form is a JSON object like "
            f'{{"host": "a.example", "urlList": ["https://a.example/"]}}'
        ) from None
    for href in urls:
        url = canonical(href)
        if url is not None and host_of(url).partition("//")[2] != host.lower():
            publication.refuse(href, f"its host is not {host}, the host of the list")
        else:
            publication.add(href)


def read_form(body: bytes) -> Any:
    """The JSON in a body; ValueError if it is not JSON, or has lone surrogates, which no encoding can write."""
    try:
        return msgspec.json.decode(body.removeprefix(codecs.BOM_UTF8))
    except (msgspec.DecodeError, RecursionError) as trouble:
        raise ValueError(f"not JSON: {trouble}") from trouble


def verify(name: str, body: bytes, signature: str, secret: bytes) -> None:
    """Refuses a body that was not signed with the secret."""
    method, _, digest = signature.strip().partition("=")
    if method.lower() not in SIGNED_BY or not digest:
        raise BadInput(
            f"{signature!r} is not the signature of a hub: give METHOD=HEX, "
            f"where METHOD is {', '.join(SIGNED_BY[:-1])} or {SIGNED_BY[-1]}"
        )
    if not hmac.compare_digest(
        hmac.new(secret, body, method.lower()).hexdigest().encode(), digest.strip().lower().encode()
    ):
        raise BadInput(f"{name}: the signature does not match, so nothing is published")


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
        raise BadInput(f"{name}: not a text file: {trouble}") from trouble
    for line in text.splitlines():
        if word := without_comment(line):
            yield word
