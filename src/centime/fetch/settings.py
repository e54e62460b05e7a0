"""The settings of fetching; the defaults are right for a polite crawl of the public web."""

import ipaddress
import re
import ssl
from dataclasses import dataclass
from typing import Self

from centime.model.errors import BadSetting

_PRODUCT = re.compile(r"[A-Za-z0-9_-]+")
_COMPATIBLE = re.compile(r"compatible;\s*([A-Za-z0-9_-]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    """How pages are fetched, and the limits on what is received."""

    user_agent: str = "centime/0.1 (no contact given)"
    allow_networks: tuple[str, ...] = ()  # CIDRs of private addresses that may be fetched from
    resolve: tuple[tuple[str, str], ...] = ()  # (name or "*.suffix", address), before DNS
    delay_seconds: float = 1.0  # between two requests to one host
    address_delay_seconds: float | None = None  # between two requests to one address, whatever the hosts; None: usual
    most_crawl_delay_seconds: float = 60.0  # a longer Crawl-delay counts as this
    most_body_bytes: int = 10 * 1024 * 1024  # decompressed
    most_header_bytes: int = 64 * 1024
    total_seconds: float = 120.0  # of one request, from its start to the last byte of the body
    connect_seconds: float = 10.0  # DNS, TCP and TLS together
    first_byte_seconds: float = 20.0  # from the sent request to the complete head of the answer
    least_bytes_per_second: float = 100.0  # a slower body is given up once the grace is over
    slow_grace_seconds: float = 10.0
    connections: int = 512  # in use at once; as many again may be kept open
    keep_alive_seconds: float = 15.0
    robots_seconds: float = 24 * 3600.0  # how long robots.txt is cached
    robots_retry_seconds: float = 600.0  # after server errors, until it is fetched again, at most
    keep_heads: bool = False  # return heads and raw body, for the archive
    keep_errors: bool = False  # return the bodies of redirects and errors too
    header_lines: tuple[tuple[str, str], ...] = ()  # (host or "" for all, whole line); those of a host are secrets
    proxies: tuple[tuple[str, str], ...] = ()  # (http or https, URL)
    no_proxy: str = ""  # hosts that are contacted directly, as in NO_PROXY
    ca_file: str = ""  # certificates of further authorities
    insecure: bool = False  # certificates are not verified

    def check(self) -> Self:
        """These settings; BadSetting if they are new and invalid. Those of a journal are not checked again."""
        for name in (
            "delay_seconds",
            "address_delay_seconds",
            "most_crawl_delay_seconds",
            "least_bytes_per_second",
            "slow_grace_seconds",
        ):
            if not 0 <= (getattr(self, name) or 0) < float("inf"):
                raise BadSetting(f"{name} must be a number from 0, not {getattr(self, name)}")
        positive = (
            "total_seconds",
            "connect_seconds",
            "first_byte_seconds",
            "keep_alive_seconds",
            "robots_seconds",
            "robots_retry_seconds",
        )
        for name in (*positive, "most_body_bytes", "most_header_bytes", "connections"):
            if not 0 < getattr(self, name) < float("inf"):
                raise BadSetting(f"{name} must be above 0, not {getattr(self, name)}")
        if not self.product or not self.user_agent.isprintable() or not self.user_agent.isascii():
            raise BadSetting(f"user_agent must be one line that starts with the robot's name, not {self.user_agent!r}")
        for network in self.allow_networks:
            try:
                ipaddress.ip_network(network, strict=False)
            except ValueError:
                raise BadSetting(f"allow-network: {network!r} is not a network such as 10.0.0.0/8") from None
        for name, address in self.resolve:
            try:
                ipaddress.ip_address(address)
            except ValueError:
                raise BadSetting(
                    f"resolve: {address!r}, given for {name!r}, is not an address such as 127.0.0.1"
                ) from None
        if self.ca_file:
            self.tls_context()
        return self

    def tls_context(self) -> ssl.SSLContext:
        """How servers are verified; BadSetting if the certificates cannot be read."""
        context = ssl.create_default_context()
        if self.ca_file:
            try:
                context.load_verify_locations(self.ca_file)
            except (OSError, ssl.SSLError) as error:
                raise BadSetting(f"ca-file: {self.ca_file} holds no certificates that can be read: {error}") from None
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    @property
    def product(self) -> str:
        """Our name in robots.txt: the product token of the user agent, in lower case."""
        found = _COMPATIBLE.search(self.user_agent) or _PRODUCT.match(self.user_agent)
        return found[found.lastindex or 0].lower() if found else ""
