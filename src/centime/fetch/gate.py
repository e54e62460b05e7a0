"""Keeps requests to one key (a host, an address) at least a delay apart.

Law: if a request of a key starts at s and is answered at a, and both are reported (`hold` until s + delay, until a +
delay), then `free_at` is max(s, a) + delay, and the next request that waits for it starts no earlier. Time is an
argument. A key whose time has passed carries no information and is forgotten, so that memory is bounded by the number
of keys with a request during the longest delay.
"""


class Gate:
    """The time from which each key is ready again."""

    def __init__(self) -> None:
        """A gate at which every key is ready."""
        self._free: dict[str, float] = {}
        self._sweep_at = 4096

    def __len__(self) -> int:
        """The number of remembered keys."""
        return len(self._free)

    def free_at(self, key: str) -> float:
        """The time from which the key is ready; minus infinity if nothing is known about it."""
        return self._free.get(key, float("-inf"))

    def hold(self, key: str, until: float, now: float) -> None:
        """Makes the key wait until `until`; an earlier time never replaces a later one."""
        if until <= now:
            return
        self._free[key] = max(until, self.free_at(key))
        if len(self._free) > self._sweep_at:
            self._free = {key: free for key, free in self._free.items() if free > now}
            self._sweep_at = max(4096, 2 * len(self._free))
