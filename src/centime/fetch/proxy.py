"""HTTP proxies: which requests go through one, and the tunnel through it to a server with TLS.

    http://page      the proxy gets the request with its whole URL, and contacts the server itself
    https://page     CONNECT makes a tunnel, and TLS with the server goes through it: the proxy sees the host alone

The proxy is chosen by a person and may be at any address. It resolves the names of hosts and connects to them, so the
guard cannot judge the addresses that it reaches: with a proxy, the guard refuses only URLs whose host is an address or
has a fixed one, such as localhost (`Resolver.fixed`). The proxy must refuse all other forbidden addresses.
"""

import asyncio
import base64
import ipaddress
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from centime.fetch.failure import BadAnswer, NoTunnel
from centime.model.errors import BadSetting

MOST_HEAD_BYTES = 16 * 1024
DIRECT = "direct"

Made = TypeVar("Made", bound=asyncio.BaseProtocol)


@dataclass(frozen=True, slots=True)
class Proxy:
    """The address of a proxy, and the header line that authorizes us."""

    host: str
    port: int
    line: str = ""

    @classmethod
    def of(cls, url: str) -> "Proxy":
        """The proxy at a URL; BadSetting if it is not the URL of an HTTP proxy. The message has no password in it."""
        try:
            parts = urlsplit(url if "://" in url else f"http://{url}")
            port = parts.port or 80
        except ValueError:
            raise BadSetting("a proxy is http://HOST:PORT or http://USER:PASSWORD@HOST:PORT") from None
        further = parts.path.strip("/") or parts.query or parts.fragment
        if parts.scheme != "http" or not parts.hostname or further or not url.isprintable() or " " in url:
            raise BadSetting("a proxy is http://HOST:PORT or http://USER:PASSWORD@HOST:PORT, without TLS")
        line = ""
        if parts.username is not None:
            known = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            line = f"Proxy-Authorization: Basic {base64.b64encode(known.encode()).decode()}\r\n"
        return cls(parts.hostname, port, line)


class Proxies:
    """Chooses the proxy of a host."""

    def __init__(self, by_scheme: Iterable[tuple[str, str]] = (), bypassed: str = "") -> None:
        """The URLs of proxies for http and https, and the hosts that are contacted directly, as in NO_PROXY."""
        self._by_scheme = {scheme: Proxy.of(url) for scheme, url in by_scheme}
        self._bypassed = tuple(filter(None, (entry.strip().lower() for entry in bypassed.split(","))))
        self.of = lru_cache(maxsize=65_536)(self._choose)

    def __bool__(self) -> bool:
        """Whether there is any proxy."""
        return bool(self._by_scheme)

    def _choose(self, host: str) -> Proxy | None:
        """The proxy of a host, or None."""
        scheme, _, authority = host.partition("://")
        proxy = self._by_scheme.get(scheme)
        return None if any(_is_under(authority, entry) for entry in self._bypassed) else proxy


def _is_under(authority: str, entry: str) -> bool:
    """Whether an entry of NO_PROXY names a host: *, a name and all below it, an address or a network, each with or
    without a port.
    """
    name, port = _split(authority)
    wanted, wanted_port = _split(entry)
    if wanted_port and wanted_port != port:
        return False
    try:
        return ipaddress.ip_address(name.strip("[]")) in ipaddress.ip_network(wanted.strip("[]"), strict=False)
    except ValueError:  # one of them is a name
        return wanted == "*" or name == wanted.lstrip(".") or name.endswith(f".{wanted.lstrip('.')}")


def _split(authority: str) -> tuple[str, str]:
    """A name or address, and its port, empty if it has none."""
    name, colon, port = authority.rpartition(":")
    has_port = colon and port.isdigit() and (":" not in name or name.endswith("]"))
    return (name, port) if has_port else (authority, "")


class _Asking(asyncio.Protocol):
    """A connection to a proxy that waits for the answer to CONNECT."""

    def __init__(self) -> None:
        self.head: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._received = b""

    def data_received(self, data: bytes) -> None:
        """Reads the head of the answer."""
        self._received += data
        if self.head.done():
            return
        if b"\r\n\r\n" in self._received:
            self.head.set_result(self._received)
        elif len(self._received) > MOST_HEAD_BYTES:
            self.head.set_exception(BadAnswer("the headers of the proxy are too large"))

    def connection_lost(self, exc: Exception | None) -> None:
        """The proxy is gone."""
        if not self.head.done():
            self.head.set_exception(NoTunnel("the proxy closed the connection without an answer"))


async def open_tunnel(
    proxy: Proxy, authority: str, make: Callable[[], Made], context: ssl.SSLContext, name: str
) -> Made:
    """A connection with TLS to a server behind a proxy; NoTunnel says why there is none.

    Trap: a StreamWriter closes its transport when it is collected, so streams cannot be used here.
    """
    loop = asyncio.get_running_loop()
    plain, asking = await loop.create_connection(_Asking, proxy.host, proxy.port)
    try:
        plain.write(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{proxy.line}\r\n".encode())
        version, _, rest = (await asking.head).partition(b"\r\n")[0].partition(b" ")
        if not version.startswith(b"HTTP/1.") or not rest.startswith(b"2"):
            raise NoTunnel(f"the proxy answered {rest.decode('latin-1')!r}")
        connection = make()
        transport = await loop.start_tls(plain, connection, context, server_hostname=name)
        if transport is None:
            raise NoTunnel("the proxy closed the connection")
        connection.connection_made(transport)
        return connection
    except BaseException:
        plain.abort()
        raise
