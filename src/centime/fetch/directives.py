"""Parses X-Robots-Tag headers.

A value is a list of directives, for all robots or, after a name and a colon, for one ("otherbot: noindex, nofollow").
Directives add up; the stricter one holds. Trap: `unavailable_after: <date>` has a colon and commas of its own and names
no robot.
"""

from collections.abc import Iterable
from dataclasses import dataclass

_WITH_VALUES = {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}


@dataclass(frozen=True, slots=True)
class Directives:
    """What robots may not do with a page."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False


def parse_directives(headers: Iterable[tuple[str, str]], product: str) -> Directives:
    """The directives for the robot of this product token in `headers`, whose names are in lower case."""
    noindex = nofollow = noarchive = False
    for name, value in headers:
        if name != "x-robots-tag":
            continue
        ours = True
        for part in value.split(","):
            agent, colon, rest = part.partition(":")
            word = agent.strip().lower()
            if colon and word not in _WITH_VALUES:
                ours = word in ("*", product)
                word = rest.strip().lower()
            if ours:
                noindex = noindex or word in ("noindex", "none")
                nofollow = nofollow or word in ("nofollow", "none")
                noarchive = noarchive or word == "noarchive"
    return Directives(noindex, nofollow, noarchive)
