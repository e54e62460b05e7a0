"""Who announces changes, and what their word proved to be worth.

A publisher is whoever gave a name with a publication; without one it is the host of the pages (its sitemaps and feeds). What it announces
is read before what is due by itself (level 2) while its credit is LEAST_CREDIT or more; who announces changes that are none falls below,
and then its word moves nothing until pages that it named prove it right again. Of very many pages announced at once a sample is judged.
"""

import msgspec

from centime.schedule.credit import STRANGER, Credit, credit, told, verified

LEAST_CREDIT = 0.25  # a stranger falls below it with its third lie
MOST_JUDGED = 20_000  # pages whose announcement waits to be judged

_Packed = tuple[dict[str, Credit], dict[int, str]]


class Publishers:
    """The credit of all publishers."""

    def __init__(self) -> None:
        self._credits: dict[str, Credit] = {}
        self._announced: dict[int, str] = {}  # page -> who announced it

    def credit(self, name: str) -> float:
        """The share of right announcements that is to be expected."""
        return credit(self._credits.get(name, STRANGER))

    def is_heard(self, name: str) -> bool:
        """Whether what it announces is read before its time."""
        return self.credit(name) >= LEAST_CREDIT

    def announce(self, name: str, pages: list[int]) -> None:
        """Remembers who announced pages, so that reading them can tell whether it was true."""
        self._credits[name] = told(self._credits.get(name, STRANGER), len(pages))
        for page in pages[: max(0, MOST_JUDGED - len(self._announced))]:
            self._announced[page] = name

    def has_announced(self, page: int) -> bool:
        """Whether somebody announced a page that was not read since."""
        return page in self._announced

    def judge(self, page: int, right: bool) -> None:
        """A page was read: whoever announced it was right if it had changed or was new."""
        name = self._announced.pop(page, None)
        if name is not None:
            self._credits[name] = verified(self._credits.get(name, STRANGER), right)

    def facts(self) -> dict[str, dict[str, float]]:
        """What people want to see of each."""
        return {
            name: {"credit": credit(one), "right": one.right, "wrong": one.wrong, "not_looked_at": one.told}
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
