"""The other partitions of a crawl, as the engine of one sees them. A crawl in one folder has none.

A partition is a crawl with a channel: its engine runs like that of any crawl, and in each turn it calls its peers to
receive, apply and send. The coordinator decides when all partitions end, and how many pages each may visit.
"""

from typing import Protocol


class Peers(Protocol):
    """What the engine of a partition needs from the others in each turn."""

    @property
    def ending(self) -> str:
        """Why this run must end, in words; empty if it need not."""
        ...

    @property
    def hurries(self) -> bool:
        """Whether others wait for frames that are not synced yet."""
        ...

    @property
    def stored(self) -> float:
        """All frames before this one are also stored elsewhere, as far as that is required before a host is
        contacted."""
        ...

    @property
    def certified(self) -> float | None:
        """The certified error of all partitions together, as far as it is known."""
        ...

    def pages_left(self, used: int) -> float:
        """How many more pages may be leased if `used` were visited or are leased."""
        ...

    def request_addresses(self, fetcher: int, addresses: dict[str, float]) -> None:
        """A fetcher requests addresses, with their delays; it contacts only those that it is granted."""
        ...

    def wait(self, seconds: float) -> None:
        """Waits for this many seconds, or until there is a message."""
        ...

    def turn(self, now: float, *, synced: bool) -> None:
        """Receives, applies and sends; `synced` says that all frames are on the disk."""
        ...

    def settle(self) -> None:
        """Pays debts together with the others, until all have finished."""
        ...
