"""Decides which addresses may be connected to: the public ones, and those that the person in charge allows.

A page can name any host, and a name can resolve to any address, so a crawler is a way into the network it runs in
unless every address is judged. The address that is connected to is judged, after DNS, so that no name and no second
DNS answer gets around it. Behind a proxy that is the proxy's task (`proxy.py` says what is left to the guard).

An IPv6 address that carries an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo) leads to that one and is judged
by it too. Trap: `ipaddress.is_global` differs between releases of Python and does not look into all of these, hence
the networks below, from the special-purpose registries of IANA.
"""

import ipaddress
from collections.abc import Iterable
from functools import lru_cache

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_CLOSED_4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local, where clouds keep their metadata
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_OPEN_6 = ipaddress.IPv6Network("2000::/3")  # all global unicast addresses that IANA has assigned
_CLOSED_6 = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",
        "3fff::/20",
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")


class Guard:
    """Judges addresses; the verdict on an address never changes."""

    def __init__(self, allow_networks: Iterable[str] = ()) -> None:
        """A guard that allows the public addresses and those of `allow_networks`."""
        self._allowed = tuple(ipaddress.ip_network(network, strict=False) for network in allow_networks)
        self.allows = lru_cache(maxsize=65_536)(self._judge)

    def _judge(self, address: str) -> bool:
        """Whether the address is allowed; text that is not an address is refused."""
        try:
            known = ipaddress.ip_address(address)
        except ValueError:
            return False
        return self._open(known)

    def _open(self, address: _Address) -> bool:
        if any(address in network for network in self._allowed):
            return True
        if isinstance(address, ipaddress.IPv4Address):
            return not any(address in network for network in _CLOSED_4)
        if address.scope_id is not None:
            return False
        carried = _carried(address)
        if carried:
            return all(self._open(inner) for inner in carried)
        return address in _OPEN_6 and not any(address in network for network in _CLOSED_6)


@lru_cache(maxsize=65_536)
def is_loopback(address: str) -> bool:
    """Whether the address is this machine, in any notation."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = known.ipv4_mapped if isinstance(known, ipaddress.IPv6Address) else None
    return (mapped or known).is_loopback


def literal(host: str) -> str:
    """The address in a URL's host, without brackets; empty if the host is a name."""
    if host.startswith("["):
        return host[1:-1]
    # WHATWG: a host whose last label is a number is an IPv4 address, written as four decimal numbers.
    return host if host[-1:].isdigit() and host.replace(".", "").isdigit() else ""


def _carried(address: ipaddress.IPv6Address) -> tuple[ipaddress.IPv4Address, ...]:
    """The IPv4 addresses at which a packet to this IPv6 address ends or which it passes."""
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):  # :: and ::1 carry none
        return (ipaddress.IPv4Address(int(address) & 0xFFFFFFFF),)
    return ()
