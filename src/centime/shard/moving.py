"""Moves the times in the state of a shard after the clock of the machine was set.

Let L be the latest time that the shard has seen, p the seconds that have truly passed since, and n the time now. A time
t that something waits for becomes

    t                             if t ≤ min(n, L): it has come
    n + max(0, t - L - p)         otherwise: what is left of the wait

Hence no wait becomes longer, and a host that was contacted at a ≤ L and is owed a delay d is contacted no sooner than d
after a. A time at which something happened becomes min(t, n): nothing happens in the future. Times of the past stay as
they are, because it is not known which of them were wrong.
"""

from dataclasses import replace

from centime.shard.message import Clocked
from centime.shard.state import ShardState


def set_clock(state: ShardState, frame: Clocked) -> None:
    """Applies a `Clocked` frame."""
    state.boot, state.ahead = frame.boot, frame.ahead
    if frame.before:
        _move(state, frame)


def _move(state: ShardState, frame: Clocked) -> None:
    def wait(time: float) -> float:
        if time <= min(frame.now, frame.before):
            return time
        return frame.now + max(0.0, time - frame.before - frame.passed)

    for host in state.hosts.all:
        host.next_time = wait(host.next_time)
        until = wait(host.politeness.blocked_until)
        if until != host.politeness.blocked_until:
            host.politeness = replace(host.politeness, blocked_until=until)
    state.placement.move(wait)
    state.refreshing.move(frame.now, wait, state.value)
    state.requests.subscriptions.move(frame.now)
    state.ceilings = [*state.ceilings, (state.pages.records.end, frame.now)]
    state.latest = frame.now
