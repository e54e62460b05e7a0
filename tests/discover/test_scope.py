from typing import Any

import pytest

from centime.discover.scope import Scope, registrable_domain
from centime.model.errors import BadSetting

SEED = "https://example.org/start"


def test_include_and_exclude_are_searched_for_in_the_url() -> None:
    scope = Scope.of([SEED], include=["/docs/", r"\.xml$"], exclude=["private"])
    assert scope.admits("https://example.org/docs/a")
    assert scope.admits("https://example.org/a.xml")
    assert "include" in scope.refusal("https://example.org/a")
    assert "'private'" in scope.refusal("https://example.org/docs/private/a")


def test_seeds_are_in_scope_whatever_the_patterns_say() -> None:
    assert Scope.of([SEED, "https://h/x.jpg"], kind="page", exclude=["."]).admits(SEED)
    assert Scope.of([SEED, "https://h/x.jpg"]).admits("https://h/x.jpg")


@pytest.mark.parametrize(
    ("kind", "url", "word"),
    [
        ("page", "https://example.org/b", "seeds"),
        ("host", "https://h/", "host"),
        ("domain", "https://h/", "domain"),
        ("any", "https://h/a.zip", ".zip"),
    ],
)
def test_a_refusal_says_why(kind: str, url: str, word: str) -> None:
    assert word in Scope.of([SEED], kind=kind).refusal(url)


@pytest.mark.parametrize("settings", [{"kind": "planet"}, {"include": ["("]}, {"exclude": ["*"]}])
def test_a_setting_that_cannot_be_used_is_named(settings: dict[str, Any]) -> None:
    with pytest.raises(BadSetting) as caught:
        Scope.of([SEED], **settings)
    value = next(iter(settings.values()))
    assert str(value[0] if isinstance(value, list) else value) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("a.b.example.co.uk", "example.co.uk"),
        ("example.org", "example.org"),
        ("co.uk", "co.uk"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("x", "x"),
    ],
)
def test_the_domain_of_a_name_is_the_one_that_was_registered(name: str, domain: str) -> None:
    assert registrable_domain(name) == domain


def test_ports_do_not_count_for_domains() -> None:
    scope = Scope.of(["http://a.example.org:8080/"], kind="domain")
    assert scope.admits("https://b.example.org/")
    assert Scope.of(["http://[::1]:8080/"], kind="domain").admits("http://[::1]:9090/")
    assert not Scope.of(["http://127.0.0.1/"], kind="domain").admits("http://127.0.0.2/")


def test_a_decision_is_the_same_when_it_is_remembered() -> None:
    scope = Scope.of([SEED], kind="domain")
    for _ in range(2):
        assert scope.admits("https://www.example.org/")
        assert not scope.admits("https://www.example.com/")
