"""Crawler traps: sites that generate new URLs as long as a crawler fetches them.

`Traps.suspect` gives a canonical URL the shape that makes it suspicious. A shape alone proves nothing:
`/en/en/en/about` may be a page. So the shard admits a few URLs of each shape, reads them, and refuses the rest only if
these pages are evidence of a trap (`shard/limits/trap_evidence.py`). A URL is suspicious if it has

- more than `most_segments` segments in its path;
- a segment, or a run of up to five segments, `repeated_segments` times in a row (`/a/b/a/b/a/b`);
- a segment of more than `longest_segment` characters, decoded;
- a session in its path: a segment like `sid-0123456789abcdef`, or two segments of 32 or more hexadecimal digits;
- more than `most_parameters` parameters, or one parameter more than `repeated_parameters` times;
- an implausible date: a year and a month in its path (`/2091/03/`) more than `years_off` years after `year`, or in its
  query (`year=1860&month=3`, `date=1860-03`) more than `years_off` years before or after it, or a time of day in its
  query (`year`, `month`, `day` and `hour`). Old years in paths are archives, and are not suspicious.

Two more shapes are suspicious only in large numbers: queries with the same parameter names (in any order) on one path,
and dates below one path. A calendar that leads into the past never reaches an implausible year.

    key of a shape = kind (4 bits) | hash of the host and of the place in it that all URLs of the shape share (60 bits)
"""

import re
from collections import Counter
from enum import IntEnum
from typing import Literal
from urllib.parse import unquote

import msgspec
import xxhash

THIS_YEAR = 2026
_KEY_BITS = 60

TrapMode = Literal["off", "shape", "evidence"]

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


class Kind(IntEnum):
    """Kinds of shapes; the numbers are in journals and must not change."""

    QUERIES = 1  # suspicious in large numbers
    DATES = 2
    SEGMENTS = 3  # suspicious by themselves, from here on
    REPEATED = 4
    LONG = 5
    SESSION = 6
    CALENDAR = 7
    HOURS = 8
    PARAMETERS = 9
    SAME_PARAMETER = 10

    @property
    def by_number(self) -> bool:
        """Whether URLs of this kind are suspicious only in large numbers."""
        return self <= Kind.DATES


class TrapRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules by which a URL is suspicious, and the consequence: none (`off`), it is refused (`shape`), or pages of
    its shape decide (`evidence`). None: there is no such rule.
    """

    mode: TrapMode = "evidence"
    most_segments: int | None = 20
    longest_segment: int | None = 255
    repeated_segments: int | None = 3
    most_parameters: int | None = 12
    repeated_parameters: int | None = 3
    years_off: int | None = 30


class Suspicion(msgspec.Struct, frozen=True, gc=False):
    """The shape of a suspicious URL, and why it is suspicious, as a phrase."""

    kind: Kind
    key: int
    phrase: str


def kind_of(key: int) -> Kind:
    """The kind of the shape with this key."""
    return Kind(key >> _KEY_BITS)


class Traps:
    """Looks for suspicious URLs by the rules of one crawl; `year` is the year that counts as now."""

    def __init__(self, rules: TrapRules | None = None, *, year: int = THIS_YEAR) -> None:
        self.rules = rules or TrapRules()
        self.year = year
        again = self.rules.repeated_segments
        self._repeated = again and re.compile(rf"(/[^/]++(?:/[^/]++){{0,4}}?)\1{{{again - 1}}}(?=/|$)").search

    def suspect(self, url: str) -> Suspicion | None:
        """The shape of a canonical URL that is suspicious, also if only in large numbers; None for all others."""
        start = url.find("/", 8)
        query_at = url.find("?", start)
        path = url[start:] if query_at < 0 else url[start:query_at]
        found = self._path(path)
        if found is None and query_at >= 0:
            found = self._query(path, url[query_at + 1 :])
        if found is None:
            return self._in_numbers(url, start, path, query_at)
        kind, place, phrase = found
        return Suspicion(kind, _key(kind, f"{url[:start]}{place}"), phrase)

    def shorter(self, url: str) -> list[str]:
        """Shorter forms of a suspicious URL, which have the same content if the rest of it has no meaning: with fewer
        repetitions, without its session, without its query.
        """
        start = url.find("/", 8)
        path, _, query = url[start:].partition("?")
        if query:
            return [url[:start] + path]
        if session := _SESSION(path):
            return [url[:start] + path[: session.start()] + path[session.end() :]]
        repeated = self._repeated(path) if self._repeated else None
        if not repeated:
            return []
        before, behind = path[: repeated.start()], path[repeated.end() :]
        while behind.startswith(f"{repeated[1]}/") or behind == repeated[1]:
            behind = behind[len(repeated[1]) :]
        return [url[:start] + before + repeated[1] * times + behind for times in (2, 1)]

    def _path(self, path: str) -> tuple[Kind, str, str] | None:
        """The suspicion about a path: the kind, the place that all URLs of its shape share, and why."""
        rules = self.rules
        depth = path.count("/")
        if rules.most_segments is not None and depth > rules.most_segments:
            return Kind.SEGMENTS, _first(path), f"its path is {depth} segments deep"
        if self._repeated and depth >= (rules.repeated_segments or 1):
            repeated = self._repeated(path)
            if repeated:
                return Kind.REPEATED, _first(path), f"{repeated[1]} is repeated in its path"
        longest = rules.longest_segment
        if longest is not None and len(path) > longest:
            for segment in path.split("/"):
                if len(segment) > longest and len(unquote(segment)) > longest:  # a character may take nine in a URL
                    return Kind.LONG, path[: path.find(segment)], "a segment of its path is very long"
        if len(path) > 18 and (session := _SESSION(path)):
            return Kind.SESSION, path[: session.start()], "there is a session in its path"
        calendar = _PATH_CALENDAR(path) if depth >= 2 and rules.years_off is not None else None
        if calendar and int(calendar[1]) > self.year + (rules.years_off or 0):
            return Kind.CALENDAR, path[: calendar.start()], f"its calendar has reached the year {calendar[1]}"
        return None

    def _query(self, path: str, query: str) -> tuple[Kind, str, str] | None:
        """The same for a query."""
        rules = self.rules
        count = query.count("&") + 1
        if rules.most_parameters is not None and count > rules.most_parameters:
            return Kind.PARAMETERS, path, f"it has {count} parameters"
        if rules.repeated_parameters is not None and count > rules.repeated_parameters:
            name, times = Counter(piece.partition("=")[0] for piece in query.split("&")).most_common(1)[0]
            if times > rules.repeated_parameters:
                return Kind.SAME_PARAMETER, path, f"its parameter {name} occurs {times} times"
        found = _QUERY_YEAR(query)
        dated = found[1] if found and _QUERY_MONTH(query) else ""
        if not dated and (date := _QUERY_DATE(query)):
            dated = date[1]
        if dated and rules.years_off is not None and abs(int(dated) - self.year) > rules.years_off:
            return Kind.CALENDAR, path, f"its calendar has reached the year {dated}"
        if dated and _QUERY_DAY(query) and _QUERY_CLOCK(query):
            return Kind.HOURS, path, "it browses a calendar by the hour"
        return None

    def _in_numbers(self, url: str, start: int, path: str, query_at: int) -> Suspicion | None:
        """The shape of a URL that is suspicious if there are many of it."""
        date = _PATH_DATE(path)
        if date:
            place = path[: date.start()]
            key = _key(Kind.DATES, f"{url[:start]}{place}//")
            return Suspicion(Kind.DATES, key, f"there are many dates below {place or '/'}")
        if query_at < 0:
            return None
        names = "&".join(sorted(piece.partition("=")[0] for piece in url[query_at + 1 :].split("&")))
        key = _key(Kind.QUERIES, f"{url[:query_at]}?{names}")
        return Suspicion(Kind.QUERIES, key, "there are many queries of its path with these parameters")


def _first(path: str) -> str:
    """The first segment of a path that has another one."""
    return path[: max(0, path.find("/", 1))]


def _key(kind: Kind, place: str) -> int:
    return xxhash.xxh3_64_intdigest(place.encode()) & ((1 << _KEY_BITS) - 1) | kind << _KEY_BITS
