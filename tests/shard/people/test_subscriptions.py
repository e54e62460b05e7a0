"""Subscriptions: subscribers are notified of every change at least once, under the same id, and not too often."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centime.model.ids import PageId
from centime.shard.people import subscriptions as module
from centime.shard.people.notices import Change, When
from centime.shard.people.subscriptions import Subscription, Subscriptions, Watched

NEWS = Subscription("news", "/news/", 100.0, "file:a")
PRICE = Subscription("price", "/shop/", 50.0, "file:b", "//b")


def made(*given: Subscription) -> Subscriptions:
    subscriptions = Subscriptions()
    for one in given:
        subscriptions.add(one)
    return subscriptions


def changed(
    known: Subscriptions,
    page: int,
    time: float,
    change: Change | None = Change.CHANGED,
    watched: list[Watched] | None = None,
) -> None:
    place = "shop" if watched is not None else "news"
    known.noticed(PageId(page), f"http://a.example/{place}/{page}", time, 1.5, change, watched or ())


def test_the_first_change_is_due_at_once_and_later_ones_together() -> None:
    known = made(NEWS)
    assert known.earliest() == float("inf")
    changed(known, 1, 1000.0)
    changed(known, 2, 1010.0)
    (first,) = known.due(1010.0)
    assert [notice.page for notice in first.notices] == [1]
    known.delivered("news", first.up_to, 1012.0)
    changed(known, 3, 1020.0)
    changed(known, 4, 1112.5)
    assert known.due(1111.9) == []
    assert known.earliest() == 1112.0
    (second,) = known.due(1200.0)
    assert [notice.page for notice in second.notices] == [2, 3]
    known.delivered("news", second.up_to, 1200.0)
    assert known.waiting == 1
    assert known.due(1299.0) == []


def test_a_batch_is_the_same_until_it_is_delivered() -> None:
    known = made(NEWS)
    changed(known, 1, 1000.0)
    batch = known.due(1000.0)
    changed(known, 1, 1001.0)
    changed(known, 2, 1002.0)
    assert known.due(1e6) == batch
    again = Subscriptions.from_state(known.state())
    assert again.due(1e6) == batch
    assert again.due(1e6)[0].id == batch[0].id == "1-1@news"


def test_waiting_changes_of_a_page_are_merged_into_one_notice() -> None:
    known = made(NEWS)
    changed(known, 1, 1000.0)
    changed(known, 2, 1001.0, Change.NEW)
    changed(known, 2, 1002.0)
    changed(known, 2, 1003.0)
    known.delivered("news", 1, 1000.0)
    (batch,) = known.due(1100.0)
    (notice,) = batch.notices
    assert (notice.change, notice.changes, notice.first_time, notice.time, notice.number) == (
        Change.NEW,
        3,
        1001.0,
        1003.0,
        4,
    )
    assert batch.facts()["changes"][0]["first_seen"] == 1001.0


def test_notices_that_do_not_fit_into_a_batch_follow_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_NOTICES", 2)
    known = made(NEWS)
    for page in range(5):
        changed(known, page, 1000.0)
    seen = []
    for _ in range(3):
        (batch,) = known.due(1000.0)
        seen.append([notice.page for notice in batch.notices])
        known.delivered("news", batch.up_to, 1000.0)
    assert seen == [[0, 1], [2, 3], [4]]
    assert known.due(1e9) == []


def test_recording_a_delivery_twice_changes_nothing() -> None:
    known = made(NEWS)
    changed(known, 1, 1000.0)
    known.delivered("news", 1, 1001.0)
    state = known.state()
    known.delivered("news", 1, 5000.0)
    known.delivered("nobody", 1, 5000.0)
    assert known.state() == state


def test_a_subscription_with_an_xpath_is_notified_only_if_what_it_finds_changes() -> None:
    known = made(PRICE)
    changed(known, 1, 1.0, None, [("price", 7, "7 €")])
    assert known.waiting == 0, "what it finds in an unchanged page is what later values are compared with"
    changed(known, 1, 2.0, Change.CHANGED, [("price", 7, "7 €")])
    assert known.waiting == 0
    changed(known, 1, 3.0, None, [("price", 8, "8 €")])
    (notice,) = known.due(3.0)[0].notices
    assert (notice.old, notice.new, notice.change) == ("7 €", "8 €", Change.CHANGED)
    changed(known, 2, 4.0, Change.NEW, [("price", 1, "1 €")])
    assert known.waiting == 2
    changed(known, 3, 4.0, Change.CHANGED, [])
    assert known.waiting == 2, "a fetcher that does not know the subscription evaluates no XPath"
    changed(known, 2, 5.0, Change.GONE, [])
    assert known.due(4.0)[0].notices[0].page == 1
    assert known.waiting == 2, "gone replaces new, which was not delivered yet"


def test_a_page_that_changed_before_its_xpath_was_first_evaluated_is_a_notice_without_an_old_value() -> None:
    known = made(PRICE)
    changed(known, 1, 1.0, Change.CHANGED, [("price", 7, "7 €")])
    (notice,) = known.due(1.0)[0].notices
    assert (notice.old, notice.new, notice.change) == (None, "7 €", Change.CHANGED)


def test_a_minor_change_before_the_xpath_was_first_evaluated_is_a_doubtful_notice() -> None:
    known = made(PRICE)
    url = "http://a.example/shop/1"
    known.noticed(PageId(1), url, 1.0, 1.5, None, [("price", 7, "7 €")], minor=True)
    (notice,) = known.due(1.0)[0].notices
    assert (notice.old, notice.new, notice.change, notice.doubtful) == (None, "7 €", Change.CHANGED, True)
    known.noticed(PageId(2), url, 1.0, 1.5, None, [("price", 7, "7 €")])
    assert known.waiting == 1, "a page with the same bytes has the same value"
    known.noticed(PageId(1), url, 1.0, 1.5, None, [("price", 7, "7 €")], minor=True)
    assert known.waiting == 1, "its value is known now"
    known.noticed(PageId(1), url, 2.0, 1.5, None, [("price", 8, "8 €")], minor=True)
    assert [one.doubtful for one in Subscriptions.from_state(known.state()).due(2.0)[0].notices] == [True]
    known.delivered("price", 1, 2.0)
    assert [one.doubtful for one in known.due(60.0)[0].notices] == [False]


def test_a_page_in_which_no_xpath_was_evaluated_is_told_as_new_moved_gone_and_back() -> None:
    known = made(PRICE)
    for page, change in enumerate((Change.NEW, Change.BACK, Change.GONE, Change.MOVED, Change.CHANGED, None)):
        changed(known, page, 1.0, change, [])
    notices = known.due(1.0)[0].notices
    assert [notice.change for notice in notices] == [Change.NEW, Change.BACK, Change.GONE, Change.MOVED]
    known = made(PRICE)
    changed(known, 1, 1.0, None, [("price", 7, "7 €")])
    changed(known, 1, 2.0, Change.BACK, [])
    (notice,) = known.due(2.0)[0].notices
    assert (notice.old, notice.new) == ("7 €", "7 €"), "the server said that it is unchanged"


THERE, MISSING = [("tea", 1, "green tea")], [("tea", 0, "")]


@pytest.mark.parametrize(
    ("story", "told"),
    [
        ([(Change.NEW, THERE)], ["+new"]),
        ([(Change.NEW, MISSING), (Change.CHANGED, THERE), (None, THERE), (None, MISSING)], ["+changed", "-changed"]),
        ([(None, THERE), (Change.CHANGED, THERE), (None, MISSING), (Change.CHANGED, THERE)], ["-changed", "+changed"]),
        ([(Change.CHANGED, THERE)], ["+changed"]),
        ([(Change.CHANGED, MISSING)], ["-changed"]),
        ([(None, THERE), (Change.GONE, []), (Change.BACK, MISSING), (Change.CHANGED, THERE)], ["-gone", "+changed"]),
        ([(None, MISSING), (Change.MOVED, []), (Change.BACK, THERE)], ["+back"]),
        ([(None, MISSING), (Change.BACK, [])], []),
        ([(None, THERE), (Change.BACK, [])], ["+back"]),
        ([(Change.GONE, [])], ["-gone"]),
    ],
)
@pytest.mark.parametrize("when", list(When))
def test_words_are_told_when_they_appear_or_vanish_and_if_that_is_unknown(
    story: list[tuple[Change | None, list[Watched]]], told: list[str], when: When
) -> None:
    known = made(Subscription("tea", "/shop/", 1.0, "file:b", words="tea", when=when))
    heard = []
    for time, (change, watched) in enumerate(story):
        changed(known, 1, 10.0 * time, change, watched)
        for batch in known.due(10.0 * time):
            heard += [notice.change.value for notice in batch.notices]
            known.delivered("tea", batch.up_to, 10.0 * time)
    signs = {When.ALWAYS: "+-", When.APPEARS: "+", When.VANISHES: "-"}[when]
    assert heard == [change[1:] for change in told if change[0] in signs]
    assert Subscriptions.from_state(known.state()).state() == known.state()


def test_a_merged_notice_has_the_value_before_its_first_change_and_all_of_the_last() -> None:
    known = made(NEWS, PRICE)
    long = "word " * 10_000
    for time, mark, text in [(1.0, 1, "a"), (2.0, 2, "b"), (3.0, 3, long), (4.0, 4, "d" + long)]:
        changed(known, 1, time, None, [("price", mark, text)])
    known.delivered("price", 1, 2.5)
    (notice,) = known.due(1e6)[0].notices
    assert (notice.old, notice.new, notice.changes) == ("b", "d" + long, 2)
    again = Subscriptions.from_state(known.state())
    assert again.state() == known.state()
    changed(again, 1, 5.0, None, [("price", 5, "e")])
    assert again.due(1e6)[0].notices[0].old == "b"


def test_texts_for_which_there_is_no_room_are_cut_and_their_changes_still_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_KEPT", 1_000)
    known = made(PRICE)
    for page in range(10):
        changed(known, page, 1.0, None, [("price", 1, "x" * 400)])
    for page in range(10):
        changed(known, page, 2.0, None, [("price", 2, "y" * 400)])
    notices = known.due(1e6)[0].notices
    assert [notice.page for notice in notices] == list(range(10))
    assert {len(notice.new) for notice in notices} == {module.SHORT}
    for page in range(10):
        known.delivered("price", 10, 3.0)
        changed(known, page, 4.0, Change.GONE, [])
    assert Subscriptions.from_state(known.state()).state() == known.state()


def test_values_of_version_0_1_have_no_text_and_are_compared_by_their_hash() -> None:
    known = made(PRICE)
    changed(known, 1, 1.0, None, [("price", 7, "7 €")])
    number, kept = msgspec.msgpack.decode(known.state())
    kept[0][3] = {1: 7}
    known = Subscriptions.from_state(msgspec.msgpack.encode([number, kept]))
    changed(known, 1, 2.0, Change.CHANGED, [("price", 7, "7 €")])
    assert known.waiting == 0
    changed(known, 1, 3.0, Change.CHANGED, [("price", 8, "8 €")])
    (notice,) = known.due(3.0)[0].notices
    assert (notice.old, notice.new) == (None, "8 €")


def test_an_unchanged_page_makes_no_notice() -> None:
    known = made(NEWS)
    changed(known, 1, 1.0, None)
    assert known.waiting == 0


def test_a_page_is_read_as_often_as_its_most_frequent_subscription_requires() -> None:
    known = made(NEWS, PRICE, Subscription("all", "example", 20.0, "file:c"))
    assert known.match("http://a.example/news/1") == ["news", "all"]
    assert known.deadline_seconds("http://a.example/news/1") == 20.0
    assert known.with_condition("http://a.example/news/1") == ()
    assert known.with_condition("http://a.example/shop/1") == (PRICE,)
    known.remove("all")
    assert known.deadline_seconds("http://a.example/news/1") == 100.0
    assert known.deadline_seconds("http://a.example/") == float("inf")


def test_a_subscription_that_is_replaced_keeps_its_waiting_notices() -> None:
    known = made(NEWS, PRICE)
    changed(known, 1, 1.0)
    changed(known, 9, 1.0, None, [("price", 1, "")])
    known.add(Subscription("news", "/news/", 100.0, "file:elsewhere"))
    known.add(Subscription("price", "/shop/", 50.0, "file:b", "//i"))
    assert known.due(1.0)[0].to == "file:elsewhere"
    changed(known, 9, 2.0, None, [("price", 2, "")])
    assert known.waiting == 1, "a new XPath starts without known values"
    assert [one["name"] for one in known.facts()] == ["news", "price"]
    assert known.remove("news")
    assert not known.remove("news")
    assert known.waiting == 0


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["change", "deliver", "snapshot"]),
        st.integers(0, 3),
        st.sampled_from(list(Change)),
        st.floats(0.1, 80.0),
    ),
    max_size=60,
)


@settings(max_examples=150)
@given(STEPS)
def test_every_change_is_delivered_no_delivery_comes_too_early_and_a_snapshot_changes_nothing(
    steps: list[tuple[str, int, Change, float]],
) -> None:
    known, shadow = made(NEWS), made(NEWS)
    now, delivered, seen, last = 0.5, 0, 0, None
    for step, page, change, pause in steps:
        now += pause
        if step == "change":
            changed(known, page, now, change)
            changed(shadow, page, now, change)
            seen += 1
        elif step == "deliver":
            for batch in known.due(now):
                assert last is None or now >= last + NEWS.every
                assert len({notice.page for notice in batch.notices}) == len(batch.notices)
                delivered += sum(notice.changes for notice in batch.notices)
                known.delivered("news", batch.up_to, now)
                shadow.delivered("news", batch.up_to, now)
                last = now
        else:
            known = Subscriptions.from_state(known.state())
        assert known.state() == shadow.state()
    while known.waiting:
        now += NEWS.every
        (batch,) = known.due(now)
        delivered += sum(notice.changes for notice in batch.notices)
        known.delivered("news", batch.up_to, now)
    assert delivered == seen
