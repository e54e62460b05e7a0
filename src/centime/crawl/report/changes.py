"""The changes of a crawl's pages, newest first, from one pass over the records of all visits.

    new       the page was read for the first time
    changed   the signature of the content differs from that of the read before (Mark.CHANGED)
    gone      the page was present and is no longer: 404, 410, or given up after too many failures
    moved     the page was present and redirects permanently: 301, 308
    back      the page was gone or had moved, and is present again

A change was seen by one visit, and happened at some time since the visit that last found the page: the report has both
times. Failures in between, and other redirects, are not changes. The importance is the current one.

The pass is a kernel over the records in the file; it needs 5 bytes of memory per page and 13 per change. Only the
changes that are shown are read in full, a batch at a time, so histories of any length can be reported.
"""

import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import numpy.typing as npt

from centime.crawl.engine.state import CrawlState
from centime.crawl.report.opening import moment
from centime.model.errors import BadSetting
from centime.model.kernel import kernel
from centime.model.outcome import Presence
from centime.model.pattern import check_pattern, compiled
from centime.settings.units import seconds
from centime.shard.pages import KnownPages
from centime.shard.people.notices import Change
from centime.shard.presence import CHANGES, finds, visit_shows
from centime.store.records import HEAD_TYPE, UNIT, Records

BATCH = 4_096
ROOM = 1 << 18  # changes that one call of the kernel can return

Octets = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.uint32]

_FIELDS: Mapping[str, Any] = HEAD_TYPE.fields or {}
_TIME = _FIELDS["time"][1] // 8
_MARKS, _OUTCOME, _KIND = (_FIELDS[name][1] for name in ("marks", "outcome", "kind"))
_LENGTHS, _TEXTS = HEAD_TYPE.itemsize, 10  # where the lengths of a record's texts begin, and how many there are
_NEVER = int(Presence.NEVER)

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes as columns, the oldest first: the place of the record, the place of the record of the last visit before
    it that found the page (0 if none), and the kind of the change.
    """

    at: Numbers
    before: Numbers
    kind: Octets

    def __len__(self) -> int:
        """The number of changes."""
        return len(self.at)


def find_changes(opened: CrawlState, since: float = 0.0, until: float = float("inf")) -> Changes:
    """All changes that were seen between two times."""
    return _pass_over(opened.shard.pages, since, until)[0]


def presences(known: KnownPages) -> Octets:
    """Whether each page is there, as all its visits show (`Presence`)."""
    return _pass_over(known, float("inf"), float("inf"))[1]


def _pass_over(known: KnownPages, since: float, until: float) -> tuple[Changes, Octets]:
    """The changes that were seen between two times, and the presence of each page in the end."""
    records = known.records
    state = np.full(known.count, Presence.NEVER, dtype=np.uint8)
    last = np.zeros(known.count, dtype=np.uint32)
    parts: list[Changes] = []
    border = len(records.file.base) // UNIT
    for octets, begin, shift in ((records.file.base, records.first, 0), (records.file.tail, 0, border)):
        at, end = begin, len(octets) // UNIT
        whole = octets[: end * UNIT]
        while at < end:
            found = Changes(
                np.empty(ROOM, dtype=np.uint32), np.empty(ROOM, dtype=np.uint32), np.empty(ROOM, dtype=np.uint8)
            )
            views = whole, whole.view(np.uint16), whole.view(np.uint32), whole.view(np.float64)
            at, count = _scan(*views, at, shift, since, until, state, last, found.at, found.before, found.kind)
            parts.append(Changes(found.at[:count].copy(), found.before[:count].copy(), found.kind[:count].copy()))
    none = np.empty(0, dtype=np.uint32)
    changes = Changes(
        np.concatenate([none, *(part.at for part in parts)]),
        np.concatenate([none, *(part.before for part in parts)]),
        np.concatenate([none.astype(np.uint8), *(part.kind for part in parts)]),
    )
    return changes, state


def newest_first(
    opened: CrawlState, changes: Changes, match: str = "", most: int | None = None
) -> Iterator[dict[str, Any]]:
    """The changes of pages whose URL matches `match`, newest first, at most `most` of them."""
    check_pattern(match)
    search = compiled(match).search
    known, left = opened.shard.pages, most
    for end in range(len(changes), 0, -BATCH):
        begin = max(0, end - BATCH)
        places = range(end - 1, begin - 1, -1)
        heads = [known.records.head(int(changes.at[place])) for place in places]
        pages = np.array([head["page"] for head in heads], dtype=np.int64)
        urls = known.texts.get_many(pages)
        importance = opened.shard.ledger.importance(pages)
        for place, head, url, x in zip(places, heads, urls, importance.tolist(), strict=True):
            if left == 0:
                return
            if search(url):
                change = CHANGES[int(changes.kind[place])].value
                yield _row(known.records, head, int(changes.before[place]), change, url, x)
                left = None if left is None else left - 1


def atom(opened: CrawlState, rows: Iterator[dict[str, Any]], address: str = "", name: str = "") -> Iterator[str]:
    """The changes as an Atom feed (RFC 4287), piece by piece; a change has the same id in every feed.

    `address` is the URL at which the feed is published. Without one, the feed refers to itself by its id. `name` is
    that of the crawl, by default the name of its folder.
    """
    settings = opened.shard.settings
    name = name or opened.folder.path.resolve().name
    feed = uuid.uuid5(uuid.NAMESPACE_URL, f"{opened.folder.created!r} {' '.join(settings.seeds)}")
    first = next(rows, None)
    updated = moment(opened.folder.created) if first is None else first["seen"]
    yield '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
    yield f" <id>urn:uuid:{feed}</id>\n <title>{_xml(f'What changed in {name}')}</title>\n"
    yield f" <updated>{updated}</updated>\n <author><name>{_xml(settings.user_agent)}</name></author>\n"
    here = quoteattr(_NOT_XML.sub("", address) or f"urn:uuid:{feed}")
    yield f' <link rel="self" type="application/atom+xml" href={here}/>\n <generator>centime</generator>\n'
    while first is not None:
        yield _entry(feed, first)
        first = next(rows, None)
    yield "</feed>\n"


def time_of(text: str, now: float) -> float:
    """The time that a text gives: `2026-01-31`, `2026-01-31T12:00:00Z`, or an age: `90m`, `2h`, `7d`."""
    if re.fullmatch(r"\s*\d+(\.\d+)?\s*[smhd]\s*", text):
        return now - seconds(text)
    try:
        when = datetime.fromisoformat(text.strip())
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise BadSetting(
            f"a time is written like 2026-01-31, 2026-01-31T12:00:00Z, or 2h for two hours ago, not {text!r}"
        ) from None


def _row(records: Records, head: Any, before: int, change: str, url: str, importance: float) -> dict[str, Any]:
    old = records.head(before) if before else None
    present = change not in (Change.GONE, Change.MOVED)
    return {
        "seen": moment(float(head["time"])),
        "last_seen_before": None if old is None else moment(float(old["time"])),
        "change": change,
        "importance": importance,
        "status": int(head["status"]) or None,
        "signature": f"{int(head['signature']):016x}" if present else None,
        "old_signature": None if old is None else f"{int(old['signature']):016x}",
        "bytes": int(head["body_bytes"]) if present else None,
        "old_bytes": None if old is None else int(old["body_bytes"]),
        "url": url,
        "seen_seconds": float(head["time"]),
        "last_seen_before_seconds": None if old is None else float(old["time"]),
    }


def _entry(feed: uuid.UUID, row: dict[str, Any]) -> str:
    identity = uuid.uuid5(feed, f"{row['seen_seconds']!r} {row['change']} {row['url']}")
    between = (
        f"between {row['last_seen_before']} and {row['seen']}" if row["last_seen_before"] else f"seen {row['seen']}"
    )
    sizes = ", ".join(
        f"{name} {row[key]}"
        for name, key in (("bytes before", "old_bytes"), ("bytes now", "bytes"))
        if row[key] is not None
    )
    summary = f"{row['change']}, {between}; importance {row['importance']:.6g}; {sizes}"
    href = quoteattr(_NOT_XML.sub("", row["url"]))
    return (
        f" <entry>\n  <id>urn:uuid:{identity}</id>\n  <title>{_xml(row['change'] + ': ' + row['url'])}</title>\n"
        f'  <updated>{row["seen"]}</updated>\n  <link rel="alternate" href={href}/>\n'
        f"  <category term={quoteattr(row['change'])}/>\n  <summary>{_xml(summary)}</summary>\n"
        f"{_content(row.get('sentences') or ())} </entry>\n"
    )


def _content(sentences: Iterable[Mapping[str, list[str]]]) -> str:
    """The sentences that differ, as the content of an entry; "" without any."""
    lines = [
        f"<p>{''.join(f'<{mark}>{escape(sentence)}</{mark}> ' for sentence in step[side]).rstrip()}</p>"
        for step in sentences
        for side, mark in (("old", "del"), ("new", "ins"))
        if step[side]
    ]
    return f'  <content type="html">{_xml("".join(lines))}</content>\n' if lines else ""


def _xml(text: str) -> str:
    return escape(_NOT_XML.sub("", text))


@kernel
def _scan(
    octets: Octets,
    halves: npt.NDArray[np.uint16],
    words: Numbers,
    doubles: npt.NDArray[np.float64],
    at: int,
    shift: int,
    since: float,
    until: float,
    state: Octets,
    last: Numbers,
    found_at: Numbers,
    found_before: Numbers,
    found_kind: Octets,
) -> tuple[int, int]:
    """Scans the records from `at` on, until the end or until there is no room; returns where to continue, and the
    number of changes.
    """
    count = 0
    end = len(doubles)
    while at < end and count < len(found_at):
        place = at * UNIT
        page = words[at * 2]
        if words[at * 2 + 1] == 0:  # no visit before: the first one, or a repair has lost the others
            state[page], last[page] = _NEVER, 0
        before = last[page]
        state[page], change = visit_shows(
            state[page], octets[place + _OUTCOME], octets[place + _KIND], halves[(place + _MARKS) // 2]
        )
        if finds(octets[place + _OUTCOME], octets[place + _KIND]):
            last[page] = at + shift
        if change and since <= doubles[at + _TIME] <= until:
            found_at[count] = at + shift
            found_before[count] = before
            found_kind[count] = change
            count += 1
        length = _LENGTHS + 2 * _TEXTS
        for text in range(_TEXTS):
            length += halves[(place + _LENGTHS) // 2 + text]
        at += (length + UNIT - 1) // UNIT
    return at, count
