"""Notices say what changed, if the versions are stored; and they are told whatever became of these."""

import json
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from centime.crawl.notify import differences
from centime.crawl.notify.delivery import Delivery
from centime.crawl.notify.differences import add_differences
from centime.fetch.settings import FetchSettings
from centime.model.ids import PageId
from centime.shard.people.notices import Batch, Change, Condition, Notice, When
from centime.store.versions.database import FILE
from centime.store.versions.writer import VersionWriter
from tests.crawl.report.made import hand_made
from tests.store.versions.test_versions import START, keep

PAGE, FEED = "http://a.example/", "http://a.example/feed.xml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with hand_made(tmp_path / "c") as opened:
        opened.close()
    writer = VersionWriter(tmp_path / "c" / "versions")
    for number in range(1, 5):
        keep(writer, b"<p>It is number %d. It stays." % number, START + 100 * number, PAGE)
        keep(writer, b"<?xml version='1.0'?><a><b>%d</b></a>" % number, START + 100 * number, FEED)
    writer.close()
    return tmp_path / "c"


def told(folder: Path, *notices: Notice) -> list[dict[str, Any]]:
    batch = Batch("s", "file:x", notices)
    facts = batch.facts()
    add_differences(folder, facts, batch)
    return [change["diff"] for change in facts["changes"]]


def notice(url: str, seen: float, first: float = 0.0, change: Change = Change.CHANGED, before: float = 90.0) -> Notice:
    """A change that a visit saw, some seconds after the visit before it; merged with one that was seen at `first`."""
    made = Notice(1, PageId(5), url, START + seen, 1.0, change, before=START + seen - before)
    if not first:
        return made
    return msgspec.structs.replace(made, first_time=START + first, first_before=START + first - 50)


def test_a_notice_has_the_sentences_between_the_version_before_and_the_one_that_was_seen(folder: Path) -> None:
    one, several, new = told(
        folder, notice(PAGE, 301.5), notice(PAGE, 450, first=200), notice(PAGE, 301, change=Change.NEW)
    )
    assert one["sentences"] == [{"old": ["It is number 2."], "new": ["It is number 3."]}]
    assert (one["from"], one["to"], one["delta"]) == ("2023-11-14T22:16:40Z", "2023-11-14T22:18:20Z", None)
    assert several["sentences"] == [{"old": ["It is number 1."], "new": ["It is number 4."]}]
    assert new is None


def test_a_notice_of_an_xml_document_has_its_delta(folder: Path) -> None:
    (diff,) = told(folder, notice(FEED, 200))
    (operation,) = diff["delta"]
    assert (operation["operation"], operation["old"], operation["new"]) == ("update", "1", "2")


def test_a_notice_of_a_volatile_part_says_which_it_is(folder: Path) -> None:
    seen = notice(PAGE, 301.5, change=Change.VOLATILE)
    (told_of,) = kept(folder, seen, Condition())
    assert told_of["places"] == [
        {"select": "css:p", "old": "It is number 2. It stays.", "new": "It is number 3. It stays."}
    ]
    (unknown,) = kept(folder, msgspec.structs.replace(seen, url="http://b.example/"), Condition())
    assert unknown["places"] == []


def test_without_both_versions_there_is_no_diff(folder: Path, tmp_path: Path) -> None:
    assert told(folder, notice(PAGE, 100), notice(PAGE, 50), notice("http://b.example/", 300)) == [None] * 3
    (folder / "versions" / FILE).write_bytes(b"nothing" * 999)
    assert told(folder, notice(PAGE, 300)) == [None]
    assert told(tmp_path / "nowhere", notice(PAGE, 300)) == [None]


def test_a_change_whose_version_is_not_stored_has_no_diff_of_another_change(folder: Path) -> None:
    """The page is back as it was, or asked not to be archived, or nothing was kept meanwhile."""
    back = notice(PAGE, 700, change=Change.BACK)
    anew = notice(PAGE, 401, change=Change.BACK, before=50)
    assert told(folder, back, notice(PAGE, 900), notice(PAGE, 5000, before=2000)) == [None] * 3
    assert told(folder, anew)[0]["sentences"] == [{"old": ["It is number 3."], "new": ["It is number 4."]}]
    writer = VersionWriter(folder / "versions")
    keep(writer, b"<p>It is number 9. It stays.", START + 9000, PAGE)
    writer.close()
    assert told(folder, notice(PAGE, 9001)) == [None], "it was another one at the visit before"


def test_what_is_too_long_is_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "MOST_BYTES", 30)
    (diff,) = told(folder, notice(PAGE, 300))
    assert (diff["sentences"], diff["to"]) == (None, "2023-11-14T22:18:20Z")
    monkeypatch.setattr(differences, "MOST_BODY", 10)
    assert told(folder, notice(PAGE, 300))[0]["sentences"] is None
    monkeypatch.setattr(differences, "MOST_DIFFERENCES", 1)
    assert told(folder, notice(PAGE, 300), notice(PAGE, 300))[1] is None


def test_a_subscriber_receives_the_diff(folder: Path, tmp_path: Path) -> None:
    delivery = Delivery(FetchSettings(), crawl=folder)
    try:
        delivery.deliver([Batch("s", f"file:{tmp_path}/told", (notice(PAGE, 300),))], 1.0)
        until = time.monotonic() + 60
        while delivery.in_hand and time.monotonic() < until:
            delivery.receive(1.0, timeout=1.0)
    finally:
        delivery.close()
    (change,) = json.loads((tmp_path / "told").read_text())["changes"]
    assert change["diff"]["sentences"] == [{"old": ["It is number 2."], "new": ["It is number 3."]}]


def kept(folder: Path, one: Notice, condition: Condition, seconds: float = 60.0) -> list[dict[str, Any]]:
    """The facts of a notice for a subscription with a condition; none if its subscriber is not told."""
    batch = Batch("s", "file:x", (one,), condition)
    facts = batch.facts()
    add_differences(folder, facts, batch, seconds)
    changes: list[dict[str, Any]] = facts["changes"]
    return changes


def test_a_notice_has_what_became_of_the_nodes_that_an_xpath_finds(folder: Path) -> None:
    (changed,) = kept(folder, notice(FEED, 200), Condition("//b"))
    assert changed["nodes"] == [{"change": "changed", "path": "/a/b", "old": "<b>1</b>", "new": "<b>2</b>"}]
    (new,) = kept(folder, notice(FEED, 101, change=Change.NEW, before=START + 101), Condition("//b"))
    assert [(node["change"], node["new"]) for node in new["nodes"]] == [("new", "<b>1</b>")]
    (gone,) = kept(folder, notice(FEED, 500, change=Change.GONE), Condition("//b"))
    assert [(node["change"], node["old"]) for node in gone["nodes"]] == [("gone", "<b>4</b>")]
    assert gone["diff"] is None


def test_a_subscriber_is_not_told_of_what_it_does_not_want_to_know(folder: Path) -> None:
    for when in (When.APPEARS, When.VANISHES):
        assert kept(folder, notice(FEED, 200), Condition("//b", when=when)) == []
    assert len(kept(folder, notice(FEED, 200), Condition("//b[. = 2]", when=When.APPEARS))) == 1
    assert kept(folder, notice(FEED, 200), Condition("//b[. = 2]", when=When.VANISHES)) == []


def test_a_change_before_the_condition_was_evaluated_is_told_if_the_versions_differ_in_it(folder: Path) -> None:
    assert kept(folder, notice(FEED, 200), Condition("//c")) == [], "nothing in it has changed"
    assert kept(folder, notice(PAGE, 200), Condition(words="stays")) == []
    assert len(kept(folder, notice(PAGE, 200), Condition(words='"number 2"'))) == 1
    known = msgspec.structs.replace(notice(PAGE, 200), old="")
    assert len(kept(folder, known, Condition(words="stays"))) == 1, "the crawl has seen that it changed"
    assert len(kept(folder, known, Condition("//p[. = 'x']"))) == 1


def test_a_minor_change_before_the_condition_was_evaluated_is_told_only_if_the_versions_differ_in_it(
    folder: Path,
) -> None:
    minor = msgspec.structs.replace(notice(FEED, 200), doubtful=True)
    (row,) = kept(folder, minor, Condition("//b"))
    assert (row["change"], row["old"], row["new"]) == ("changed", "1", "2")
    assert kept(folder, minor, Condition("//c")) == []
    assert kept(folder, minor, Condition("//b[no-such-function()]")) == []
    elsewhere = msgspec.structs.replace(notice("http://b.example/", 200), doubtful=True)
    assert kept(folder, elsewhere, Condition("//b")) == [], "it may be jitter, and no version shows otherwise"
    assert kept(folder, elsewhere, Condition(words="tea")) == []
    assert len(kept(folder, minor, Condition("//c"), seconds=0.0)) == 1, "nobody has looked"


def test_what_a_page_has_when_it_is_back_appears_because_it_was_gone(folder: Path) -> None:
    back = msgspec.structs.replace(notice(FEED, 401, change=Change.BACK, before=50), old="3", new="4")
    (told_of,) = kept(folder, back, Condition("//b", when=When.APPEARS))
    assert [(node["change"], node["new"]) for node in told_of["nodes"]] == [("new", "<b>4</b>")]
    assert (told_of["old"], told_of["new"]) == ("", "4")
    assert kept(folder, back, Condition("//b", when=When.VANISHES)) == []
    same = msgspec.structs.replace(notice(FEED, 410, change=Change.BACK, before=5), old="4", new="4")
    (as_before,) = kept(folder, same, Condition("//b", when=When.APPEARS))
    assert (as_before["old"], as_before["new"], as_before["diff"]) == ("", "4", None)
    assert kept(folder, same, Condition("//b", when=When.VANISHES)) == []
    assert kept(folder, same, Condition(words="nowhere")) == []


@pytest.mark.parametrize("change", [Change.NEW, Change.GONE, Change.BACK])
def test_a_page_in_which_the_condition_finds_nothing_is_not_told_of(change: Change, folder: Path) -> None:
    seen = msgspec.structs.replace(notice(FEED, 401, change=change, before=50), old="", new="")
    for when in When:
        assert kept(folder, seen, Condition("//nothing", when=when)) == []
    assert kept(folder, seen, Condition(words="nowhere")) == []


def test_old_and_new_are_what_the_versions_have_and_not_what_was_seen_when_the_words_came(folder: Path) -> None:
    seen = msgspec.structs.replace(notice(PAGE, 301.5), old="a line that is no longer there", new="")
    (told_of,) = kept(folder, seen, Condition(words="stays"))
    assert told_of["old"].endswith("It is number 2. It stays.")
    assert told_of["new"].endswith("It is number 3. It stays.")


def test_in_doubt_a_subscriber_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    doubtful = [
        kept(folder, notice(FEED, 200), Condition("//b", when=When.APPEARS), seconds=0.0),
        kept(folder, notice(FEED, 200), Condition("//b[no-such-function()]", when=When.APPEARS)),
        kept(folder, notice("http://b.example/", 200), Condition("//b", when=When.APPEARS)),
    ]
    monkeypatch.setattr(differences, "MOST_BODY", 10)
    doubtful.append(kept(folder, notice(FEED, 200), Condition("//b", when=When.APPEARS)))
    assert [[one["nodes"] for one in told] for told in doubtful] == [[None]] * 4


def test_a_batch_of_which_nothing_is_told_counts_as_delivered(folder: Path, tmp_path: Path) -> None:
    delivery = Delivery(FetchSettings(), crawl=folder)
    batch = Batch("s", f"file:{tmp_path}/told", (notice(FEED, 200),), Condition("//b", when=When.APPEARS))
    arrived: list[tuple[str, int]] = []
    try:
        delivery.deliver([batch], 1.0)
        until = time.monotonic() + 60
        while not arrived and time.monotonic() < until:
            arrived += delivery.receive(1.0, timeout=1.0)
    finally:
        delivery.close()
    assert arrived == [("s", 1)]
    assert not (tmp_path / "told").exists()
