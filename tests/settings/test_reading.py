"""The settings of a crawl: every value is of its setting's type and range or refused with a sentence, what is
remembered can be taken back, and what was accepted is never checked again."""

import json
import math
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect, structs

from centime.model.errors import BadSetting
from centime.settings.crawl import CrawlSettings
from centime.settings.reading import SETTINGS, decode_settings, replayed_settings, settings_from

CERTIFICATE = Path(__file__).parents[1] / "fetch" / "self-signed.pem"
TYPES = {name.replace("_", "-"): kind for name, kind in get_type_hints(CrawlSettings).items()}
OPTIONAL = sorted(name for name, kind in TYPES.items() if NoneType in get_args(kind))
RANGES = {
    field.encode_name: bare
    for field in structs.fields(CrawlSettings)
    for kind in [inspect.type_info(field.type)]
    for bare in [kind.types[0] if isinstance(kind, inspect.UnionType) else kind]
    if isinstance(bare, inspect.IntType | inspect.FloatType)
}
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
    assert {"address-delay", "bandwidth", "ca-file", "fill-rate", "max-depth", "proxy", "rate", "most-segments"} < set(
        OPTIONAL
    )


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
    given = float(max(10, RANGES[name].ge or 0))
    assert type(getattr(settings_from({name: given}, where="c"), name.replace("-", "_"))) is int


def test_every_number_has_a_range() -> None:
    assert len(RANGES) == 35
    assert all(kind.ge is not None and kind.le is not None for kind in RANGES.values())


@pytest.mark.parametrize("name", RANGES)
def test_a_number_is_accepted_up_to_its_bounds_and_refused_beyond_them(name: str) -> None:
    least, most = RANGES[name].ge, RANGES[name].le
    assert least is not None
    assert most is not None
    whole = isinstance(RANGES[name], inspect.IntType)
    for value in (least, most):
        settings = settings_from({"alpha": 1.0} | {name: value}, where="c")
        assert getattr(settings, name.replace("-", "_")) == value
    for value in (least - 1, math.nextafter(most, math.inf), math.inf, -math.inf, math.nan):
        if not (whole and value == most):  # the next float of a whole number may be none
            with pytest.raises(BadSetting, match=f"^c: {name} is a (whole )?number.* from .* to .*, not ") as refused:
                settings_from({name: value}, where="c")
            bounds = [int(bound) if float(bound).is_integer() and whole else f"{bound:.12g}" for bound in (least, most)]
            assert f"from {bounds[0]} to {bounds[1]}" in str(refused.value)


def with_as_many(start: CrawlSettings, facts: list[tuple[str, Any]]) -> CrawlSettings:
    """Settings with these facts, but without those that do not go with others."""
    try:
        return settings_from(dict(facts), where="c", start=start)
    except BadSetting:
        half = len(facts) // 2
        return with_as_many(with_as_many(start, facts[:half]), facts[half:]) if half else start


@cache
def values() -> st.SearchStrategy[dict[str, Any]]:
    """Values of some settings, each by itself of its type and range; made once, which takes longer than to draw."""
    words = st.lists(st.text("abc/.", min_size=1, max_size=5), max_size=3)
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "seeds": words.map(lambda paths: [f"http://a.example/{path}" for path in paths]),
        "include": words,
        "refuse-suffix": st.lists(st.sampled_from(["php", ".html"]), max_size=2),
        "follow-nofollow": st.booleans(),
        "exclude": words,
        "want": st.sampled_from([None, "xml", "pdf", "/a/"]),
        "focus": st.lists(st.integers(1, 2**20), max_size=3).map(
            lambda sixteenths: [f"/a/={n / 16}" for n in sixteenths]
        ),
        "user-agent": st.from_regex(r"[a-z]{1,9}/[0-9] \([a-z ]{0,9}\)", fullmatch=True),
        "allow-network": st.lists(st.ip_addresses().map(str), max_size=2),
        "resolve": st.lists(st.ip_addresses().map(lambda address: f"a.example={address}"), max_size=2),
        "continuous": st.booleans(),
        "select": st.lists(st.sampled_from(["css:main", "/a/=css:article > p"]), max_size=2),
        "ignore": st.lists(st.sampled_from(["css:.ads", "regex:[0-9]+ users", "/a/=regex:x"]), max_size=2),
        "least-intervals": st.lists(st.sampled_from(["/a/=5m", "b=c=none"]), max_size=2),
        "greatest-intervals": st.lists(st.sampled_from(["/a/=30d", "b=none"]), max_size=2),
        "retain": st.lists(st.sampled_from(["100", "/a/=30d", "b=c=all"]), max_size=2),
        "sitemaps": st.booleans(),
        "cookies": st.booleans(),
        "ignore-noarchive": st.booleans(),
        "index": st.booleans(),
        "link-weight": st.sampled_from(["internal=0.3,external=2", "template=0", "dynamic=0.5"]),
        "parts": st.booleans(),
        "requisites": st.booleans(),
        "also": st.lists(st.sampled_from(["pdf", "css,JS", ".png", "images", "all"]), max_size=3),
        "header": st.lists(st.sampled_from(["A: b", "h.example=Cookie: a=b"]), max_size=2),
        "auth": st.lists(st.sampled_from(["h.example=u:p", "http://h.example:81=u:p:q"]), max_size=2),
        "proxy": st.sampled_from(["direct", "http://u:p@h.example:3128"]),
        "ca-file": st.just(str(CERTIFICATE)),
        "insecure": st.booleans(),
        "discovery": st.just("auto") | st.floats(0.1, 99.9) | st.integers(1, 99).map("{}%".format),
        "shares": st.lists(st.floats(0.001, 0.999), min_size=3, max_size=3),
        "ban": st.lists(st.sampled_from(["a.example", "http://b.example", "https://c.example:8443"]), max_size=3),
    }
    for name, kind in TYPES.items():
        if name in RANGES:
            least, most = RANGES[name].ge, RANGES[name].le
            whole = isinstance(RANGES[name], inspect.IntType)
            kinds[name] = st.integers(int(least or 0), int(most or 0)) if whole else st.floats(least, most)
        elif get_origin(kind) is Literal:
            kinds[name] = st.sampled_from(get_args(kind))
    return st.fixed_dictionaries({}, optional={name: kinds[name] for name in TYPES})


def accepted() -> st.SearchStrategy[CrawlSettings]:
    """Settings that `settings_from` accepts."""
    return values().map(lambda facts: with_as_many(CrawlSettings(), list(facts.items())))


@pytest.mark.slow
@hypothesis.settings(max_examples=20)
@given(accepted())
def test_accepted_settings_are_decoded_unchanged(settings: CrawlSettings) -> None:
    facts = json.loads(json.dumps(settings.facts()))
    assert decode_settings(facts, where="c") == settings
    assert settings_from(facts, where="c") == settings
    assert replayed_settings(facts, where="c", start=CrawlSettings()) == settings
    assert decode_settings(facts, where="c").facts() == settings.facts()


def test_what_an_earlier_version_accepted_is_used_without_another_check() -> None:
    facts = CrawlSettings().facts() | {"user-agent": "böt", "least-interval": 1e-4, "first-rate": 99.0, "delay": -1.0}
    old = decode_settings(facts, where="c")
    assert old.fetch_settings().user_agent == "böt"
    assert old.refresh_settings().least_interval == 1e-4
    with pytest.raises(BadSetting):
        settings_from({"user-agent": "böt"}, where="c", start=old)


@pytest.mark.slow
@hypothesis.settings(max_examples=20)
@given(accepted(), st.sampled_from(sorted(SETTINGS)))
def test_a_name_that_is_missing_takes_its_default(settings: CrawlSettings, name: str) -> None:
    facts = settings.facts()
    default = CrawlSettings().facts()[name]
    del facts[name]
    assert decode_settings(facts, where="c").facts() == settings.facts() | {name: default}


def test_what_was_accepted_is_never_checked_again() -> None:
    """A version that allowed more wrote these."""
    kept: dict[str, Any] = {name: kind.le * 2 for name, kind in RANGES.items() if kind.le}
    kept |= {"alpha": 0.0, "beta": 0.0, "continuous": True, "rate": None, "bandwidth": None, "refresh-after": 5.0}
    kept |= {"include": ["a" * 2_000], "focus": ["/a/=0.1"], "shares": [0.0, 1.0, 2.0], "discovery": "100%"}
    settings = decode_settings(kept, where="c")
    assert settings.facts().items() >= kept.items()
    assert replayed_settings(kept, where="c", start=CrawlSettings()) == settings
    changed = settings_from({"keep": "all"}, where="c", start=settings)
    assert changed == structs.replace(settings, keep="all")


def test_a_setting_of_a_newer_version_is_refused_by_name() -> None:
    with pytest.raises(BadSetting, match=r"^the journal: unknown setting 'colour': a newer version"):
        decode_settings(CrawlSettings().facts() | {"colour": "red"}, where="the journal")


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_value_of_another_type_is_not_decoded(name: str, value: object) -> None:
    with pytest.raises(BadSetting, match=f"^c: {name} is ") as refused:
        decode_settings({name: value}, where="c")
    assert str(refused.value).endswith(f"not {value!r}")


@pytest.mark.parametrize("discovery", ["0.1%", "99.9", 50, 30.5, "auto"])
def test_discovery_is_a_percentage_or_auto(discovery: object) -> None:
    share = settings_from({"discovery": discovery}, where="c").discovery_share()
    assert share is None if discovery == "auto" else share == float(str(discovery).removesuffix("%")) / 100


@pytest.mark.parametrize("discovery", ["0%", "100%", "nan", "inf", "-5", "half", 0, 1e300])
def test_what_is_no_percentage_is_refused(discovery: object) -> None:
    with pytest.raises(BadSetting, match=r"^c: discovery is auto, or a percentage from 0\.1 to 99\.9, not "):
        settings_from({"discovery": discovery}, where="c")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"include": ["("]}, "include: the pattern '\\(' is not a regular expression"),
        ({"exclude": ["a", "(?=a)"]}, "exclude: the pattern .* has look-around"),
        ({"alpha": 0, "beta": 0}, "alpha and beta are both 0"),
        ({"continuous": True}, "give it as --rate 50/s or --bandwidth 2GB/day"),
        ({"allow-network": ["everything"]}, "is not a network"),
        ({"resolve": ["a"]}, "NAME=ADDRESS"),
        ({"ban": ["a b"]}, "ban: a host is a name"),
        ({"rate": "x"}, "rate: a rate is a number"),
    ],
)
def test_what_types_cannot_say_is_checked_too(facts: dict[str, Any], said: str) -> None:
    with pytest.raises(BadSetting, match=f"^c: {said}|^c: .*{said}"):
        settings_from(facts, where="c")


@pytest.mark.parametrize("name", OPTIONAL)
def test_none_takes_back_what_may_be_absent(name: str) -> None:
    word = {
        "proxy": "direct",
        "ca-file": str(CERTIFICATE),
        "want": "xml",
        "index": True,
        "link-weight": "internal=2",
    }.get(name)
    start = settings_from({name: word or max(7, RANGES[name].ge or 0)}, where="c")
    assert start != CrawlSettings()
    absent = structs.replace(CrawlSettings(), **{name.replace("-", "_"): None})
    assert settings_from({name: "none"}, where="c", start=start) == absent


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("also", "pdf"),
        ("refuse-suffix", "php"),
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
