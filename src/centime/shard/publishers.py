"""Who announces changes, and what their word proved to be worth.

A publisher is whoever gave a name with a publication; without one it is the host of the pages (its sitemaps and feeds).
What it announces is read before what is due by itself (level 2) while its credit is LEAST_CREDIT or more; who announces
changes that are none falls below, and then its word moves little until pages that it named prove it right again. Of
very many pages announced at once a sample is judged, and for each that was, as many as it stands for are taken off what
is not looked at yet.
"""

import msgspec
import numpy as np
import numpy.typing as npt

from centime.refresh.credit import STRANGER, Credit, claimed, credit, verified

LEAST_CREDIT = 0.25  # a stranger falls below it with its third lie
JUDGED_AT_ONCE = 500  # of the pages of one publication so many, evenly spread, are remembered to be judged
MOST_JUDGED = 50_000  # pages whose announcement waits to be judged
PATIENCE = 500  # announcements not looked at yet, after which more of the same publisher count half

_Packed = tuple[dict[str, Credit], dict[int, tuple[str, int]]]


class Publishers:
    """The credit of all publishers."""

    def __init__(self) -> None:
        self._credits: dict[str, Credit] = {}
        self._announced: dict[int, tuple[str, int]] = {}  # page -> who announced it, and how many pages it stands for

    def credit(self, name: str) -> float:
        """The share of right announcements that is to be expected."""
        return credit(self._credits.get(name, STRANGER))

    def is_believed(self, name: str) -> bool:
        """Whether what it announces is read before its time."""
        return self.credit(name) >= LEAST_CREDIT

    def announce(self, name: str, pages: list[int]) -> None:
        """Remembers who announced pages, so that reading them can tell whether it was true."""
        self._credits[name] = claimed(self._credits.get(name, STRANGER), len(pages))
        each = 1 + len(pages) // JUDGED_AT_ONCE
        for page in pages[::each][: max(0, MOST_JUDGED - len(self._announced))]:
            self._looked_at(page)  # of two who announced the same page the last is judged
            self._announced[page] = (name, each)

    def weight(self, name: str, count: int) -> npt.NDArray[np.float64]:
        """What importance counts for in so many pages that a publisher announces now: less with little credit, and less
        the more it has announced before that nobody has looked at, so that a flood of one does not drown the others.
        """
        source = self._credits.get(name, STRANGER)
        return credit(source) * PATIENCE / (PATIENCE + source.claimed + np.arange(count, dtype=np.float64))

    def has_announced(self, page: int) -> bool:
        """Whether somebody announced a page that was not read since."""
        return page in self._announced

    def judge(self, page: int, right: bool) -> None:
        """A page was read: whoever announced it was right if it had changed or was new."""
        name = self._looked_at(page)
        if name:
            self._credits[name] = verified(self._credits[name], right)

    def _looked_at(self, page: int) -> str:
        """Takes a page off what waits to be judged, with those that it stands for; whoever announced it, nobody if
        it does not wait.
        """
        name, each = self._announced.pop(page, ("", 0))
        if name:
            source = self._credits[name]
            self._credits[name] = source._replace(claimed=max(0, source.claimed - each))
        return name

    def facts(self) -> dict[str, dict[str, float]]:
        """What people want to see of each."""
        return {
            name: {"credit": credit(one), "right": one.right, "wrong": one.wrong, "not_looked_at": one.claimed}
            for name, one in self._credits.items()
        }

    def state(self) -> bytes:
        """All of it, for a snapshot."""
        return msgspec.msgpack.encode((self._credits, self._announced))

    @classmethod
    def from_state(cls, state: bytes) -> "Publishers":
        """The publishers of a snapshot."""
        made = cls()
        made._credits, made._announced = msgspec.msgpack.decode(state, type=_Packed)
        return made
