import pytest

from centime.model.errors import BadSetting
from centime.settings.retaining import check_retention, retaining_of
from centime.store.versions.retention import EVERYTHING, Retention


def test_without_rules_everything_is_kept() -> None:
    assert retaining_of(()).of("http://a.example/") is EVERYTHING
    assert EVERYTHING.all


def test_the_first_pattern_that_is_found_counts_and_the_last_rule_without_one() -> None:
    rules = retaining_of(("/news/=30d", "5", "a=b=all", "/news/old=1", "7"))
    assert rules.of("http://a.example/news/old") == Retention(seconds=30 * 86_400.0)
    assert rules.of("http://a.example/?a=b").all
    assert rules.of("http://a.example/") == Retention(most=7)


@pytest.mark.parametrize("rule", ["1", "100", "30d", "90s", "all", "/a/=2h", "x=y=all", "1000000000"])
def test_a_rule_is_a_number_a_time_or_all(rule: str) -> None:
    check_retention(rule)


@pytest.mark.parametrize(
    "rule", ["", "0", "-1", "0s", "many", "=5", "/a/=", "/a/=x", "1000000001", "9" * 40, "1e9", "99999999d", "[=5", "٣"]
)
def test_another_rule_is_refused(rule: str) -> None:
    with pytest.raises(BadSetting):
        check_retention(rule)
