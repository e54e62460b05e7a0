"""Who may contact an address, and when: hosts of several partitions may share it.

    alone       one fetcher has an address for TERM seconds, renewed as long as no other requests it
    shared      fetchers hold it in turn, SHARED_TERM seconds each, a GAP apart: clocks of machines differ a little
    later       no lease ends more than a horizon from now; a fetcher whose lease would requests it again later

Leases expire, so none is given back, and a fetcher that dies blocks its addresses only for a moment. They are kept in
memory: a restarted coordinator grants none of an address within the horizon, so all leases of its predecessor have
expired. A term is at least twice the delay of its address: requests must fit into it (`fetch/address_leases.py`).
"""

from centime.fetch.address_leases import AddressLease

TERM = 2.0
SHARED_TERM = 0.5
GAP = 0.05
HORIZON = 4.0  # room for a term and for the turns of some other fetchers
HORIZON_DELAYS = 5.0  # the same in delays of the address
MOST = 100_000  # addresses, after which those whose leases have ended are forgotten

Holder = tuple[int, int, int]  # a partition, its incarnation, and one of its fetchers


class AddressDesk:
    """All leases of addresses; `began` is when a predecessor may have granted its last lease."""

    def __init__(self, began: float = float("-inf")) -> None:
        self._began = began
        self._last: dict[str, tuple[Holder | None, AddressLease]] = {}  # the last lease of each address

    def grant(self, holder: Holder, address: str, delay: float, now: float) -> AddressLease:
        """A lease for the fetcher that requests one; without length if it is to be requested again at its start."""
        horizon = max(HORIZON, HORIZON_DELAYS * delay)
        before, last = self._last.get(address, (None, AddressLease(0.0, self._began + horizon)))
        if before == holder and last.end > now:  # it is renewed: no other fetcher waits
            lease = AddressLease(
                last.start, max(last.end, min(max(now, last.start) + _term(TERM, delay), now + horizon))
            )
        elif last.end + GAP <= now:
            lease = AddressLease(now, now + _term(TERM, delay))
        else:
            start = max(now, last.end + GAP)
            lease = AddressLease(start, start + _term(SHARED_TERM, delay))
        if lease.end > now + horizon:
            again = lease.end - horizon
            return AddressLease(again, again)
        self._last[address] = holder, lease
        if len(self._last) > MOST:
            self._last = {name: one for name, one in self._last.items() if one[1].end + GAP > now}
        return lease


def _term(seconds: float, delay: float) -> float:
    return max(seconds, 2 * delay)
