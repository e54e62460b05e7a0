import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.discover.traps import PATHS_PER_HOST, TrapLimits, trap
from centime.model.errors import BadSetting

H = "https://h"


@pytest.mark.parametrize(
    ("url", "word"),
    [
        (f"{H}/a/a/a", "/a is repeated"),
        (f"{H}/x/a/b/a/b/a/b/c", "/a/b is repeated"),
        (f"{H}/{'x' * 300}/a", "long"),
        (f"{H}/{'%D1%8F' * 300}/a", "long"),
        (f"{H}/sid_0123456789abcdef/x", "session"),
        (f"{H}/{'0' * 32}/x/{'f' * 40}/y", "session"),
        (f"{H}/cal?date=1900-01-01", "1900"),
        (f"{H}/cal?y=2100&m=1", "2100"),
        (f"{H}/cal/2100-12", "2100"),
        (f"{H}/cal?year=2020&month=1&day=1&h=12", "hour"),
    ],
)
def test_a_trap_is_named(url: str, word: str) -> None:
    assert word in trap(url)


@pytest.mark.parametrize(
    "url",
    [
        f"{H}/",
        f"{H}/aa/a/a",
        f"{H}/a/ab/abc",
        f"{H}/{'x' * 200}",
        f"{H}/wiki/{'%D1%8F' * 100}",
        f"{H}/wiki/{'%E3%81%82' * 100}",
        f"{H}/blob/{'a' * 40}/file.c",
        f"{H}/2024/03/05/news",
        f"{H}/1890/01/",
        f"{H}/?year=3000",
        f"{H}/p/2800/13",
    ],
)
def test_what_people_write_is_no_trap(url: str) -> None:
    assert trap(url) == ""


def test_the_year_that_counts_as_now_is_an_argument() -> None:
    assert trap(f"{H}/2100/01/")
    assert not trap(f"{H}/2100/01/", year=2090)


def test_looking_for_traps_is_quick_whatever_the_url() -> None:
    start = time.process_time()
    for url in (
        f"{H}/" + "a" * 2_000,
        H + "/a" * 1_000,
        H + "/aaaaaaaaab" * 18 + "/x",
        f"{H}/?" + "a=1&" * 500,
        H + "/" + "0" * 2_000 + "/",
    ):
        for _ in range(20):
            trap(url)
    assert time.process_time() - start < 1.0


def test_a_host_has_so_many_pages_and_no_more() -> None:
    limits = TrapLimits(pages_per_host=3)
    assert [limits.take(f"{H}/{number}") == "" for number in range(5)] == [True] * 3 + [False] * 2
    assert limits.take("https://other/") == ""
    assert (limits.pages_of(H), limits.pages_of("https://other"), limits.pages_of("https://none")) == (3, 1, 0)


def test_permutations_of_parameters_are_one_set() -> None:
    limits = TrapLimits(queries_per_path=2)
    assert [limits.take(f"{H}/s?{query}") == "" for query in ("a=1&b=2", "b=3&a=4", "a=5&b=6", "b=7&a=8", "c=1")] == [
        True,
        True,
        False,
        False,
        True,
    ]
    assert limits.take(f"{H}/t?a=1&b=2") == ""


def test_memory_per_host_is_bounded() -> None:
    limits = TrapLimits()
    for number in range(3 * PATHS_PER_HOST):
        limits.take(f"{H}/{number}?x=1")
    assert len(limits.state()["hosts"][H][1]) <= PATHS_PER_HOST


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from(["", "?a=1", "?a=2&b=1", "?b=1&a=3"])),
        max_size=40,
    ),
    st.integers(0, 40),
)
def test_what_was_counted_survives_being_written_down(visits: list[tuple[int, int, str]], cut: int) -> None:
    urls = [f"https://h{host}/{path}{query}" for host, path, query in visits]
    whole, first = TrapLimits(pages_per_host=6, queries_per_path=2), TrapLimits(pages_per_host=6, queries_per_path=2)
    answers = [whole.take(url) for url in urls]
    before = [first.take(url) for url in urls[:cut]]
    second = TrapLimits.from_state(json.loads(json.dumps(first.state())))
    assert before + [second.take(url) for url in urls[cut:]] == answers
    assert second.state() == whole.state()


def test_limits_are_at_least_one() -> None:
    with pytest.raises(BadSetting):
        TrapLimits(pages_per_host=0)
    with pytest.raises(BadSetting):
        TrapLimits(queries_per_path=0)


def test_a_calendar_that_leads_into_the_past_ends() -> None:
    limits = TrapLimits(dates_per_path=24)
    admitted = [
        year
        for year in range(2000, 100, -1)
        for month in (1, 12)
        if not limits.take(f"http://a.example/trap/calendar/{year}/{month}")
    ]
    assert len(admitted) == 24
    assert not limits.take("http://a.example/other/1999/12"), "another path has its own count"
    assert not limits.take("http://a.example/trap/calendar/about"), "a page without a date is not counted"
