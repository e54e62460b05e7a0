"""Requests to one key (a host, an address) are kept at least a delay apart.

Law: if a request of a key starts at s and is answered at a, and both are told here (`hold` until s + delay, until a +
delay), then `free_at` is max(s, a) + delay, and the next one that waits for it starts no earlier. Time is an argument.
A key whose time has passed says nothing any more and is forgotten, so that the memory stays bounded by the number of
keys that were asked during the longest delay.
"""


class Gate:
    """When each key may be asked again."""

    def __init__(self) -> None:
        """A gate at which nobody has been yet."""
        self._free: dict[str, float] = {}
        self._sweep_at = 4096

    def __len__(self) -> int:
        """How many keys are remembered."""
        return len(self._free)

    def free_at(self, key: str) -> float:
        """When the key may be asked again; the beginning of time if nothing is known against it."""
        return self._free.get(key, float("-inf"))

    def hold(self, key: str, until: float, now: float) -> None:
        """Let nobody ask the key before `until`; an earlier word never shortens a later one."""
        if until <= now:
            return
        self._free[key] = max(until, self.free_at(key))
        if len(self._free) > self._sweep_at:
            self._free = {key: free for key, free in self._free.items() if free > now}
            self._sweep_at = max(4096, 2 * len(self._free))
