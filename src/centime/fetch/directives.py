"""What X-Robots-Tag headers say to us.

A value is a list of directives, for all robots or, after a name and a colon, for one ("otherbot: noindex, nofollow").
Trap: `unavailable_after: <date>` has a colon and commas of its own and names no robot. Directives add up; the stricter
holds.
"""

from collections.abc import Iterable
from dataclasses import dataclass

_WITH_VALUES = {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}


@dataclass(frozen=True, slots=True)
class Directives:
    """What may not be done with a page."""

    noindex: bool = False
    nofollow: bool = False


def parse_directives(headers: Iterable[tuple[str, str]], product: str) -> Directives:
    """What the X-Robots-Tag headers among `headers` (names in lower case) ask of the robot of this product token."""
    noindex = nofollow = False
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
    return Directives(noindex, nofollow)
