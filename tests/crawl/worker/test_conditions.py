"""Conditions of subscriptions: words are found as a search finds them, in the text or in what an XPath finds."""

import pytest

from centime.crawl.worker.conditions import WatchedPage, watched
from centime.model.outcome import PageKind
from centime.shard.people.notices import Condition
from centime.shard.people.subscriptions import MISSING, THERE, Subscription

PAGE = """<html><title>Größe</title><nav>menu</nav><h1>Tea</h1><p>Green tea is sold out.<p>We open at 8.
<div id=shop>cups and pots</div></html>"""


def found(words: str, xpath: str = "", body: str = PAGE, kind: PageKind = PageKind.HTML) -> tuple[int, str] | None:
    content_type = "text/html" if kind is PageKind.HTML else "text/plain"
    return WatchedPage(body.encode(), kind, "utf-8", content_type).found(Condition(xpath, words))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("TEA", "Tea\nGreen tea is sold out."),
        ('"sold out"', "Green tea is sold out."),
        ('tea "open at" -coffee', "Tea\nGreen tea is sold out.\nWe open at 8."),
        ("grosse", "Größe"),
    ],
)
def test_words_that_are_there_are_told_with_their_lines(words: str, text: str) -> None:
    assert found(words) == (THERE, text)


@pytest.mark.parametrize("words", ["coffee", '"out sold"', "tea -sold", "menu", "te", "tea coffee"])
def test_words_that_are_not_there_have_no_text(words: str) -> None:
    assert found(words) == (MISSING, "")


def test_with_an_xpath_words_are_looked_for_in_what_it_finds() -> None:
    assert found("cups", "//div[@id='shop']") == (THERE, "cups and pots")
    assert found("tea", "//div[@id='shop']") == (MISSING, "")
    assert found("tea", "//p[no-such-function()]") is None


def test_plain_text_has_words_too() -> None:
    assert found("tea", body="coffee\nand tea", kind=PageKind.OTHER) == (THERE, "and tea")


def test_a_fetcher_tells_what_each_subscription_finds() -> None:
    page = WatchedPage(PAGE.encode(), PageKind.HTML, "utf-8", "text/html")
    subscriptions = [
        Subscription("a", "", 1.0, "file:a", words="tea"),
        Subscription("b", "", 1.0, "file:a", "//h1"),
        Subscription("c", "", 1.0, "file:a", "//h1[no-such-function()]"),
    ]
    assert [(name, text) for name, _, text in watched(page, subscriptions)] == [
        ("a", "Tea\nGreen tea is sold out."),
        ("b", "Tea"),
    ]
