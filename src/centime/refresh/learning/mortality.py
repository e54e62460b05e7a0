"""How often pages go away: a rate of deaths that all pages of a crawl share, for plans.

A read that finds a page shows that it has lived since its last read; one that finds it gone shows that it died within
that interval. With D deaths, L the sum of the first intervals and G that of the others, the rate of largest likelihood
of D deaths in the middle of their intervals is

    δ = D / (L + G/2)

Trap: a page that is found again was not dead. Its death is no longer counted.
"""

import msgspec


class Mortality(msgspec.Struct, array_like=True):
    """The deaths that were seen, and the time for which pages were seen to live."""

    deaths: float = 0.0
    seconds: float = 0.0

    def lived(self, seconds: float) -> None:
        """Counts the time since the last reads of pages that were found again; for many pages, the sum."""
        self.seconds += seconds

    def died(self, seconds: float, pages: int = 1) -> None:
        """Counts pages that were found gone, and the sum of the times since their last reads."""
        self.deaths += pages
        self.seconds += seconds / 2.0

    def returned(self) -> None:
        """Uncounts the death of a page that is there again."""
        self.deaths = max(0.0, self.deaths - 1.0)

    @property
    def rate(self) -> float:
        """Deaths per page and second; 0 if none was seen."""
        return self.deaths / self.seconds if self.seconds > 0.0 else 0.0
