"""A rule of focus: parsed and written as it is, accepted exactly if every ledger takes its weight."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.ledger.exact import ExactLedger
from centime.ledger.focus import FOCUS_CLASSES
from centime.ledger.opic import OpicLedger
from centime.ledger.payment import CLASS_MASK
from centime.model.errors import BadSetting
from centime.settings.crawl import CrawlSettings
from centime.settings.focus import MOST_RULES, FocusRule
from centime.settings.live import read_values
from centime.settings.reading import settings_from


def taken(by: Callable[[], object]) -> bool:
    try:
        by()
    except BadSetting:
        return False
    return True


@given(st.text(min_size=1, max_size=9), st.floats(allow_nan=False))
def test_a_rule_is_parsed_as_it_is_written(pattern: str, weight: float) -> None:
    rule = FocusRule(pattern, weight)
    assert FocusRule.parse(str(rule)) == rule


def test_a_whole_weight_is_written_without_a_point() -> None:
    assert str(FocusRule("/a/", 4.0)) == "/a/=4"
    assert str(FocusRule("/a/", 0.0625)) == "/a/=0.0625"


def test_the_last_sign_parts_pattern_and_weight() -> None:
    assert FocusRule.parse("[?]id=1=2.5") == FocusRule("[?]id=1", 2.5)


@pytest.mark.parametrize("text", ["", "x", "=2", "x=", "x=heavy", "2"])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(BadSetting, match=f"a focus is PATTERN=WEIGHT, .*, not {text!r}"):
        FocusRule.parse(text)


def test_a_pattern_is_checked() -> None:
    with pytest.raises(BadSetting, match="back-reference"):
        FocusRule.parse(r"(a)\1=2").check()


@pytest.mark.parametrize("weight", [0.0625, 1.0, 2.5, 65_536.0, 0.1, 0.03, 65_536.0625, 1e300, -1.0, 0.0, float("nan")])
def test_a_weight_is_accepted_exactly_if_the_ledgers_take_it(weight: float) -> None:
    rule = FocusRule("/a/", weight)
    accepted = taken(rule.check)
    assert accepted == (weight in (0.0625, 1.0, 2.5, 65_536.0))
    assert accepted == taken(lambda: ExactLedger().set_focus(1, weight))
    assert accepted == taken(lambda: OpicLedger().set_focus(1, weight))
    assert accepted == taken(lambda: read_values([f"focus={rule}"]))
    assert accepted == taken(lambda: settings_from({"focus": [str(rule)]}, where="c"))


def test_a_weight_is_refused_with_its_range() -> None:
    with pytest.raises(BadSetting, match=r"^a focus weight is a multiple of 1/16 from 1/16 to 65536, not 0\.1$"):
        FocusRule("/a/", 0.1).check()


def test_there_are_as_many_rules_as_a_ledger_has_classes_beside_that_of_no_focus() -> None:
    assert FOCUS_CLASSES == CLASS_MASK + 1
    rules = [f"/{number}/=2" for number in range(MOST_RULES + 1)]
    settings = settings_from({"focus": rules[:-1]}, where="c")
    ExactLedger().set_focus(len(settings.focus_rules()), 2.0)
    with pytest.raises(BadSetting, match="at most 127 rules of focus, not 128"):
        settings_from({"focus": rules}, where="c")


def test_the_first_rule_that_is_found_counts() -> None:
    patterns = CrawlSettings(focus=("/b/=2", "/a/=4", "x=1=8")).focus_patterns()
    assert [patterns.first(url) for url in ("/a/b/", "/a/", "x=1", "y")] == [0, 1, 2, None]


def test_a_rule_that_was_accepted_is_not_checked_again_beside_a_new_one() -> None:
    long = "x" * 2_000 + "=2"
    start = CrawlSettings(focus=(long,))
    assert settings_from({"focus": [long, "/a/=2"]}, where="c", start=start).focus == (long, "/a/=2")
