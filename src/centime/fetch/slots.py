"""A bounded number of slots; callers without one wait in line.

Why not `asyncio.Semaphore`: taking a free slot is a comparison and an addition here, and it happens for every page.
"""

import asyncio
from collections import deque


class Slots:
    """At most `most` requests run at once."""

    __slots__ = ("_line", "most", "taken")

    def __init__(self, most: int) -> None:
        """Slots that are all free."""
        self.most = most
        self.taken = 0
        self._line: deque[asyncio.Future[None]] = deque()

    async def freed(self) -> None:
        """Waits until a slot is released; it may be taken again by then."""
        turn = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._call()  # this waiter was woken: pass the slot on
            raise

    def release(self) -> None:
        """Releases a slot."""
        self.taken -= 1
        if self._line:
            self._call()

    def _call(self) -> None:
        while self._line:
            turn = self._line.popleft()
            if not turn.done():
                turn.set_result(None)
                return
