"""A server in front of the window: what its headers say about a request, of which only its own words are believed.

A proxy appends the address of whoever connected to it to X-Forwarded-For. Everything before the last address was there
when the request came and may be invented. Without `--behind-proxy` the headers are not looked at.
"""

import ipaddress

from starlette.datastructures import Headers
from starlette.types import Scope


def forwarded(scope: Scope) -> Scope:
    """The request as the proxy received it: the address of its client, and whether that one spoke TLS."""
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
