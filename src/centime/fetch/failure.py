"""Errors of the network, as an outcome and one sentence."""

import ssl

from centime.fetch.coding import BrokenCoding
from centime.model.errors import CentimeError
from centime.model.outcome import Outcome
from centime.processes.open_files import LACKS

MOST_DETAIL = 300
LACKING = "this machine cannot open another connection"


class RefusedAddress(CentimeError, OSError):
    """The guard does not allow the address; it becomes an outcome and never leaves the fetcher."""


class NoAddress(CentimeError, OSError):
    """A name without an address; it becomes an outcome and never leaves the fetcher."""


class NoTunnel(CentimeError, OSError):
    """The proxy made no tunnel to the server; it becomes an outcome and never leaves the fetcher."""


class ServerClosed(CentimeError, OSError):
    """The server closed the connection instead of answering; it becomes an outcome and never leaves the fetcher."""


class BadRequest(CentimeError):
    """A request that cannot be written; it becomes an outcome and never leaves the fetcher."""


class BadAnswer(CentimeError):
    """An answer that is not HTTP, or has no clear end; it becomes an outcome and never leaves the fetcher."""


def failure_of(error: Exception) -> tuple[Outcome, str]:
    """The outcome of an exception, with one sentence about it."""
    name = type(error).__name__
    said = str(error) if isinstance(error, CentimeError) else f"{name}: {error}" if str(error) else name
    if isinstance(error, OSError) and error.errno in LACKS:
        return Outcome.LOST, lacking(error.strerror or said)
    return _outcome(error), one_line(said)


def lacking(reason: str) -> str:
    """A sentence about a connection that was never tried, because this machine cannot have more."""
    return one_line(f"{LACKING} ({reason}); ulimit -n, or the memory of its network, is too small")


def one_line(text: str) -> str:
    """The text in one line of at most MOST_DETAIL printable characters."""
    words = "".join(letter if letter.isprintable() else " " for letter in text[: 4 * MOST_DETAIL]).split()
    return " ".join(words)[:MOST_DETAIL]


def _outcome(error: Exception) -> Outcome:
    if isinstance(error, RefusedAddress):
        return Outcome.REFUSED_ADDRESS
    if isinstance(error, NoAddress):
        return Outcome.NO_ADDRESS
    if isinstance(error, BadRequest | BadAnswer | BrokenCoding):
        return Outcome.BAD_RESPONSE
    if isinstance(error, ssl.SSLError | ssl.CertificateError):
        return Outcome.BAD_TLS
    if isinstance(error, TimeoutError):
        return Outcome.TIMED_OUT
    return Outcome.NO_CONNECTION if isinstance(error, OSError) else Outcome.BAD_RESPONSE
