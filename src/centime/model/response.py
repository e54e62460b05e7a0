"""What is asked of the network and what comes back, as values."""

from dataclasses import dataclass, field

from centime.model.outcome import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One page to be asked for; `url` is canonical."""

    url: str
    etag: str = ""  # of the copy we have, for a conditional request; empty without one
    modified: str = ""  # its Last-Modified, as the server wrote it


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What came back, whatever it was; `outcome` says how to take it."""

    url: str
    outcome: Outcome
    status: int = 0  # 0 when there was no HTTP answer
    headers: tuple[tuple[str, str], ...] = ()  # names in lower case, in the order received, repeated ones kept
    body: bytes = b""  # decompressed, at most the limit
    truncated: bool = False  # the body was longer than the limit
    target: str = (
        ""  # where a redirect leads, as the server wrote it, resolved against the URL by WHATWG; not canonical
    )
    address: str = ""  # the peer's address, "" when none was reached
    # seconds since the epoch: when the server answered, or when the attempt was given up. Politeness counts from here.
    asked_at: float = 0.0
    seconds: float = 0.0  # from the request to the first byte of the answer
    wire_bytes: int = 0  # what it cost: bytes received, before decompression
    crawl_delay: float = 0.0  # what robots.txt asks for, 0 without
    retry_after: float = 0.0  # what the server asks for, 0 without
    detail: str = ""  # one sentence about a failure
    request_head: bytes = b""  # as sent, for the archive; empty unless asked for
    response_head: bytes = b""
    raw_body: bytes = field(
        default=b"", repr=False
    )  # reserved for the archive: the payload as decoded from transfer coding

    def header(self, name: str) -> str:
        """The first value of a header, or nothing."""
        return next((value for key, value in self.headers if key == name), "")
