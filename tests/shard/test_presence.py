"""Which change a visit is: subscribers and `centime changes` are told the same, whatever lies between two visits."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.crawl.check.check import check_crawl
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.reader import read_crawl
from centime.crawl.engine.state import CrawlState
from centime.crawl.engine.writer import CrawlWriter
from centime.crawl.report.changes import find_changes, newest_first
from centime.model.address import fingerprint
from centime.model.ids import PageId
from centime.model.outcome import Outcome, PageKind, Presence
from centime.shard.message import Lease
from centime.shard.people.command import SubscribeCommand
from centime.shard.people.subscriptions import Subscription
from centime.shard.presence import presence_of
from centime.store.record import Record
from tests.crawl.report.made import NOW, clock, visit

SAME, OTHER = "same", "other"
FAILURES = [one for one in Outcome if not one.present and one not in (Outcome.GONE, Outcome.MOVED)]
SIGHTS = [SAME, OTHER, Outcome.UNCHANGED, Outcome.GONE, Outcome.MOVED, *FAILURES]
Story = list[Any]
LONG = 40 * 86_400.0  # after which every page is due that is ever visited again
Told = list[tuple[float, str, str]]  # when, what, and the URL


def urls_of(stories: list[Story]) -> list[str]:
    return [f"http://h{number}.example/" for number in range(len(stories))]


class Watched:
    """A continuous crawl of some pages, each with a story of what its visits show, and a subscription to all."""

    def __init__(self, opened: CrawlWriter, stories: list[Story]) -> None:
        self.opened, self.now = opened, NOW
        self.left = dict(zip(urls_of(stories), map(list, stories), strict=True))
        self.signatures = dict.fromkeys(self.left, 1)
        self.told: Told = []
        every = Subscription("all", ".", 1.0, "file:/nowhere")
        opened.shard.command(NOW, SubscribeCommand(id="s", time=NOW, subscription=every))

    def run(self) -> None:
        """Visits the pages until all stories are told."""
        for _ in range(200):
            if not any(self.left.values()):
                return
            self.now += LONG
            leases = [one for one in self.opened.shard.lease(self.now, 100) if self.left[one.url]]
            self.opened.shard.record(self.now, [self._visit(one) for one in leases])
            for batch in self.opened.shard.requests.subscriptions.due(self.now):
                self.told += [(one.time, one.change.value, one.url) for one in batch.notices]
                self.opened.shard.delivered(self.now, batch.name, batch.up_to)
        raise AssertionError(f"these pages are never visited again: {self.left}")

    def _visit(self, lease: Lease) -> bytes:
        what = self.left[lease.url].pop(0)
        self.signatures[lease.url] += what is OTHER
        if what is Outcome.UNCHANGED and lease.etag:
            return visit(lease.page, Outcome.UNCHANGED, etag=lease.etag, status=304)
        if isinstance(what, str) or what is Outcome.UNCHANGED:
            return visit(lease.page, signature=self.signatures[lease.url], etag='"e"')
        kind = PageKind.DEAD if what is Outcome.GONE else PageKind.ERROR
        return visit(lease.page, what, kind=kind, etag='"of the error page"')


def told(folder: Path, stories: list[Story], *, check: bool = True) -> list[list[str]]:
    """What the subscriber was told of each story, which is what the report lists, now and after a restart."""
    given = {"delay": 0.0, "scope": "page", "continuous": True, "rate": 100.0}
    with open_writer(folder, urls_of(stories), given, clock=clock()) as opened:
        watched = Watched(opened, stories)
        watched.run()
        assert listed(opened) == sorted(watched.told)
        opened.shard.journal.flush()
        again = read_crawl(folder)
        assert listed(again) == sorted(watched.told)
        again.close()
        if check:
            opened.close()
            assert not check_crawl(folder).problems
    return [[change for _, change, url in watched.told if url == one] for one in urls_of(stories)]


def listed(opened: CrawlState) -> Told:
    rows = newest_first(opened, find_changes(opened))
    return sorted((row["seen_seconds"], row["change"], row["url"]) for row in rows)


def test_nothing_that_lies_between_two_visits_hides_that_a_page_is_gone_or_back(tmp_path: Path) -> None:
    between: list[Story] = [[], *([one] for one in FAILURES), [Outcome.MOVED_TEMPORARILY, Outcome.SERVER_ERROR] * 2]
    gone = [[SAME, *some, Outcome.GONE, Outcome.GONE, *some] for some in between]
    same = [[*one, SAME, *some, OTHER] for one, some in zip(gone, between, strict=True)]
    changed = [[*one, OTHER] for one in gone]
    found = told(tmp_path / "c", same + changed)
    assert found == [["new", "gone", "back", "changed"]] * len(same) + [["new", "gone", "back"]] * len(changed)


def test_a_page_that_moved_for_good_is_told_once_until_it_is_back(tmp_path: Path) -> None:
    moved, gone = Outcome.MOVED, Outcome.GONE
    stories: list[Story] = [[SAME, moved, moved, Outcome.SERVER_ERROR, moved, SAME], [moved, SAME], [SAME, gone, moved]]
    stories.append([SAME, moved, gone, SAME])
    expected = [["new", "moved", "back"], ["new"], ["new", "gone"], ["new", "moved", "back"]]
    assert told(tmp_path / "c", stories) == expected


def test_a_page_that_is_given_up_is_told_as_gone_once_and_then_as_back(tmp_path: Path) -> None:
    failures = [Outcome.SERVER_ERROR, Outcome.NO_CONNECTION, Outcome.CLIENT_ERROR, Outcome.REFUSED_ADDRESS]
    assert told(tmp_path / "c", [[SAME, *[one] * 4] for one in failures]) == [["new"]] * 4
    assert told(tmp_path / "d", [[SAME, *[one] * 9, SAME] for one in failures]) == [["new", "gone", "back"]] * 4
    assert told(tmp_path / "e", [[*[one] * 6, SAME] for one in failures]) == [["new"]] * 4, "they were never there"


@pytest.mark.parametrize(
    ("outcome", "wait", "learned"),
    [
        (Outcome.CLIENT_ERROR, 3_600.0, True),
        (Outcome.REFUSED_ADDRESS, 3_600.0, True),
        (Outcome.DISALLOWED, 86_400.0, False),
        (Outcome.EXCLUDED, None, False),
    ],
)
def test_a_page_that_was_read_and_is_denied_is_looked_for_again_and_one_never_read_is_not(
    tmp_path: Path, outcome: Outcome, wait: float | None, learned: bool
) -> None:
    stories: list[Story] = [[SAME, outcome], [outcome]]
    given = {"delay": 0.0, "scope": "page", "continuous": True, "rate": 100.0, "least-interval": 3_600.0}
    with open_writer(tmp_path / "c", urls_of(stories), given, clock=clock()) as opened:
        watched = Watched(opened, stories)
        watched.run()
        retries, book = opened.shard.placement.retries, opened.shard.refreshing.book
        known, unknown = (opened.shard.pages.table.find_one(fingerprint(url)) for url in urls_of(stories))
        assert known is not None
        assert unknown is not None
        assert (retries.time(known) - watched.now if known in retries else None) == wait
        assert unknown not in retries
        assert book.contains(np.array([known, unknown])).tolist() == [learned, False]


def test_a_page_is_never_asked_for_by_the_validators_of_its_error_page(tmp_path: Path) -> None:
    """A 304 to them would hide that the page is there again."""
    (found,) = told(tmp_path / "c", [[SAME, Outcome.GONE, Outcome.UNCHANGED, Outcome.MOVED, Outcome.UNCHANGED]])
    assert found == ["new", "gone", "back", "moved", "back"]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.lists(st.sampled_from(SIGHTS), max_size=12), min_size=1, max_size=12))
def test_subscribers_are_told_what_the_report_lists_whatever_the_visits_show(
    tmp_path_factory: pytest.TempPathFactory, stories: list[Story]
) -> None:
    told(tmp_path_factory.mktemp("told") / "c", stories, check=False)


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        ([Outcome.SERVER_ERROR], Presence.NEVER),
        ([SAME, Outcome.SERVER_ERROR, Outcome.MOVED_TEMPORARILY], Presence.PRESENT),
        ([SAME, Outcome.MOVED, Outcome.SERVER_ERROR], Presence.GONE),
        ([SAME, Outcome.GONE, Outcome.SERVER_ERROR], Presence.GONE),
        ([Outcome.GONE, Outcome.SERVER_ERROR], Presence.NEVER),
        ([SAME, Outcome.GONE, OTHER, Outcome.SERVER_ERROR], Presence.PRESENT),
    ],
)
def test_what_records_of_an_older_version_do_not_say_follows_from_the_visits_before(
    story: Story, expected: Presence
) -> None:
    records: list[Record] = []
    for what in story:
        read = isinstance(what, str)
        kind = PageKind.HTML if read else PageKind.DEAD if what is Outcome.GONE else PageKind.ERROR
        signature = 7 if read else records[-1].signature if records else 0
        outcome = Outcome.READ if read else what
        records.append(Record(page=PageId(0), time=NOW, outcome=outcome, kind=kind, signature=signature))
    assert presence_of(reversed(records)) is expected
