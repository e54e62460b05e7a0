"""Least and greatest intervals of pages, for all of them and by pattern."""

import math

import pytest

from centime.model.errors import BadSetting
from centime.settings.crawl import CrawlSettings
from centime.settings.intervals import intervals_of
from centime.settings.reading import decode_settings, settings_from


def test_the_first_rule_that_is_found_in_the_url_counts_and_none_stands_for_the_usual_interval() -> None:
    intervals = intervals_of(3600.0, ("/news/old/=none", "/news/=5m", "^https:=2d"))
    assert intervals.of("http://a.example/news/1") == 300.0
    assert intervals.of("http://a.example/news/old/1") == 3600.0
    assert intervals.of("https://a.example/") == 2 * 86_400.0
    assert intervals.of("http://a.example/") == 3600.0
    assert intervals.shortest == 300.0


def test_words_with_a_pattern_are_kept_apart_from_the_word_for_all_pages() -> None:
    given = {"least-interval": ["1h", "/news/=5m", "a=b=2m"], "greatest-interval": "/terms$=30d"}
    settings = settings_from(given, where="options")
    assert settings.least_interval == 3600.0
    assert settings.least_times().of("http://x.example/?a=b") == 120.0
    assert settings.refresh_settings().least_interval == 120.0
    assert settings.greatest_times().of("http://x.example/terms") == 30 * 86_400.0
    assert settings.greatest_times().of("http://x.example/") == math.inf
    assert decode_settings(settings.facts(), where="a folder") == settings


def test_what_was_given_before_stays_until_it_is_given_again() -> None:
    start = CrawlSettings(least_interval=60.0, least_intervals=("/a/=1m",))
    assert settings_from({"least-interval": "2h"}, where="options", start=start).least_intervals == ("/a/=1m",)
    assert settings_from({"least-interval": ["/b/=5m"]}, where="options", start=start).least_interval == 60.0


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (["1h", "2h"], "least-interval is given twice for all pages: '1h' and '2h'"),
        (["/a/=x"], "a time is a number"),
        (["[=5m"], "not a regular expression"),
        ("=5m", "PATTERN=TIME"),
        (["/a/=1e3d"], "a time is a number"),
        (["/a/=99999999d"], "0.01 to 1000000000 seconds"),
    ],
)
def test_an_interval_that_is_none_is_refused_with_what_to_write(value: object, said: str) -> None:
    with pytest.raises(BadSetting) as error:
        settings_from({"least-interval": value}, where="options")
    assert said in str(error.value)
