"""Interprets the head of an answer: its outcome, the target of a redirect, when to retry."""

from collections.abc import Iterable
from datetime import UTC
from email.utils import parsedate_to_datetime

import ada_url

from centime.model.outcome import Outcome

MOST_RETRY_SECONDS = 24 * 3600.0

_REDIRECTS = {
    300: Outcome.MOVED_TEMPORARILY,
    301: Outcome.MOVED,
    302: Outcome.MOVED_TEMPORARILY,
    303: Outcome.MOVED_TEMPORARILY,
    307: Outcome.MOVED_TEMPORARILY,
    308: Outcome.MOVED,
}
_NAMED = {404: Outcome.GONE, 410: Outcome.GONE, 429: Outcome.BUSY, 503: Outcome.BUSY}


def outcome_of(status: int, *, conditional: bool) -> Outcome:
    """The outcome of an answer with this status; 304 is an answer only to a conditional request."""
    if 200 <= status < 300:
        return Outcome.READ
    if status == 304:
        return Outcome.UNCHANGED if conditional else Outcome.BAD_RESPONSE
    if status in _REDIRECTS:
        return _REDIRECTS[status]
    if status in _NAMED:
        return _NAMED[status]
    if 400 <= status < 500:
        return Outcome.CLIENT_ERROR
    return Outcome.SERVER_ERROR if 500 <= status < 600 else Outcome.BAD_RESPONSE


def decode_headers(raw: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[str, str], ...]:
    """Header names in lower case with their values, decoded as UTF-8, or as Latin-1 if they are not UTF-8."""
    raw = tuple(raw)
    try:
        return tuple([(name.decode().lower(), value.decode()) for name, value in raw])
    except UnicodeDecodeError:
        return tuple((name.decode("latin-1").lower(), _text(value)) for name, value in raw)


def target_of(url: str, location: str) -> str:
    """The target of a redirect, resolved against the page's URL; empty if Location is missing or is not a URL."""
    if not location.strip():
        return ""
    try:
        return ada_url.join_url(url, location)
    except ValueError:
        return ""


def retry_after(value: str, *, date: str, now: float) -> float:
    """The seconds of Retry-After, 0 without it; a date counts from the server's Date if there is one."""
    value = value.strip()
    if not value:
        return 0.0
    if value.isascii() and value.isdigit():
        return min(float(value[:9]), MOST_RETRY_SECONDS)
    until = _seconds(value)
    if until is None:
        return 0.0
    since = _seconds(date)
    return min(max(0.0, until - (now if since is None else since)), MOST_RETRY_SECONDS)


def _seconds(date: str) -> float | None:
    """An HTTP date in seconds since the epoch, None if unparsable."""
    try:
        moment = parsedate_to_datetime(date)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
