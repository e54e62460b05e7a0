"""A number of places, taken and given back; who finds none waits in line.

Why not `asyncio.Semaphore`: taking a free place here is a comparison and an addition, and this happens for every page.
"""

import asyncio
from collections import deque


class Slots:
    """So many requests may be under way at once."""

    __slots__ = ("_line", "most", "taken")

    def __init__(self, most: int) -> None:
        """All places free."""
        self.most = most
        self.taken = 0
        self._line: deque[asyncio.Future[None]] = deque()

    async def freed(self) -> None:
        """Come back when a place was given back; it may be gone again."""
        turn = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._call()  # the turn was ours and is passed on
            raise

    def release(self) -> None:
        """Give a place back."""
        self.taken -= 1
        if self._line:
            self._call()

    def _call(self) -> None:
        while self._line:
            turn = self._line.popleft()
            if not turn.done():
                turn.set_result(None)
                return
