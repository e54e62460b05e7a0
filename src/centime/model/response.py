"""Requests to the network and the responses to them, as values."""

from dataclasses import dataclass

from centime.model.outcome import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One page to fetch; `url` is canonical."""

    url: str
    etag: str = ""  # of the stored copy, for a conditional request; empty if there is none
    modified: str = ""  # the Last-Modified of that copy, as the server wrote it
    cookie: str = ""  # the value of the Cookie header
    patience: float = 0.0  # seconds to wait for a connection, and for the head of the answer; 0 for the settings' own
    most_bytes: int = 0  # of the body, decompressed; 0 for the settings' own


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The result of a request, successful or not; `outcome` says which."""

    url: str
    outcome: Outcome
    status: int = 0  # 0 if there was no HTTP response
    headers: tuple[tuple[str, str], ...] = ()  # names in lower case, in the order received, repeated ones kept
    body: bytes = b""  # decompressed, cut at the size limit
    truncated: bool = False  # the body was longer than the limit
    target: str = ""  # the Location of a redirect, resolved against the URL by WHATWG rules; not canonical
    address: str = ""  # the peer's address, "" if no peer was reached
    # Seconds since the epoch: when the server answered, or when the attempt failed. The politeness delay starts here.
    asked_at: float = 0.0
    seconds: float = 0.0  # from the request to the first byte of the response
    held: float = 0.0  # seconds for which the host kept us waiting, robots.txt included, until the last byte
    wire_bytes: int = 0  # bytes received, before decompression
    crawl_delay: float = 0.0  # of robots.txt, 0 if absent
    retry_after: float = 0.0  # of the response, 0 if absent
    sitemaps: tuple[str, ...] = ()  # that robots.txt names, as written, if it was fetched for this request
    elsewhere: tuple[tuple[str, float], ...] = ()  # other hosts that were contacted on the way, each with the last time
    detail: str = ""  # one sentence about a failure
    request_head: bytes = b""  # as sent, for the archive; empty unless requested
    response_head: bytes = b""

    def header(self, name: str) -> str:
        """The first value of a header, or ""."""
        return next((value for key, value in self.headers if key == name), "")

    @property
    def content_type(self) -> str:
        """All values of Content-Type, separated by commas: `model/media_type.py` says which of them counts."""
        return ", ".join(value for key, value in self.headers if key == "content-type")
