"""Feeds: what a site says is new. RSS 0.9x, 1.0 and 2.0, and Atom.

Links are given as written, to be resolved against the feed's URL. An Atom entry's link is its first alternate one; an
RSS item without `link` is known by its permanent `guid`. A broken feed gives the entries before the damage, with
`trouble`.
"""

from dataclasses import dataclass

from centime.discover.moment import moment
from centime.discover.records import Record, read_records

MOST_ENTRIES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """One piece of news."""

    link: str
    updated: float = 0.0  # seconds since the epoch; 0 when not said
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """What a feed says."""

    entries: tuple[FeedEntry, ...] = ()
    updated: float = 0.0
    ttl_seconds: float = 0.0  # for how long the feed says it holds; 0 when not said
    address: str = ""  # where the feed says that it is, as written
    trouble: str = ""


def read_feed(body: bytes) -> Feed:
    """The entries of a feed; never an exception."""
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
        address=_address(found.outside),
        trouble=found.trouble,
    )


def _link(record: Record) -> str:
    """Where an entry leads."""
    for name, text, attributes in record.fields:
        if name == "link":
            if attributes.get("href") and attributes.get("rel", "alternate") == "alternate":
                return attributes["href"].strip()
            if text:
                return text
    for name, text, attributes in record.fields:
        if (
            name == "guid"
            and attributes.get("isPermaLink", "true") != "false"
            and text.startswith(("http://", "https://"))
        ):
            return text
    return ""


def _address(channel: Record) -> str:
    """The link of a feed to itself."""
    own = (
        attributes.get("href", "")
        for name, _, attributes in channel.fields
        if name == "link" and attributes.get("rel") == "self"
    )
    return next(own, "").strip()


def _updated(record: Record) -> float:
    """When a record was last changed."""
    return max(
        moment(record.text(name))
        for name in ("updated", "published", "pubDate", "date", "lastBuildDate", "modified", "issued")
    )


def _ttl(channel: Record) -> float:
    """For how many seconds the feed holds: `ttl` in minutes, or the period of RSS 1.0's syndication module."""
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
