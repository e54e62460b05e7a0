"""The least and the greatest time between two visits of a page: one for all pages, and others by pattern.

    TIME              for all pages
    PATTERN=TIME      for pages whose URL matches the pattern; the first such rule counts
    PATTERN=none      for such pages the time for all pages

The pattern may hold `=` itself: the last one counts.
"""

from dataclasses import dataclass
from functools import lru_cache

from centime.model.errors import BadSetting
from centime.model.pattern import Patterns, check_pattern, compiled
from centime.settings.units import seconds

NONE = "none"
LEAST, MOST = 0.01, 1e9  # seconds


@dataclass(frozen=True, slots=True)
class Intervals:
    """The interval of each page, by its URL."""

    usual: float
    patterns: Patterns
    by_pattern: tuple[float, ...]

    def of(self, url: str) -> float:
        """The interval of a page, in seconds."""
        place = self.patterns.first(url) if self.patterns else None
        return self.usual if place is None else self.by_pattern[place]

    @property
    def shortest(self) -> float:
        """The shortest interval of any page."""
        return min((self.usual, *self.by_pattern))


@lru_cache(maxsize=256)
def intervals_of(usual: float, rules: tuple[str, ...]) -> Intervals:
    """The intervals of all pages: the usual one, and those of rules PATTERN=TIME."""
    parsed = [_parsed(rule) for rule in rules]
    times = tuple(usual if time is None else time for _, time in parsed)
    return Intervals(usual, compiled(*(pattern for pattern, _ in parsed)), times)


def check_interval(rule: str) -> None:
    """BadSetting if this is not a rule that can be used."""
    pattern, time = _parsed(rule)
    check_pattern(pattern)
    if time is not None and not LEAST <= time <= MOST:
        raise BadSetting(f"an interval is {LEAST:g} to {MOST:.12g} seconds, not {rule!r}")


def split_words(given: object) -> tuple[list[object], list[str]]:
    """The words for all pages, and the rules by pattern."""
    given_words = given if isinstance(given, list) else [given]
    words = [word for word in given_words if isinstance(word, str)]
    if not words or len(words) < len(given_words):  # refused by its type later
        return [given], []
    return [word for word in words if "=" not in word], [word for word in words if "=" in word]


def _parsed(rule: str) -> tuple[str, float | None]:
    pattern, _, time = rule.rpartition("=")
    if not pattern:
        raise BadSetting(f"an interval is TIME or PATTERN=TIME, such as 1h or /news/=5m, not {rule!r}")
    return pattern, None if time == NONE else seconds(time)
