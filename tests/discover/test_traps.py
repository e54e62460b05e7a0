import time
from typing import Any

import pytest

from centime.discover.traps import Kind, TrapRules, Traps, kind_of

H = "https://h"


def trap(url: str, year: int = 2025, **rules: Any) -> str:
    """Why a URL is suspicious by itself; empty if it is not."""
    found = Traps(TrapRules(**rules), year=year).suspect(url)
    return found.phrase if found and not found.kind.by_number else ""


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


@pytest.mark.parametrize(
    ("rule", "url", "most"),
    [
        ("most_segments", H + "/a/b/c/d/e", 4),
        ("longest_segment", f"{H}/abcdef", 5),
        ("repeated_segments", f"{H}/a/a", 2),
        ("most_parameters", f"{H}/?a=1&b=2", 1),
        ("repeated_parameters", f"{H}/?a=1&a=2", 1),
        ("years_off", f"{H}/2029/01/", 3),
    ],
)
def test_every_rule_can_be_set_and_switched_off(rule: str, url: str, most: int) -> None:
    assert not trap(url)
    assert trap(url, **{rule: most})
    worse = {
        "most_segments": "/x".join(["", *map(str, range(30))]),
        "longest_segment": "/" + "y" * 900,
        "repeated_segments": "/a/a/a/a",
        "most_parameters": "/?" + "&".join(f"p{number}=1" for number in range(20)),
        "repeated_parameters": "/?" + "&".join(f"p={number}" for number in range(9)),
        "years_off": "/2999/01/",
    }[rule]
    assert trap(H + worse)
    off: dict[str, Any] = {rule: None}
    assert not trap(H + worse, **off)


def test_urls_that_differ_in_what_a_trap_makes_have_one_shape() -> None:
    def key(url: str) -> int:
        found = Traps().suspect(url)
        assert found is not None
        return found.key

    for one, other in [
        (f"{H}/trap/a/a/a/", f"{H}/trap/b/a/b/b/b/a"),
        (f"{H}/s?a=1&b=2", f"{H}/s?b=7&a=0"),
        (f"{H}/cal/1999/12", f"{H}/cal/2001-01"),
        (f"{H}/s?{'f=1&' * 4}g=2", f"{H}/s?{'f=3&' * 5}g=4"),
    ]:
        assert key(one) == key(other)
    for one, other in [
        (f"{H}/trap/a/a/a/", "https://i/trap/a/a/a/"),
        (f"{H}/trap/a/a/a/", f"{H}/real/a/a/a/"),
        (f"{H}/s?a=1", f"{H}/t?a=1"),
        (f"{H}/s?a=1", f"{H}/s?b=1"),
    ]:
        assert key(one) != key(other)
    assert kind_of(key(f"{H}/s?a=1")) is Kind.QUERIES


@pytest.mark.parametrize(
    ("url", "shorter"),
    [
        (f"{H}/en/en/en/p", [f"{H}/en/en/p", f"{H}/en/p"]),
        (f"{H}/x/a/b/a/b/a/b/a/b", [f"{H}/x/a/b/a/b", f"{H}/x/a/b"]),
        (f"{H}/session-0a1b2c3d4e5f6a7b/x", [f"{H}/x"]),
        (f"{H}/s?f=1&f=2&f=3&f=4", [f"{H}/s"]),
        (f"{H}/{'x' * 300}", []),
    ],
)
def test_a_suspicious_url_has_shorter_forms(url: str, shorter: list[str]) -> None:
    assert Traps().shorter(url) == shorter


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
