"""A proxy in front of the window: its headers describe a request; only the part that the proxy itself has written is
trusted.

A proxy appends the address of its client to X-Forwarded-For. Everything before the last address was sent by the client
and may be invented. Without `--behind-proxy` these headers are ignored.
"""

import ipaddress

from starlette.datastructures import Headers
from starlette.types import Scope


def forwarded(scope: Scope) -> Scope:
    """The request as the proxy received it: the address of its client, and whether the client used TLS."""
    headers = Headers(scope=scope)
    found = dict(scope)
    hops = headers.getlist("x-forwarded-for")
    try:
        address = ipaddress.ip_address(hops[-1].rpartition(",")[2].strip()) if hops else None
    except ValueError:  # then it is the address of the proxy
        address = None
    if address is not None:
        found["client"] = (str(address), 0)
    if headers.getlist("x-forwarded-proto")[-1:] in (["https"], ["HTTPS"]):
        found["scheme"] = "https"
    return found
