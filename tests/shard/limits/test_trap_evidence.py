import json

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.discover.refusal import Reason
from centime.discover.traps import Traps
from centime.model.errors import BadSetting
from centime.shard.limits.trap_evidence import (
    ENOUGH,
    FIRST,
    HARD_SLOTS,
    OBSERVED,
    PATHS_PER_HOST,
    PER_USEFUL,
    Sample,
    TrapLimits,
)

H = "https://h"


def key(url: str) -> int:
    found = Traps().suspect(url)
    return found.key if found else 0


def text(number: int, new: int = 16, runs: int = 16) -> Sample:
    """The sample of a text of which `new` runs are its own; empty for 0."""
    template = range(runs - new)
    own = range(1_000 * number, 1_000 * number + new)
    return np.array([2_000_000 + number, *template, *own] if number else [], dtype=np.uint32)


def taken(limits: TrapLimits, url: str) -> bool:
    return limits.take(url, key(url)) is None


def test_a_host_has_so_many_pages_and_no_more() -> None:
    limits = TrapLimits(pages_per_host=3)
    assert [taken(limits, f"{H}/{number}") for number in range(5)] == [True] * 3 + [False] * 2
    assert taken(limits, "https://other/")
    assert (limits.pages_of(H), limits.pages_of("https://other"), limits.pages_of("https://none")) == (3, 1, 0)


def test_permutations_of_parameters_are_one_set() -> None:
    limits = TrapLimits(queries_per_path=2)
    assert [taken(limits, f"{H}/s?{query}") for query in ("a=1&b=2", "b=3&a=4", "a=5&b=6", "b=7&a=8", "c=1")] == [
        True,
        True,
        False,
        False,
        True,
    ]
    assert taken(limits, f"{H}/t?a=1&b=2")


def test_memory_per_host_is_bounded() -> None:
    limits = TrapLimits()
    for number in range(3 * PATHS_PER_HOST):
        taken(limits, f"{H}/{number}?x=1")
    assert len(limits.state()["hosts"][H][1]) <= PATHS_PER_HOST


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.integers(0, 3),
            st.sampled_from(["", "?a=1", "?a=2&b=1", "?b=1&a=3", "/x/x/x"]),
            st.integers(-1, 2),
        ),
        max_size=40,
    ),
    st.integers(0, 40),
)
def test_what_was_counted_survives_being_written_down(visits: list[tuple[int, int, str, int]], cut: int) -> None:
    def answers(limits: TrapLimits, part: list[tuple[int, int, str, int]]) -> list[Reason | None]:
        given = []
        for host, path, rest, content in part:
            url = f"https://h{host}/{path}{rest}"
            given.append(limits.take(url, key(url)))
            if content >= 0 and key(url):
                limits.learn(f"https://h{host}", key(url), text(content), is_known=False, grows=bool(path))
        return given

    def made() -> TrapLimits:
        return TrapLimits(pages_per_host=6, queries_per_path=2)

    whole, first, second = made(), made(), made()
    expected = answers(whole, visits)
    before = answers(first, visits[:cut])
    second.restore(msgspec.msgpack.decode(first.packed()))
    assert before + answers(second, visits[cut:]) == expected
    assert second.state() == whole.state()
    assert bytes(second.packed()) == bytes(whole.packed())


def test_counts_of_a_version_without_evidence_are_taken() -> None:
    limits = TrapLimits(queries_per_path=3)
    slot = key(f"{H}/s?a=1") % PATHS_PER_HOST
    limits.restore(json.loads(json.dumps({"pages_per_host": 9, "hosts": {H: [5, {str(slot): 3}]}})))
    assert limits.pages_of(H) == 5
    assert limits.take(f"{H}/s?a=1", key(f"{H}/s?a=1")) is Reason.TRAP


def test_limits_are_at_least_one() -> None:
    with pytest.raises(BadSetting):
        TrapLimits(pages_per_host=0)
    with pytest.raises(BadSetting):
        TrapLimits(queries_per_path=-1)


def test_a_calendar_that_leads_into_the_past_ends() -> None:
    limits = TrapLimits(dates_per_path=24)
    admitted = [
        year
        for year in range(2000, 100, -1)
        for month in (1, 12)
        if taken(limits, f"http://a.example/trap/calendar/{year}/{month}")
    ]
    assert len(admitted) == 24
    assert taken(limits, "http://a.example/other/1999/12"), "another path has its own count"
    assert taken(limits, "http://a.example/trap/calendar/about"), "a page without a date is not counted"


LOOP = key(f"{H}/x/a/a/a")


def admitted(limits: TrapLimits, count: int = 1_000) -> int:
    """How many more URLs of one shape are admitted."""
    return sum(limits.take(f"{H}/x/a/a/a/{number}", LOOP) is None for number in range(count))


def test_a_shape_that_is_suspicious_by_itself_is_admitted_a_few_times_before_it_is_read() -> None:
    limits = TrapLimits()
    assert admitted(limits) == FIRST
    assert limits.take(f"{H}/x/a/a/a/y", LOOP) is Reason.TRAP
    assert taken(limits, f"{H}/y/b/b/b"), "another place of the host has its own count"
    assert taken(limits, f"{H}/plain")


def test_real_pages_of_a_suspicious_shape_are_let_in_as_they_are_read() -> None:
    limits, count, content = TrapLimits(), 0, 0
    for _ in range(6):
        new = admitted(limits, 2_000 - count)
        for _ in range(new):
            content += 1
            limits.learn(H, LOOP, text(content), is_known=False, grows=False)
        count += new
    assert count == 2_000


@pytest.mark.parametrize(
    ("contents", "is_known", "grows"),
    [([5] * 100, False, False), ([5] * 100, False, True), (range(1, 101), True, False), ([0] * 100, False, False)],
)
def test_a_trap_ends_after_a_few_visits(contents: list[int], is_known: bool, grows: bool) -> None:
    limits, count = TrapLimits(), 0
    left = iter(contents)
    while new := admitted(limits):
        count += new
        for _ in range(new):
            limits.learn(H, LOOP, text(next(left)), is_known=is_known, grows=grows)
    assert count <= FIRST + 2 * PER_USEFUL


@pytest.mark.parametrize(("new", "endless"), [(1, False), (2, True), (16, True)])
def test_a_text_is_new_if_an_eighth_of_it_is(new: int, endless: bool) -> None:
    limits, count = TrapLimits(), 0
    while count < 200 and (more := admitted(limits, 8)):
        for number in range(count + 1, count + more + 1):
            limits.learn(H, LOOP, text(number, new), is_known=False, grows=True)
        count += more
    assert (count >= 200) == endless
    assert endless or count <= FIRST + PER_USEFUL


def test_a_trap_that_writes_new_text_gets_no_further_ahead_than_at_the_start() -> None:
    limits = TrapLimits()
    assert admitted(limits) == FIRST
    for number in range(1, 100):
        limits.learn(H, LOOP, text(number), is_known=False, grows=True)
        assert admitted(limits) == 1


def test_a_few_texts_in_any_order_are_soon_all_known() -> None:
    limits, count, random = TrapLimits(), 0, np.random.default_rng(5)
    while more := admitted(limits, 8):
        for _ in range(more):
            products = random.choice(40, 16, replace=False) + 1
            sample = np.array([random.integers(1 << 31), *products], dtype=np.uint32)
            limits.learn(H, LOOP, sample, is_known=False, grows=False)
        count += more
        assert count < 200


def test_pages_that_differ_in_numbers_alone_are_read_up_to_the_limit() -> None:
    limits, quotes, count = TrapLimits(queries_per_path=300), key(f"{H}/quote?of=A"), 0
    for number in range(1, 1_000):
        if limits.take(f"{H}/quote?of={number}", quotes) is None:
            count += 1
            if limits.observes(H, quotes):
                limits.learn(H, quotes, text(number, new=0), is_known=False, grows=True)
    assert 300 <= count <= 300 + PER_USEFUL
    assert not limits.evidence(H, quotes).is_a_trap


def test_a_forum_has_all_its_topics_and_endless_queries_end_at_the_limit() -> None:
    for useful in (True, False):
        limits, topic, count, content = TrapLimits(queries_per_path=100), key(f"{H}/topic?t=1"), 0, 0
        for _ in range(5):
            new = sum(limits.take(f"{H}/topic?t={number}", topic) is None for number in range(count, 5_000))
            for _ in range(new if limits.observes(H, topic) else 0):
                content += 1
                limits.learn(H, topic, text(content, 16 if useful else 1), is_known=False, grows=not useful)
            count += new
        assert count == 5_000 if useful else 100 <= count <= 100 + PER_USEFUL


def test_queries_that_always_have_the_same_content_end_before_the_limit() -> None:
    limits, shop = TrapLimits(queries_per_path=1_000), key(f"{H}/shop?sid=1")
    count = 0
    for number in range(1_000):
        if limits.take(f"{H}/shop?sid={number}", shop) is None:
            count += 1
            if limits.observes(H, shop):
                limits.learn(H, shop, text(7), is_known=False, grows=True)
    assert count <= OBSERVED + ENOUGH + 1
    assert limits.evidence(H, shop).is_a_trap


def test_suspicious_shapes_of_a_host_take_bounded_room() -> None:
    limits = TrapLimits()
    count = sum(taken(limits, f"{H}/{number}/a/a/a/{again}") for number in range(1_000) for again in range(20))
    assert count <= 2 * FIRST * HARD_SLOTS


def test_the_first_suspicious_shapes_of_a_host_do_not_share_a_count() -> None:
    limits = TrapLimits()
    for number in range(HARD_SLOTS):
        url = f"{H}/{number}/a/a/a/"
        assert [taken(limits, f"{url}{again}") for again in range(FIRST + 1)] == [True] * FIRST + [False]


def test_without_evidence_a_limit_per_path_is_never_lifted() -> None:
    limits, topic = TrapLimits(queries_per_path=OBSERVED, by_evidence=False), key(f"{H}/topic?t=1")
    for content in range(1, 200):
        limits.take(f"{H}/topic?t={content}", topic)
        limits.learn(H, topic, text(content), is_known=False, grows=False)
    assert limits.pages_of(H) == OBSERVED
    unlimited = TrapLimits(queries_per_path=None)
    assert all(unlimited.take(f"{H}/topic?t={number}", topic) is None for number in range(3_000))
