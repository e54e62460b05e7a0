"""Specimens: the words of one place of a page, kept so that its next reads show which of them differ.

A value shows that a place differs, but not where. A twin read shows it for words that differ within seconds. A counter
that moves by the hour in a long text is found by a specimen: if a place of a page differs again and again, its words,
32 bits each, are kept for a few reads, and each comparison gives the gaps (`lesson.py`). A gap that differs in most
comparisons becomes a rule.
"""

import msgspec

from centime.change.rule import Rule

MOST_SPECIMENS = 3  # of a host
MOST_COMPARISONS = 16
MOST_WORDS = 1_500
SHORT = 8  # words and marks of blocks
LEAST_COMPARISONS, LEAST_SHARE = 5, 0.8  # of a gap, and the share of them in which it differed
MOST_GAPS = 16  # of a specimen


class Specimen(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The words of a place, as a lease takes them to the fetcher and a visit brings new ones back."""

    place: int
    words: bytes = b""


class Gap(msgspec.Struct, array_like=True):
    """Words that differed in a specimen, with the rule that would hide them."""

    rule: Rule
    comparisons: int
    differed: int = 0


class Kept(msgspec.Struct, array_like=True):
    """A specimen, and the results of its comparisons, by the keys of rules."""

    specimen: Specimen
    comparisons: int = 0
    gaps: dict[int, Gap] = {}

    @property
    def short(self) -> bool:
        """Whether a rule leaves so little of the place that it is worth having although the place is restless: in a
        longer one, the rest may still be restless, like a date beside a clock.
        """
        return len(self.specimen.words) <= 4 * SHORT

    def add(self, gaps: tuple[Rule, ...]) -> None:
        """Counts a comparison in which these gaps differed."""
        self.comparisons += 1
        for gap in self.gaps.values():
            gap.comparisons += 1
        for rule in gaps:
            if rule.key not in self.gaps and len(self.gaps) < MOST_GAPS:
                self.gaps[rule.key] = Gap(rule, self.comparisons)
            if rule.key in self.gaps:
                self.gaps[rule.key].differed += 1


def restless(kept: list[Kept]) -> list[Rule]:
    """The rules of gaps that differ at most reads of all specimens together."""
    found = {}
    for key in {key for one in kept for key in one.gaps}:
        gaps = [one.gaps[key] for one in kept if key in one.gaps]
        comparisons, differed = sum(gap.comparisons for gap in gaps), sum(gap.differed for gap in gaps)
        if comparisons >= LEAST_COMPARISONS and differed >= LEAST_SHARE * comparisons:
            found[key] = gaps[0].rule
    return [found[key] for key in sorted(found)]
