"""How many versions of a page are kept.

A rule says what is kept at least: a number of the newest versions, or every version that the page had within a time.
The newest version is always kept.
"""

from dataclasses import dataclass

SLACK = 4  # up to a quarter more versions may be there, so that not every new version causes pruning
MOST_SLACK = 32


@dataclass(frozen=True, slots=True)
class Retention:
    """The versions of a page that are kept: the newest `most`, or those of the last `seconds`; all without both."""

    most: int | None = None
    seconds: float | None = None

    @property
    def all(self) -> bool:
        """Whether nothing is ever removed."""
        return self.most is None and self.seconds is None

    def first_kept(self, replaced: list[tuple[int, float]], newest: int, now: float) -> int:
        """The number of the oldest version that is kept. `replaced` has the number of each version but the newest,
        oldest first, and when the next one came.
        """
        if self.most is not None:
            return max(newest - self.most + 1, 1)
        if self.seconds is not None:
            return next((number for number, until in replaced if until > now - self.seconds), newest)
        return 1

    def slack(self) -> int:
        """The number of surplus versions before some are removed."""
        return 1 if self.most is None else min(max(1, self.most // SLACK), MOST_SLACK)


EVERYTHING = Retention()
