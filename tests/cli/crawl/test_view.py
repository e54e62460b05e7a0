"""The live view says what the bounds of a crawl keep out, and nothing of them while they are far."""

from typing import Any

import pytest
from rich.console import Console

from centime.cli.crawl.view import _line, _panel

FACTS: dict[str, Any] = {
    "seconds": 5.0,
    "visits": 10,
    "pages_per_second": 2.0,
    "bytes_per_second": 1e3,
    "known": 90,
    "read": 10,
    "fresh": 10,
    "hosts": 2,
    "wire_bytes": 1000,
    "frontier": 80,
    "leased": 0,
    "errors": {},
    "certified_error": 0.1,
    "most_pages": 100,
    "admitted": "all URLs",
    "refused": {},
    "pages_dropped": 0,
}


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, ""),
        (
            {"admitted": "important URLs", "refused": {"most-pages": 7}},
            "near 100 pages: admits important URLs, 7 refused",
        ),
        (
            {"admitted": "no URLs (memory is short)", "refused": {"most-pages": 7}, "pages_dropped": 5},
            "near 100 pages: admits no URLs (memory is short), 7 refused, 5 dropped",
        ),
    ],
)
def test_the_view_says_what_the_bounds_keep_out(facts: dict[str, Any], said: str) -> None:
    console = Console(width=200, record=True, quiet=True)
    with console.capture() as shown:
        console.quiet = False
        console.print(_panel(FACTS | facts, []))
    for text in (_line(FACTS | facts), shown.get()):
        assert said in text
        assert ("near" in text) == bool(said)
