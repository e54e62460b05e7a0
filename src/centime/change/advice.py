"""What a fetcher needs to know of a host to compare a page of it."""

import msgspec

from centime.change.history import noise_odds
from centime.change.rule import NO_TABLE, Table

NONE: frozenset[int] = frozenset()
USUAL_RATE, USUAL_SHARE = 0.9, 0.7  # of a rule of which nothing is known yet


class Advice(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The rules of a host, how often they hide something, and whether a page may be read twice."""

    table: Table = NO_TABLE
    early: bool = False  # a twin read is allowed if many places of a new page are not covered
    late: bool = False  # a twin read is allowed if a place changed that is not settled
    covered: bytes = b""
    settled: tuple[int, ...] = ()  # changed places that need no twin read
    rates: dict[int, tuple[float, float]] = {}  # by the key of a rule: r and q of `history.py`

    def odds(self, key: int, history: int, *, steady: bool = False) -> float:
        """The odds that a difference of what a rule hides is noise; `steady` if a twin read did not differ."""
        rate, share = self.rates.get(key, (USUAL_RATE, USUAL_SHARE))
        return noise_odds(history, rate, share) * ((1 - rate) / rate if steady else 1.0)


NO_ADVICE = Advice()
