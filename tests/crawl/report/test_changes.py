"""Changes: reported as they were seen, newest first, in every form, also while the crawl runs."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.crawl.engine.state import CrawlState
from centime.crawl.report import changes as module
from centime.crawl.report.changes import atom, find_changes, newest_first, time_of
from centime.model.errors import BadSetting
from centime.model.ids import PageId
from centime.model.outcome import Outcome, PageKind
from centime.store.record import NO_MARK, Mark, Record
from centime.store.records import Records
from tests.crawl.report.made import NOW, ROOT, A, hand_made

ATOM = "{http://www.w3.org/2005/Atom}"


def record(page: int, time: float, what: str, signature: int = 1) -> Record:
    """A record as a visit leaves it."""
    outcome, kind, marks = {
        "read": (Outcome.READ, PageKind.HTML, NO_MARK),
        "changed": (Outcome.READ, PageKind.XML, Mark.CHANGED | Mark.NOINDEX),
        "same": (Outcome.UNCHANGED, PageKind.HTML, NO_MARK),
        "gone": (Outcome.GONE, PageKind.DEAD, NO_MARK),
        "given up": (Outcome.TIMED_OUT, PageKind.DEAD, NO_MARK),
        "failed": (Outcome.SERVER_ERROR, PageKind.ERROR, NO_MARK),
        "moved": (Outcome.MOVED, PageKind.ERROR, NO_MARK),
    }[what]
    return Record(
        page=PageId(page),
        time=time,
        outcome=outcome,
        kind=kind,
        marks=marks,
        signature=signature,
        body_bytes=int(time) % 1000,
        status=200,
        etag="x" * page,
    )


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CrawlState]:
    with hand_made(tmp_path_factory.mktemp("changes") / "crawl") as opened:
        yield opened


def changes_of(opened: CrawlState, **window: float) -> list[tuple[float, str, str, str | None]]:
    rows = newest_first(opened, find_changes(opened, **window))
    return [(row["seen_seconds"] - NOW, row["change"], row["url"], row["last_seen_before"]) for row in rows]


def with_history(opened: CrawlState, story: list[tuple[int, float, str]]) -> None:
    opened.shard.pages.records.append_many([])
    for page, time, what in story:
        opened.shard.pages.records.append(record(page, NOW + time, what, signature=int(time)))


def test_new_changed_gone_moved_and_back_are_reported_and_nothing_else(crawl: CrawlState) -> None:
    before = changes_of(crawl)
    assert {change for _, change, _, _ in before} == {"new"}
    assert {url for _, _, url, _ in before} == {ROOT, f"{A}/one", f"{A}/two"}
    page = int(crawl.shard.pages.texts.count) - 1
    url = crawl.shard.pages.texts.get(PageId(page))
    story = [
        "failed",
        "gone",
        "read",
        "same",
        "failed",
        "changed",
        "moved",
        "same",
        "gone",
        "gone",
        "failed",
        "changed",
        "given up",
        "read",
    ]
    with_history(crawl, [(page, 100.0 + place, what) for place, what in enumerate(story)])
    found = changes_of(crawl, since=NOW + 100.0)
    assert [(time, change) for time, change, _, _ in found] == [
        (113.0, "back"),
        (112.0, "gone"),
        (111.0, "back"),
        (108.0, "gone"),
        (107.0, "back"),
        (106.0, "moved"),
        (105.0, "changed"),
        (102.0, "new"),
    ]
    assert {one[2] for one in found} == {url}
    seen = [
        datetime.fromtimestamp(NOW + time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for time in (111.0, 111.0, 107.0, 107.0, 105.0, 105.0, 103.0)
    ]
    assert [one[3] for one in found] == [*seen, None]
    rows = list(newest_first(crawl, find_changes(crawl, NOW + 104, NOW + 109)))
    assert [(row["old_bytes"], row["bytes"]) for row in rows] == [(107, None), (105, 107), (105, None), (103, 105)]
    assert [(row["old_signature"], row["signature"]) for row in rows] == [
        (f"{107:016x}", None),
        (f"{105:016x}", f"{107:016x}"),
        (f"{105:016x}", None),
        (f"{103:016x}", f"{105:016x}"),
    ]


def test_a_reader_sees_changes_that_lie_in_its_own_memory(tmp_path: Path) -> None:
    """The records of frames after the snapshot are appended to the reader's tail."""
    with hand_made(tmp_path / "c", **{"refresh-after": 1000.0}) as opened:
        opened.close()
    with open_writer(tmp_path / "c", [], {}) as opened:
        before = changes_of(read_crawl(tmp_path / "c"))
        from tests.crawl.report.made import visit

        (lease,) = (lease for lease in opened.shard.lease(NOW + 9000, 100) if lease.url == ROOT)
        opened.shard.record(NOW + 9001, [visit(lease.page, signature=99)])
        opened.shard.journal.sync()
        reader = read_crawl(tmp_path / "c")
        assert len(reader.shard.pages.records.file.tail)
        after = changes_of(reader)
        assert after[0][:3] == (9001.0, "changed", ROOT)
        assert after[1:] == before


STORY = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["read", "changed", "same", "gone", "given up", "failed", "moved"])),
    max_size=60,
)


class _Alone:
    """Records without a crawl around them."""

    def __init__(self, folder: Path, pages: int) -> None:
        self.shard = self
        self.pages = self
        self.count = pages
        self.records = Records.open(folder, {}, True)


@settings(max_examples=60, deadline=None)
@given(story=STORY, room=st.integers(1, 7), split=st.integers(0, 60))
def test_the_pass_over_the_file_agrees_with_the_history_of_each_page(
    story: list[tuple[int, str]], room: int, split: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("records")
    alone: Any = _Alone(folder, 4)
    expected, states, seen = [], dict.fromkeys(range(4), "never"), dict.fromkeys(range(4), 0)
    for place, (page, what) in enumerate(story):
        if place == split:  # what was written is a reader's base, what comes is its tail
            state = alone.records.state()
            alone.records.close()
            alone.records = Records.open(folder, state, False)
        at = alone.records.append(record(page, float(place), what))
        there = what in ("read", "changed", "same")
        change = 0
        if there:
            change = {"never": 1, "gone": 4}.get(states[page], 2 if what == "changed" else 0)
        elif what in ("gone", "given up") and states[page] == "there":
            change = 3
        elif what == "moved" and states[page] == "there":
            change = 5
        if change:
            expected.append((at, seen[page], change))
        states[page] = "there" if there else "gone" if change in (3, 5) else states[page]
        seen[page] = at if there else seen[page]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROOM", room)
        found = find_changes(alone)
    alone.records.close()
    assert list(zip(found.at.tolist(), found.before.tolist(), found.kind.tolist(), strict=True)) == expected


def test_changes_are_chosen_by_their_url_and_counted(crawl: CrawlState, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find_changes(crawl)
    every = list(newest_first(crawl, found))
    assert [row["seen_seconds"] for row in every] == sorted((row["seen_seconds"] for row in every), reverse=True)
    assert {row["last_seen_before_seconds"] is None for row in every if row["change"] == "new"} == {True}
    monkeypatch.setattr(module, "BATCH", 2)
    assert list(newest_first(crawl, found)) == every
    assert list(newest_first(crawl, found, most=2)) == every[:2]
    assert [row["url"] for row in newest_first(crawl, found, match="/(one|two)$")] == [
        row["url"] for row in every if row["url"].endswith(("/one", "/two"))
    ]
    assert list(newest_first(crawl, found, match="nowhere")) == []
    with pytest.raises(BadSetting, match="not a regular expression"):
        list(newest_first(crawl, found, match="("))


def test_the_feed_conforms_to_the_rfc(crawl: CrawlState) -> None:
    def written() -> bytes:
        return "".join(atom(crawl, newest_first(crawl, find_changes(crawl)))).encode()

    feed = etree.fromstring(written())
    rows = list(newest_first(crawl, find_changes(crawl)))
    assert feed.tag == ATOM + "feed"
    for holder in (feed, *feed.findall(ATOM + "entry")):
        for name in ("id", "title", "updated"):
            assert len(holder.findall(ATOM + name)) == 1, "exactly one of each, RFC 4287, 4.1.1 and 4.1.2"
        assert holder.findtext(ATOM + "id").startswith("urn:uuid:")
        datetime.fromisoformat(holder.findtext(ATOM + "updated"))
    assert len(feed.findall(f"{ATOM}author/{ATOM}name")) == 1
    assert [(link.get("rel"), link.get("href")) for link in feed.findall(ATOM + "link")] == [
        ("self", feed.findtext(ATOM + "id"))
    ]
    named = etree.fromstring("".join(atom(crawl, iter(()), "https://a.example/?x=1&y=2")).encode())
    assert named.find(ATOM + "link").get("href") == "https://a.example/?x=1&y=2"
    entries = feed.findall(ATOM + "entry")
    assert [entry.find(ATOM + "link").get("href") for entry in entries] == [row["url"] for row in rows]
    assert [entry.find(ATOM + "category").get("term") for entry in entries] == [row["change"] for row in rows]
    assert all(entry.find(ATOM + "link").get("rel") == "alternate" for entry in entries)
    assert len({entry.findtext(ATOM + "id") for entry in entries}) == len(entries)
    times = [entry.findtext(ATOM + "updated") for entry in entries]
    assert all(later >= earlier for later, earlier in pairwise(times))
    assert feed.findtext(ATOM + "updated") == times[0]
    assert written() == written()
    empty = etree.fromstring("".join(atom(crawl, iter(()))).encode())
    assert empty.findtext(ATOM + "updated")
    assert empty.findall(ATOM + "entry") == []


def test_the_feed_is_well_formed_whatever_a_url_contains(crawl: CrawlState) -> None:
    row = next(newest_first(crawl, find_changes(crawl))) | {"url": "http://a.example/?a=1&b=<\"'>\x00\x0b]]>"}
    feed = etree.fromstring("".join(atom(crawl, iter([row]))).encode())
    assert feed.find(f"{ATOM}entry/{ATOM}link").get("href") == "http://a.example/?a=1&b=<\"'>]]>"


def test_an_entry_has_the_sentences_that_differ(crawl: CrawlState) -> None:
    row = next(newest_first(crawl, find_changes(crawl)))
    sentences = [{"old": ["a <b> & c."], "new": ["d\x00."]}, {"old": [], "new": ["e.", "f."]}]
    told = etree.fromstring("".join(atom(crawl, iter([row | {"sentences": sentences}]))).encode())
    content = told.find(f"{ATOM}entry/{ATOM}content")
    assert content.get("type") == "html"
    parts = "<p><del>a &lt;b&gt; &amp; c.</del></p>", "<p><ins>d.</ins></p>", "<p><ins>e.</ins> <ins>f.</ins></p>"
    assert content.text == "".join(parts)
    silent = etree.fromstring("".join(atom(crawl, iter([row | {"sentences": None}]))).encode())
    assert silent.find(f"{ATOM}entry/{ATOM}content") is None


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2h", 1e9 - 7200),
        ("7d", 1e9 - 604_800),
        ("1970-01-02", 86_400.0),
        ("1970-01-01T00:01:00Z", 60.0),
        ("1970-01-01T01:00+01:00", 0.0),
    ],
)
def test_a_time_is_a_date_or_an_age(text: str, time: float) -> None:
    assert time_of(text, 1e9) == time


@pytest.mark.parametrize("text", ["", "yesterday", "12", "2026-13-01", "-2h"])
def test_other_words_are_not_a_time(text: str) -> None:
    with pytest.raises(BadSetting, match="a time is written like"):
        time_of(text, 1e9)


def test_a_crawl_without_visits_has_no_changes(tmp_path: Path) -> None:
    with open_writer(tmp_path / "c", [ROOT], {}) as opened:
        assert len(find_changes(opened)) == 0
        assert list(newest_first(opened, find_changes(opened))) == []
        assert np.array_equal(find_changes(opened).kind, [])
