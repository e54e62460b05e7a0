"""A token bucket for the rate of pages or bytes.

    level <- min(room, level + rate * time passed) - spent

The level can fall below 0 (a page is larger than expected); then nothing is allowed until it is above 0 again. So over
any stretch of time, at most rate * time + room is spent.
"""


class Bucket:
    """One budget; without a rate it is unlimited."""

    def __init__(self, rate: float | None, now: float, *, room_seconds: float = 1.0) -> None:
        self._room_seconds = room_seconds
        self._level = 1.0 if rate else 0.0
        self._at = now
        self._set(rate)

    def change(self, rate: float | None, now: float) -> None:
        """Changes the rate from now on."""
        if rate != self.rate:
            self._level = min(self.left(now), 1.0) if self.rate else 1.0
            self._at = now
            self._set(rate)

    def _set(self, rate: float | None) -> None:
        self.rate = rate
        self._room = max(1.0, rate * self._room_seconds) if rate else 0.0

    def left(self, now: float) -> float:
        """The amount that can be spent now."""
        if self.rate is None:
            return float("inf")
        self._level = min(self._room, self._level + self.rate * max(0.0, now - self._at))
        self._at = now
        return self._level

    def spend(self, amount: float) -> None:
        """Subtracts what was spent."""
        self._level -= amount

    def wait(self, amount: float = 1.0) -> float:
        """Seconds from the last call of `left` until `amount` can be spent."""
        return 0.0 if self.rate is None else max(0.0, (min(amount, self._room) - self._level) / self.rate)
