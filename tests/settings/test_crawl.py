"""The settings of a crawl: every value is of its setting's type or refused with a sentence, and what is remembered
can be taken back."""

from dataclasses import fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from centime.model.errors import BadSetting
from centime.settings.crawl import SETTINGS, CrawlSettings, settings_from

TYPES = {field.name.replace("_", "-"): get_type_hints(CrawlSettings)[field.name] for field in fields(CrawlSettings)}
OPTIONAL = sorted(name for name, kind in TYPES.items() if NoneType in get_args(kind))
VALUES: list[Any] = [True, 7, 1.5, float("inf"), "!", [1.5, True], [True], ["!", 3], {}, {"a": 1}]


def fits(name: str, value: object) -> bool:
    """Whether a value is of the setting's type, whatever its range."""
    kind = TYPES[name]
    if get_origin(kind) is Literal or kind is str:
        return type(value) is str or (name == "discovery" and type(value) in (int, float))
    if get_origin(kind) is tuple:
        return type(value) is str and str in get_args(kind)
    return type(value) in ((int, float) if float in (kind, *get_args(kind)) else (kind, *get_args(kind)))


WRONG = [(name, value) for name in TYPES for value in VALUES if not fits(name, value)]


def test_every_setting_is_tried_with_wrong_values() -> None:
    assert {name for name, _ in WRONG} == SETTINGS
    assert OPTIONAL == ["address-delay", "bandwidth", "max-depth", "rate", "refresh-after"]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_value_of_another_type_is_refused_by_name_and_with_what_is_expected(name: str, value: object) -> None:
    with pytest.raises(BadSetting) as refused:
        settings_from({name: value}, where="c.toml")
    said = str(refused.value)
    assert said.startswith(f"c.toml: {name}")
    assert said.endswith(f"not {value!r}")


@pytest.mark.parametrize("name", sorted(SETTINGS - set(OPTIONAL)))
def test_only_what_may_be_absent_can_be_nothing(name: str) -> None:
    with pytest.raises(BadSetting, match=f"^c: {name} is .*, not None$"):
        settings_from({name: None}, where="c")


@pytest.mark.parametrize("name", [name for name, kind in TYPES.items() if int in (kind, *get_args(kind))])
def test_a_whole_number_may_have_a_point_and_no_more(name: str) -> None:
    number = getattr(
        settings_from({name: 2000.0 if name == "most-page-bytes" else 10.0}, where="c"), name.replace("-", "_")
    )
    assert type(number) is int


def test_settings_that_were_kept_are_read_as_they_were() -> None:
    told = CrawlSettings(
        seeds=("http://a.example/",),
        max_depth=3,
        rate=5.0,
        continuous=True,
        include=("none",),
        ban=("http://b.example",),
    )
    assert settings_from(told.facts(), where="c") == told


@pytest.mark.parametrize("name", OPTIONAL)
def test_none_takes_back_what_may_be_absent(name: str) -> None:
    start = settings_from({name: 7}, where="c")
    assert start != CrawlSettings()
    assert settings_from({name: "none"}, where="c", start=start) == CrawlSettings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("include", "a"),
        ("exclude", "a"),
        ("ban", "a.example"),
        ("focus", "a=2"),
        ("allow-network", "10.0.0.0/8"),
        ("resolve", "a=10.0.0.1"),
    ],
)
def test_none_empties_a_list(name: str, value: str) -> None:
    start = settings_from({name: value}, where="c")
    assert start != CrawlSettings()
    assert settings_from({name: "none"}, where="c", start=start) == CrawlSettings()


def test_what_is_given_of_continuous_and_refresh_after_takes_the_place_of_the_other() -> None:
    rate = {"rate": 10}
    seldom = settings_from({"refresh-after": "2s"}, where="c")
    always = settings_from({"continuous": True} | rate, where="c", start=seldom)
    assert (always.continuous, always.refresh_after) == (True, None)
    again = settings_from({"refresh-after": "3s"}, where="c", start=always)
    assert (again.continuous, again.refresh_after) == (False, 3.0)
    once = settings_from({"continuous": False}, where="c", start=again)
    assert (once.continuous, once.refresh_after) == (False, 3.0)
    assert settings_from({"refresh-after": "none"}, where="c", start=always) == always
    with pytest.raises(BadSetting, match="give one of them"):
        settings_from({"continuous": True, "refresh-after": "2s"} | rate, where="c", start=seldom)
