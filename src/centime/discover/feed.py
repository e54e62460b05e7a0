"""Feeds, the news of a site: RSS 0.9x, 1.0 and 2.0, and Atom.

Links are returned as written; the caller resolves them against the feed's URL. The link of an Atom entry is its first
alternate link; an RSS item without `link` is identified by its permanent `guid`. A broken feed yields the entries
before the damage, and `trouble` says what is wrong.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from centime.discover.moment import moment
from centime.discover.records import Record, read_records

MOST_ENTRIES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """One entry of a feed."""

    link: str
    updated: float = 0.0  # seconds since the epoch; 0 if missing
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """The content of a feed."""

    entries: tuple[FeedEntry, ...] = ()
    updated: float = 0.0
    ttl_seconds: float = 0.0  # how long the feed stays valid; 0 if missing
    address: str = ""  # the feed's own URL (rel="self"), as written
    hubs: tuple[str, ...] = ()  # URLs to subscribe to its changes (rel="hub"), as written
    trouble: str = ""


def read_feed(body: bytes) -> Feed:
    """The entries of a feed; never raises."""
    found = read_records(body, ("item", "entry"), most=MOST_ENTRIES)
    if found.root not in ("rss", "RDF", "feed"):
        return Feed(
            trouble=found.trouble or f"A feed begins with rss, RDF or feed, not with {found.root or 'nothing'}."
        )
    entries = [
        FeedEntry(link=_link(record), updated=_updated(record), title=record.text("title")) for record in found.records
    ]
    return Feed(
        entries=tuple(entry for entry in entries if entry.link),
        updated=_updated(found.outside),
        ttl_seconds=_ttl(found.outside),
        address=next(_related(found.outside, "self"), ""),
        hubs=tuple(_related(found.outside, "hub")),
        trouble=found.trouble,
    )


def _link(record: Record) -> str:
    """The link of an entry; empty if it has none."""
    for name, text, attributes, _ in record.fields:
        if name == "link":
            if attributes.get("href") and attributes.get("rel", "alternate") == "alternate":
                return attributes["href"].strip()
            if text:
                return text
    for name, text, attributes, _ in record.fields:
        if (
            name == "guid"
            and attributes.get("isPermaLink", "true") != "false"
            and text.startswith(("http://", "https://"))
        ):
            return text
    return ""


def _related(channel: Record, relation: str) -> Iterator[str]:
    """The links of a feed with a relation: `self` is the feed, `hub` a server that announces its changes."""
    for name, _, attributes, _ in channel.fields:
        if name == "link" and relation in attributes.get("rel", "").split() and attributes.get("href", "").strip():
            yield attributes["href"].strip()


def _updated(record: Record) -> float:
    """The time of the last change of a record; 0 if unknown."""
    return max(
        moment(record.text(name))
        for name in ("updated", "published", "pubDate", "date", "lastBuildDate", "modified", "issued")
    )


def _ttl(channel: Record) -> float:
    """How many seconds the feed stays valid: from `ttl` (minutes), or from the syndication module of RSS 1.0."""
    minutes = channel.text("ttl")
    if minutes.isascii() and minutes.isdigit():
        return min(float(minutes[:9]) * 60.0, 31_536_000.0)
    period = {
        "hourly": 3_600.0,
        "daily": 86_400.0,
        "weekly": 604_800.0,
        "monthly": 2_592_000.0,
        "yearly": 31_536_000.0,
    }.get(channel.text("updatePeriod"), 0.0)
    times = channel.text("updateFrequency")
    return period / int(times[:6]) if times.isascii() and times.isdigit() and int(times[:6]) else period
