"""What is said to a running crawl: every setting that can be changed, lists that two people change, and typos."""

from typing import Any

import pytest
from msgspec.structs import replace

from centime.crawl.commands.checking import unpack_command
from centime.model.errors import BadSetting
from centime.settings.crawl import CrawlSettings
from centime.settings.live import SETTABLE, changed, changed_again, read_values
from centime.settings.reading import SETTINGS
from centime.shard.people.command import SetCommand, new_id, pack_command

START = CrawlSettings(ban=("http://a.example",), focus=("/a/=2", "/b/=3"), rate=5.0)


def after(*words: str) -> CrawlSettings:
    """The settings after an order with these words, which went through a file."""
    order = unpack_command(pack_command(SetCommand(id=new_id(), time=1.0, values=read_values(words))))
    assert isinstance(order, SetCommand)
    settings = changed(START, order.values)
    assert changed_again(START, order.values) == settings, "a journal gives the same"
    return settings


def test_all_that_can_be_set_are_settings_of_a_crawl() -> None:
    assert set(SETTABLE) <= SETTINGS


@pytest.mark.parametrize(
    ("word", "name", "value"),
    [
        ("rate=3000/m", "rate", 50.0),
        ("rate=none", "rate", None),
        ("bandwidth=none", "bandwidth", None),
        ("bandwidth=500KB/s", "bandwidth", 500_000.0),
        ("most-pages=20000", "most_pages", 20_000),
        ("most-pages=none", "most_pages", None),
        ("most-memory=1.5GB", "most_memory", 1_500_000_000),
        ("delay=2s", "delay", 2.0),
        ("alpha=0.25", "alpha", 0.25),
        ("beta=2", "beta", 2.0),
        ("discovery=30%", "discovery", "30%"),
        ("discovery=auto", "discovery", "auto"),
        ("Discovery_Weight=2", "discovery_weight", 2.0),
        ("least-interval=2h", "least_interval", 7200.0),
        ("least-interval=/news/=5m", "least_intervals", ("/news/=5m",)),
        ("greatest-interval=30d", "greatest_interval", 30 * 86_400.0),
        ("greatest-interval=none", "greatest_interval", None),
        ("greatest-interval=a=b=1d", "greatest_intervals", ("a=b=1d",)),
        ("shares=0.1,0.2,0.3", "shares", (0.1, 0.2, 0.3)),
        ("policy=paper", "policy", "paper"),
        ("ban=b.example", "ban", ("http://b.example", "https://b.example")),
        ("ban=", "ban", ()),
        ("ban=none", "ban", ()),
        ("ban+=https://b.example:8443", "ban", ("http://a.example", "https://b.example:8443")),
        ("ban-=a.example", "ban", ()),
        ("ban-=c.example", "ban", ("http://a.example",)),
        ("focus=/a/=9", "focus", ("/a/=9", "/b/=3")),
        ("focus=x=1=4", "focus", ("/a/=2", "/b/=3", "x=1=4")),
    ],
)
def test_one_word_changes_one_setting_and_no_other(word: str, name: str, value: Any) -> None:
    assert after(word) == replace(START, **{name: value})


def test_a_rule_of_focus_keeps_its_place_which_is_the_class_of_its_pages() -> None:
    start = replace(START, focus=("/a/=2", "/a/=3", "/b/=3"))
    assert changed(start, {"focus": ["/b/=5", "/a/=4", "/c/=6"]}).focus == ("/a/=4", "/a/=3", "/b/=5", "/c/=6")


def test_a_list_can_be_given_word_by_word() -> None:
    assert after("ban=http://b.example", "ban=http://c.example").ban == ("http://b.example", "http://c.example")
    assert after("ban+=http://b.example", "ban-=http://a.example").ban == ("http://b.example",)
    words = ("least-interval=3h", "least-interval=/a/=1m", "least-interval=/b/=2m", "least-interval=/a/=none")
    assert after(*words).least_intervals == ("/a/=none", "/b/=2m")
    assert after(*words).least_interval == 3 * 3600.0
    assert after("focus=/a/=1", "focus=/c/=5").focus == ("/a/=1", "/b/=3", "/c/=5")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rat=5"], "did you mean 'rate'"),
        (["bann+=x.example"], "did you mean 'ban'"),
        (["least_intervall=5"], "did you mean 'least-interval'"),
        (["ledger=opic"], "cannot be changed while a crawl runs; these can: rate"),
        (["rate"], "NAME=VALUE"),
        (["rate=fast"], "a rate is a number"),
        (["rate=0"], "set: rate is a number per second from 1e-06 to 1000000000 or none, not '0'"),
        (["rate+=5"], "cannot be changed"),
        (["alpha=x"], "alpha is a number"),
        (["alpha=nan"], "set: alpha is a number from 0 to 1000000, not nan"),
        (["alpha=0", "beta=0"], "both 0"),
        (["alpha=1", "alpha=2"], "given twice"),
        (["discovery=120%"], "percentage"),
        (["shares=1,2"], "three numbers"),
        (["shares=a,b,c"], "three numbers"),
        (["least-interval=/a/=soon"], "a time is a number"),
        (["least-interval=(=5m"], "not a regular expression"),
        (["greatest-interval==5m"], "PATTERN=TIME"),
        (["greatest-interval=/a/=0s"], "0.01 to 1000000000 seconds"),
        (["focus=politics"], "PATTERN=WEIGHT"),
        (["focus=(=2"], "not a regular expression"),
        (["focus==2"], "PATTERN=WEIGHT"),
        (["focus=/a/=heavy"], "PATTERN=WEIGHT"),
        (["focus=/a/=0.1"], "a multiple of 1/16 from 1/16 to 65536, not 0.1"),
        (["focus=/a/=0"], "a multiple of 1/16"),
        (["focus=/a/=-1"], "a multiple of 1/16"),
        (["focus=/a/=65537"], "a multiple of 1/16"),
        (["focus=/a/=nan"], "a multiple of 1/16"),
        (["focus=/a/=inf"], "a multiple of 1/16"),
        ([r"focus=(a)\1=2"], "back-reference"),
        (["focus+=/a/=2"], "focus=PATTERN=WEIGHT"),
        (["ban+="], "names a host"),
        (["ban=a.example/path"], "a host is a name"),
        (["ban=a b"], "a host is a name"),
        (["ban=user@a.example"], "a host is a name"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_nearest_name(words: list[str], said: str) -> None:
    with pytest.raises(BadSetting, match=said):
        after(*words)


def test_an_order_that_another_program_wrote_is_held_to_the_same_names() -> None:
    with pytest.raises(BadSetting, match="cannot be changed"):
        changed(START, {"seeds": ["http://a.example/"]})
    with pytest.raises(BadSetting, match="list of words"):
        changed(START, {"ban": "a"})
