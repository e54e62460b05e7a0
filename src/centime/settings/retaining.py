"""Which versions of pages are kept (`--keep versions`): a rule for all pages, and others by pattern.

    NUMBER            this many of the newest versions
    TIME              every version that the page had within this time: 30d
    all               everything
    PATTERN=...       the same for pages whose URL matches the pattern; the first such rule counts

The pattern may hold `=` itself: the last one counts.
"""

from dataclasses import dataclass
from functools import lru_cache

from centime.model.errors import BadSetting
from centime.model.pattern import Patterns, check_pattern, compiled
from centime.settings.units import seconds
from centime.store.versions.retention import EVERYTHING, Retention

ALL = "all"
MOST_VERSIONS = 10**9
MOST_SECONDS = 1e10


@dataclass(frozen=True, slots=True)
class Retaining:
    """The retention of each page, by its URL."""

    usual: Retention
    patterns: Patterns
    by_pattern: tuple[Retention, ...]

    def of(self, url: str) -> Retention:
        """The retention of a page."""
        place = self.patterns.first(url) if self.patterns else None
        return self.usual if place is None else self.by_pattern[place]


@lru_cache(maxsize=256)
def retaining_of(rules: tuple[str, ...]) -> Retaining:
    """The retention of all pages by these rules; of rules without a pattern, the last one counts."""
    parsed = [_parsed(rule) for rule in rules]
    usual = [retention for pattern, retention in parsed if not pattern]
    patterns = [(pattern, retention) for pattern, retention in parsed if pattern]
    return Retaining(
        usual[-1] if usual else EVERYTHING,
        compiled(*(pattern for pattern, _ in patterns)),
        tuple(retention for _, retention in patterns),
    )


def check_retention(rule: str) -> None:
    """BadSetting if this is not a rule that can be used."""
    pattern, retention = _parsed(rule)
    check_pattern(pattern)
    if retention.most is not None and not 1 <= retention.most <= MOST_VERSIONS:
        raise BadSetting(f"at least 1 version of a page is kept, and at most {MOST_VERSIONS}, not {rule!r}")
    if retention.seconds is not None and not 0 < retention.seconds <= MOST_SECONDS:
        raise BadSetting(f"versions are kept for a time above 0 and up to {MOST_SECONDS:.12g} seconds, not {rule!r}")


def _parsed(rule: str) -> tuple[str, Retention]:
    pattern, equals, kept = rule.rpartition("=")
    if equals and not pattern:
        raise BadSetting(f"versions are kept by NUMBER, TIME or all, or PATTERN= and one of these, not {rule!r}")
    kept = kept.strip()
    if kept == ALL:
        return pattern, EVERYTHING
    if kept.isascii() and kept.isdigit():
        return pattern, Retention(most=int(kept[:20]))
    try:
        return pattern, Retention(seconds=seconds(kept))
    except BadSetting:
        raise BadSetting(
            f"versions are kept by number (100), time (30d) or all, perhaps of pages: /news/=30d, not {rule!r}"
        ) from None
