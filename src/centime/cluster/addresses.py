"""Who may contact an address, and when: hosts of several partitions may share it.

    alone       one fetcher has an address for TERM seconds, renewed as long as no other requests it
    shared      fetchers have it in turn, SHARED_TERM seconds each, a GAP apart: clocks of machines differ a little

Leases expire, so none is given back, and a fetcher that dies blocks its addresses only for a moment. They are kept in
memory: a restarted coordinator grants none before the leases of its predecessor have expired. A term is at least twice
the delay of its address: requests must fit into it (`fetch/address_leases.py`).
"""

from centime.fetch.address_leases import AddressLease

TERM = 2.0
SHARED_TERM = 0.5
GAP = 0.05
MOST = 100_000  # addresses, after which those whose leases have ended are forgotten

Holder = tuple[int, int, int]  # a partition, its incarnation, and one of its fetchers


class AddressDesk:
    """All leases of addresses; `free_from` is when the first one may begin."""

    def __init__(self, free_from: float) -> None:
        self._free_from = free_from
        self._last: dict[str, tuple[Holder | None, AddressLease]] = {}  # the last lease of each address

    def grant(self, holder: Holder, address: str, delay: float, now: float) -> AddressLease:
        """A lease for the fetcher that requests one."""
        before, last = self._last.get(address, (None, AddressLease(0.0, self._free_from - GAP)))
        if before == holder and last.end > now:  # it is renewed: no other fetcher waits
            lease = AddressLease(last.start, max(last.end, max(now, last.start) + _term(TERM, delay)))
        elif last.end + GAP <= now:
            lease = AddressLease(now, now + _term(TERM, delay))
        else:
            start = max(now, last.end + GAP)
            lease = AddressLease(start, start + _term(SHARED_TERM, delay))
        self._last[address] = holder, lease
        if len(self._last) > MOST:
            self._last = {name: one for name, one in self._last.items() if one[1].end + GAP > now}
        return lease


def _term(seconds: float, delay: float) -> float:
    return max(seconds, 2 * delay)
