"""Publishers: who announces changes, and how reliable their announcements were.

A publisher is the name given with a publication; without a name, and for sitemaps and feeds, it is the host. While its
credit is LEAST_CREDIT or more, the pages it announces are fetched before pages that are due by themselves (level 2).
Announcing changes that did not happen lowers the credit; below LEAST_CREDIT, announcements have little effect until
visits confirm enough of them. Of many pages announced at once a sample is judged: each page of the sample stands for
several announcements, which are verified with it.
"""

import msgspec
import numpy as np
import numpy.typing as npt

from centime.model.ids import PageId
from centime.refresh.learning.credit import STRANGER, Credit, claimed, credit, verified

LEAST_CREDIT = 0.25  # an unknown publisher falls below it with its third wrong announcement
JUDGED_AT_ONCE = 500  # pages of one publication, evenly spread, that are remembered to be judged
MOST_JUDGED = 50_000  # pages whose announcement waits to be judged, at most
MOST_PUBLISHERS = 65_536  # whose credit is remembered; the one that announced first is forgotten first
PATIENCE = 500  # unverified announcements, after which further ones of the same publisher count half

_Packed = tuple[dict[str, Credit], dict[PageId, tuple[str, int]]]


class Publishers:
    """The credit of all publishers."""

    def __init__(self) -> None:
        self._credits: dict[str, Credit] = {}
        self._announced: dict[PageId, tuple[str, int]] = {}  # page -> its publisher, and how many pages it stands for

    def credit(self, name: str) -> float:
        """The expected share of right announcements."""
        return credit(self._credits.get(name, STRANGER))

    def is_trusted(self, name: str) -> bool:
        """Whether the pages that a publisher announces are fetched early."""
        return self.credit(name) >= LEAST_CREDIT

    def announce(self, name: str, pages: list[PageId]) -> None:
        """Remembers the publisher of pages, so that visits can verify the announcement."""
        if name not in self._credits and len(self._credits) >= MOST_PUBLISHERS:
            del self._credits[next(iter(self._credits))]  # if it returns, it is unknown again
        self._credits[name] = claimed(self._credits.get(name, STRANGER), len(pages))
        each = 1 + len(pages) // JUDGED_AT_ONCE
        for page in pages[::each][: max(0, MOST_JUDGED - len(self._announced))]:
            self._take(page)  # if two publishers announced the same page, the last one is judged
            self._announced[page] = (name, each)

    def weight(self, name: str, count: int) -> npt.NDArray[np.float64]:
        """The factor on the importance of each of `count` pages that a publisher announces now.

        It falls with the credit, and with the number of earlier announcements that are not verified yet, so that one
        publisher with a flood of announcements does not displace the others.
        """
        source = self._credits.get(name, STRANGER)
        return credit(source) * PATIENCE / (PATIENCE + source.claimed + np.arange(count, dtype=np.float64))

    def announced(self) -> npt.NDArray[np.int64]:
        """The pages that were announced and not read since."""
        return np.fromiter(self._announced, dtype=np.int64, count=len(self._announced))

    def has_announced(self, page: PageId) -> bool:
        """Whether a page was announced and not read since."""
        return page in self._announced

    def judge(self, page: PageId, right: bool) -> None:
        """Judges the publisher of a page that was visited: it was right if the page had changed or was new."""
        name = self._take(page)
        if name in self._credits:
            self._credits[name] = verified(self._credits[name], right)

    def _take(self, page: PageId) -> str:
        """Removes a page from those that wait to be judged, with the announcements that it stands for; returns its
        publisher, or "" if it does not wait.
        """
        name, each = self._announced.pop(page, ("", 0))
        if name in self._credits:
            source = self._credits[name]
            self._credits[name] = source._replace(claimed=max(0, source.claimed - each))
        return name

    def facts(self) -> dict[str, dict[str, float]]:
        """The credit and the counts of each publisher, for reports."""
        return {
            name: {"credit": credit(one), "right": one.right, "wrong": one.wrong, "unverified": one.claimed}
            for name, one in self._credits.items()
        }

    def state(self) -> bytes:
        """All publishers, packed for a snapshot."""
        return msgspec.msgpack.encode((self._credits, self._announced))

    @classmethod
    def from_state(cls, state: bytes) -> "Publishers":
        """The publishers of a snapshot."""
        made = cls()
        made._credits, made._announced = msgspec.msgpack.decode(state, type=_Packed)
        return made
