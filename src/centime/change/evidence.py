"""How often the words that a rule hides differ from before, over all pages of a host: a, b and q of `history.py`."""

from math import exp, lgamma, log, sqrt

import msgspec

from centime.change.history import CONTENT, FRESH, PRIOR, USUAL_SHARE

MOST_SHARE = 0.98
TRUST = 0.9  # in the lesson of a twin read, before pages have shown anything
MOST_LOG = 500.0
DEVIATIONS = 0.5  # of the share of pages on which a rule hides something
WEIGHT = 5  # comparisons that the usual share of a rule counts as
MOST_COUNTED = 1_024  # comparisons; half of them are forgotten then


class Evidence(msgspec.Struct, array_like=True):
    """How often the words that a rule hides differ from before: in all comparisons, and in those after one in which
    they did."""

    all: int = 0
    differed: int = 0
    following: int = 0
    following_differed: int = 0

    def add(self, history: int, *, differed: bool) -> None:
        """Counts a comparison of a page that had this history."""
        self.all, self.differed = _halved(self.all + 1, self.differed + differed)
        if history & 1 and history != FRESH:
            self.following, self.following_differed = _halved(self.following + 1, self.following_differed + differed)

    def found(self) -> tuple[int, int, float]:
        """a, b and q of `history.py`."""
        still = self.following - self.following_differed
        following, comparisons = self.following + sum(PRIOR), self.all + WEIGHT
        usual = PRIOR[0] / sum(PRIOR)
        rate = (self.following_differed + PRIOR[0]) / following
        differed = (self.differed + WEIGHT * (USUAL_SHARE * usual + (1 - USUAL_SHARE) * CONTENT)) / comparisons
        # as large as chance allows: pages count as unchanging only if there is no doubt
        least_rate = rate - DEVIATIONS * self.following / following * sqrt(rate * (1 - rate) / following)
        most_differed = differed + DEVIATIONS * self.all / comparisons * sqrt(differed * (1 - differed) / comparisons)
        share = (most_differed - CONTENT) / max(CONTENT, least_rate - CONTENT)
        share = min(MOST_SHARE, max(1 - MOST_SHARE, share)) * self._credit(still)
        return self.following_differed, still, round(max(1 - MOST_SHARE, share), 2)

    def _credit(self, still: int) -> float:
        """The probability that the rule hides volatile words, and not content that once differed in a twin read:
        whether pages that differed at its place do so again, more often than content does.
        """
        a, b = PRIOR
        volatile = lgamma(a + b) - lgamma(a) - lgamma(b) + lgamma(a + self.following_differed) + lgamma(b + still)
        volatile -= lgamma(a + b + self.following)
        content = self.following_differed * log(CONTENT) + still * log(1 - CONTENT)
        return 1 / (1 + (1 - TRUST) / TRUST * exp(min(content - volatile, MOST_LOG)))


def _halved(comparisons: int, differed: int) -> tuple[int, int]:
    return (comparisons, differed) if comparisons < MOST_COUNTED else (comparisons // 2, differed // 2)
