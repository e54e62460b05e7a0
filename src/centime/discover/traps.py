"""Crawler traps: sites that generate new URLs for as long as somebody fetches them.

`trap` judges a canonical URL by itself and refuses it if it has

- more than DEEPEST segments in its path;
- a segment, or a run of up to five segments, three times in a row (`/a/b/a/b/a/b`);
- a segment of more than LONGEST_SEGMENT characters, decoded;
- a session in its path: a segment like `sid-0123456789abcdef`, or two segments of 32 or more hexadecimal digits;
- more than MOST_PARAMETERS parameters, or one parameter more than MOST_OF_A_NAME times;
- an implausible date: a year and a month in its path (`/2091/03/`) more than YEARS_OFF years after `year`, or in its
  query (`year=1860&month=3`, `date=1860-03`) more than YEARS_OFF years before or after it, or a time of day in its
  query (`year`, `month`, `day` and `hour`). Old years in paths are archives, and are admitted.

`TrapLimits` counts what a host has: a limited number of pages per host, of queries with the same parameter names (in
any order) per path, and of dates below one path (a calendar that leads into the past never reaches an implausible
year). The result depends on nothing but the URLs and their order. Memory per host is bounded: counts are kept in a
table of PATHS_PER_HOST slots; paths that collide share a count and reach the limit earlier.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import msgspec
import xxhash

from centime.model.address import host_of
from centime.model.errors import BadSetting

DEEPEST = 20
LONGEST_SEGMENT = 255
MOST_PARAMETERS = 12
MOST_OF_A_NAME = 3
YEARS_OFF = 30
THIS_YEAR = 2025
PATHS_PER_HOST = 4_096

_REPEATED = re.compile(r"(/[^/]++(?:/[^/]++){0,4}?)\1\1(?=/|$)").search
_SESSION = re.compile(
    r"/(?:s|sid|sess|session)[-_=:](?=[a-z]*[0-9])[0-9a-z]{16,}(?=/|$)|/[0-9a-f]{32,}/(?:.*/)?[0-9a-f]{32,}(?=/|$)",
    re.IGNORECASE,
).search
_PATH_CALENDAR = re.compile(r"/(1[0-9]{3}|[2-9][0-9]{3})[/-](0?[1-9]|1[0-2])(?=[/-]|$)").search
_PATH_DATE = re.compile(r"/[0-9]{3,5}[/-](?:0?[1-9]|1[0-2])(?=[/-]|$)").search
_QUERY_YEAR = re.compile(r"(?:^|[&;])(?:[a-z_]*year|y|yr|jahr|annee)=([0-9]{3,6})(?=[&;]|$)", re.IGNORECASE).search
_QUERY_MONTH = re.compile(r"(?:^|[&;])(?:[a-z_]*month|m|mo|mon|monat|mois)=[0-9]{1,2}(?=[&;]|$)", re.IGNORECASE).search
_QUERY_DATE = re.compile(r"=([0-9]{4})-(?:0?[1-9]|1[0-2])(?:-[0-9]{1,2})?(?=[&;]|$)").search
_QUERY_DAY = re.compile(r"(?:^|[&;])(?:day|d)=[0-9]{1,2}(?=[&;]|$)", re.IGNORECASE).search
_QUERY_CLOCK = re.compile(r"(?:^|[&;])(?:hour|h|minute|min|time)=[0-9:]{1,5}(?=[&;]|$)", re.IGNORECASE).search


def trap(url: str, *, year: int = THIS_YEAR) -> str:
    """Why a canonical URL looks like a trap, as a phrase; empty if it does not."""
    start = url.find("/", 8)
    path, _, query = url[start:].partition("?")
    depth = path.count("/")
    if depth > DEEPEST:
        return f"its path is {depth} segments deep"
    if depth >= 3:
        repeated = _REPEATED(path)
        if repeated:
            return f"{repeated[1]} is repeated in its path"
    if len(path) > LONGEST_SEGMENT and any(map(_is_long, path.split("/"))):
        return "a segment of its path is very long"
    if len(path) > 18 and _SESSION(path):
        return "there is a session in its path"
    calendar = _PATH_CALENDAR(path) if depth >= 2 else None
    if calendar and int(calendar[1]) > year + YEARS_OFF:
        return f"its calendar has reached the year {calendar[1]}"
    return _query_trap(query, year) if query else ""


def _is_long(segment: str) -> bool:
    """Whether a segment has more than LONGEST_SEGMENT characters, of which one may take nine in a URL."""
    return len(segment) > LONGEST_SEGMENT and len(unquote(segment)) > LONGEST_SEGMENT


def _query_trap(query: str, year: int) -> str:
    """Why a query looks like a trap; empty if it does not."""
    count = query.count("&") + 1
    if count > MOST_PARAMETERS:
        return f"it has {count} parameters"
    if count > MOST_OF_A_NAME:
        name, times = Counter(piece.partition("=")[0] for piece in query.split("&")).most_common(1)[0]
        if times > MOST_OF_A_NAME:
            return f"its parameter {name} occurs {times} times"
    found = _QUERY_YEAR(query)
    dated = found[1] if found and _QUERY_MONTH(query) else ""
    if not dated and (date := _QUERY_DATE(query)):
        dated = date[1]
    if dated and abs(int(dated) - year) > YEARS_OFF:
        return f"its calendar has reached the year {dated}"
    if dated and _QUERY_DAY(query) and _QUERY_CLOCK(query):
        return "it browses a calendar by the hour"
    return ""


@dataclass(slots=True)
class _Host:
    """Counts of what was admitted from one host."""

    pages: int = 0
    paths: dict[int, int] | None = None  # slot of a shape: how many URLs of it were admitted

    def count(self, shape: str, most: int) -> bool:
        """Counts one more URL of a shape; False if there are too many already."""
        slot = xxhash.xxh3_64_intdigest(shape.encode()) % PATHS_PER_HOST
        if self.paths is None:
            self.paths = {}
        counted = self.paths.get(slot, 0)
        if counted >= most:
            return False
        self.paths[slot] = counted + 1
        return True


class TrapLimits:
    """Counts the admitted URLs of each host and refuses those above the limits; part of every snapshot."""

    def __init__(
        self, *, pages_per_host: int = 1_000_000, queries_per_path: int = 1_000, dates_per_path: int = 600
    ) -> None:
        if pages_per_host < 1 or queries_per_path < 1 or dates_per_path < 1:
            raise BadSetting("the limits per host and per path must be 1 or more")
        self.pages_per_host = pages_per_host
        self.queries_per_path = queries_per_path
        self.dates_per_path = dates_per_path
        self._hosts: dict[str, _Host] = {}

    def take(self, url: str) -> str:
        """Counts a canonical URL, which must be new; returns why it is refused, and then does not count it."""
        name = host_of(url)
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = _Host()
        if host.pages >= self.pages_per_host:
            return f"its host has {self.pages_per_host} pages already"
        if "?" in url or _PATH_DATE(url, len(name)):
            refusal = self._take_shape(url, len(name), host)
            if refusal:
                return refusal
        host.pages += 1
        return ""

    def take_many(self, urls: Sequence[str]) -> list[int]:
        """The same for many URLs; returns the positions of those that are admitted."""
        hosts, most, dated, places = self._hosts, self.pages_per_host, _PATH_DATE, []
        for place, url in enumerate(urls):
            slash = url.find("/", 8)
            host = hosts.get(url[:slash])
            # Inlined, because a call for each new link would double the time, and nine in ten take this branch.
            if host is not None and host.pages < most and "?" not in url and dated(url, slash) is None:
                host.pages += 1
                places.append(place)
            elif not self.take(url):
                places.append(place)
        return places

    def _take_shape(self, url: str, start: int, host: _Host) -> str:
        """Counts a URL among those that differ only in their query values or their date; returns why it is refused."""
        path, mark, query = url.partition("?")
        if mark:
            names = "&".join(sorted(piece.partition("=")[0] for piece in query.split("&")))
            if not host.count(f"{path}?{names}", self.queries_per_path):
                return f"its path has {self.queries_per_path} queries with these parameters already"
        date = _PATH_DATE(path, start)
        if date and not host.count(f"{path[: date.start()]}//", self.dates_per_path):
            return f"{path[start : date.start()] or '/'} has {self.dates_per_path} dates already"
        return ""

    def pages_of(self, host: str) -> int:
        """The number of admitted pages of a host."""
        found = self._hosts.get(host)
        return found.pages if found else 0

    def state(self) -> dict[str, Any]:
        """Limits and counts as plain values."""
        return {
            "pages_per_host": self.pages_per_host,
            "queries_per_path": self.queries_per_path,
            "dates_per_path": self.dates_per_path,
            "hosts": {name: (host.pages, host.paths or {}) for name, host in self._hosts.items()},
        }

    def packed(self) -> bytearray:
        """The same for a snapshot, with msgpack: host by host, because there may be many."""
        encoder = msgspec.msgpack.Encoder()
        packed = bytearray(b"\x84")  # a map of four, the last of them a map of hosts
        for name in ("pages_per_host", "queries_per_path", "dates_per_path"):
            encoder.encode_into(name, packed, len(packed))
            encoder.encode_into(getattr(self, name), packed, len(packed))
        encoder.encode_into("hosts", packed, len(packed))
        packed += b"\xdf" + len(self._hosts).to_bytes(4, "big")
        for name, host in self._hosts.items():
            encoder.encode_into(name, packed, len(packed))
            encoder.encode_into((host.pages, host.paths or {}), packed, len(packed))
        return packed

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "TrapLimits":
        """The limits and counts that `state` returned."""
        limits = cls(**{name: state[name] for name in ("pages_per_host", "queries_per_path", "dates_per_path")})
        for name, (pages, paths) in state["hosts"].items():
            limits._hosts[name] = _Host(pages, {int(slot): count for slot, count in paths.items()} or None)
        return limits
