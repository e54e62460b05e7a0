"""All that a fetcher needs to know about a host to compare one of its pages."""

import msgspec

from centime.change.history import USUAL_SHARE, noise_odds
from centime.change.rule import NO_TABLE, Rule, Table
from centime.change.specimen import Specimen

LEAST_AGAIN = 0.25  # share of the comparisons that follow one in which it appeared or disappeared
NOTHING_KNOWN = (0, 0, USUAL_SHARE)


class Advice(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The rules of a host, how often they hide something, and whether a page may be read twice."""

    table: Table = NO_TABLE
    early: bool = False  # a twin read is allowed if many places of a new page are not covered
    late: bool = False  # a twin read is allowed if a place changed that is not settled
    covered: bytes = b""
    settled: tuple[int, ...] = ()  # changed places that need no twin read
    specimen: Specimen | None = None  # of the page
    takes_specimen: bool = False  # a specimen is taken if a place differs again and again
    evidence: dict[int, tuple[int, int, float]] = {}  # by the key of a rule: a, b and q of `history.py`

    def odds(self, key: int, history: int, *, steady: bool = False) -> float:
        """The odds that a difference in the words that a rule hides is noise; `steady` if a twin read did not
        differ."""
        return noise_odds(history, self.evidence.get(key, NOTHING_KNOWN), steady=steady)

    def flickers(self, rule: Rule) -> bool:
        """Whether the words that a rule hides come and go: a twin read has shown this, and no pages contradict it."""
        again, still, _ = self.evidence.get(rule.key, NOTHING_KNOWN)
        return rule.flickers and again >= LEAST_AGAIN * (again + still)


NO_ADVICE = Advice()
