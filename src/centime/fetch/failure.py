"""What went wrong on the network, as an outcome and one sentence."""

import ssl

import aiohttp

from centime.fetch.coding import BrokenCoding
from centime.model.errors import CentimeError
from centime.model.outcome import Outcome

MOST_DETAIL = 300


class RefusedAddress(CentimeError, OSError):
    """A connection to an address that may not be asked; it becomes an outcome and never leaves the fetcher."""


class NoAddress(CentimeError, OSError):
    """A name without an address; it becomes an outcome and never leaves the fetcher."""


def failure_of(error: Exception) -> tuple[Outcome, str]:
    """The outcome that an exception stands for, with one sentence about it."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    while isinstance(cause, ExceptionGroup):
        cause = cause.exceptions[0]
    said = (
        cause.message if isinstance(cause, aiohttp.ClientResponseError) else str(cause)
    )  # its text escapes what is printed here
    return _outcome(error, cause), one_line(f"{type(cause).__name__}: {said}")


def one_line(text: str) -> str:
    """What a library said, fit to be shown: without line breaks, control characters and marks under what was quoted,
    and bounded.
    """
    words = "".join(letter if letter.isprintable() else " " for letter in text[: 4 * MOST_DETAIL]).split()
    return " ".join(word for word in words if word.strip("^"))[:MOST_DETAIL]


def _outcome(error: Exception, cause: BaseException) -> Outcome:
    if isinstance(cause, RefusedAddress):
        return Outcome.REFUSED_ADDRESS
    if isinstance(cause, NoAddress) or isinstance(error, aiohttp.ClientConnectorDNSError):
        return Outcome.NO_ADDRESS
    if isinstance(error, aiohttp.ClientSSLError) or isinstance(cause, ssl.SSLError | ssl.CertificateError):
        return Outcome.BAD_TLS
    if isinstance(cause, TimeoutError):
        return Outcome.TIMED_OUT
    if isinstance(error, aiohttp.ClientPayloadError | BrokenCoding):
        return Outcome.BAD_RESPONSE
    if isinstance(error, aiohttp.ClientConnectionError) or isinstance(cause, OSError):
        return Outcome.NO_CONNECTION
    return Outcome.BAD_RESPONSE
