"""Kernels that set the time at which a host is ready (released leases, delays of hosts and of address groups, blocks),
and the counts to which its leases belong: its standing, domain and address.

These kernels change a host's clock; `readiness.py` derives from it whether the host is idle, waiting or ready.
"""

import numpy as np
import numpy.typing as npt

from centime.frontier.readiness import count_leases, settle
from centime.frontier.tables import (
    BLOCKED,
    DOMAIN,
    FOLLOWING,
    GROUP,
    HOST_COUNT,
    IDLE,
    NEXT_TIME,
    OUTSIDE,
    OUTSTANDING,
    PRECEDING,
    STANDING,
    STATE,
    Tables,
)
from centime.model.kernel import Whole, bare_inlined, late_kernel


@bare_inlined
def _set_standing(t: Tables, h: Whole, standing: Whole) -> None:
    """Sets the standing of a host that is not ready."""
    left = np.int64(t.hosts[h, OUTSTANDING])
    count_leases(t, h, -left)
    t.hosts[h, STANDING] = standing
    count_leases(t, h, left)


@bare_inlined
def _release(t: Tables, h: Whole, next_time: float, standing: Whole) -> bool:
    if h < 0 or h >= t.counts[HOST_COUNT] or t.hosts[h, OUTSTANDING] == 0 or np.isnan(next_time):
        return False
    count_leases(t, h, -1)
    t.times[h, NEXT_TIME] = next_time
    settle(t, h)  # removes its queues from the heaps of its old standing
    if standing >= 0:
        _set_standing(t, h, standing)
    return True


@late_kernel(0.5)
def release_host(t: Tables, h: Whole, next_time: float, standing: Whole) -> bool:
    """Ends a lease of a host, which is ready again at `next_time`; False, and nothing changes, if the host has no
    outstanding lease or the time is NaN.
    """
    return _release(t, h, next_time, standing)


@late_kernel(0.5)
def release_hosts(
    t: Tables, hosts: npt.NDArray[np.int64], next_times: npt.NDArray[np.float64], standings: npt.NDArray[np.int64]
) -> Whole:
    """Releases each host in turn; returns how many leases ended before the first that could not."""
    for n in range(len(hosts)):
        if not _release(t, hosts[n], next_times[n], standings[n]):
            return n
    return len(hosts)


@late_kernel(0.5)
def delay_host(t: Tables, h: Whole, next_time: float) -> None:
    """Makes a host ready from `next_time` on."""
    t.times[h, NEXT_TIME] = next_time
    if t.hosts[h, STATE] != IDLE:
        settle(t, h)


@late_kernel(0.5)
def set_block(t: Tables, h: Whole, blocked: Whole) -> None:
    """Blocks a host (1) or ends the block (0)."""
    t.hosts[h, BLOCKED] = blocked
    settle(t, h)


@late_kernel(0.5)
def join_group(t: Tables, h: Whole, group: Whole) -> None:
    """Moves a host to an address group, or to none."""
    left = np.int64(t.hosts[h, OUTSTANDING])
    count_leases(t, h, -left)
    following = t.hosts[h, FOLLOWING]
    preceding = t.hosts[h, PRECEDING]
    if following >= 0:
        t.hosts[following, PRECEDING] = preceding
    if preceding >= 0:
        t.hosts[preceding, FOLLOWING] = following
    elif t.hosts[h, GROUP] >= 0:
        t.groups[t.hosts[h, GROUP]] = following
    t.hosts[h, GROUP] = group
    t.hosts[h, PRECEDING] = OUTSIDE
    t.hosts[h, FOLLOWING] = OUTSIDE
    if group >= 0:
        first = t.groups[group]
        t.hosts[h, FOLLOWING] = first
        if first >= 0:
            t.hosts[first, PRECEDING] = h
        t.groups[group] = h
    count_leases(t, h, left)
    if t.hosts[h, STATE] != IDLE:
        settle(t, h)


@late_kernel(0.5)
def set_standings(t: Tables, standings: npt.NDArray[np.int64]) -> None:
    """Sets the standings of the first hosts."""
    for h in range(len(standings)):
        settle(t, h)
        _set_standing(t, h, standings[h])


@late_kernel(0.5)
def join_domains(t: Tables, first: Whole, domains: npt.NDArray[np.int64]) -> None:
    """Gives each host from `first` on its domain."""
    for n in range(len(domains)):
        left = np.int64(t.hosts[first + n, OUTSTANDING])
        count_leases(t, first + n, -left)
        t.hosts[first + n, DOMAIN] = domains[n]
        count_leases(t, first + n, left)


@late_kernel(0.5)
def delay_group(t: Tables, group: Whole, next_time: float) -> None:
    """Makes the hosts of a group ready from `next_time` on."""
    sooner = next_time < t.group_times[group]
    t.group_times[group] = next_time
    if sooner:
        h = np.int64(t.groups[group])
        while h >= 0:
            if t.hosts[h, STATE] != IDLE:
                settle(t, h)
            h = np.int64(t.hosts[h, FOLLOWING])
