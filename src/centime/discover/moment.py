"""Parses the dates of sitemaps and feeds into seconds since the epoch."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def moment(text: str) -> float:
    """Seconds since the epoch of a W3C or RFC 822 date, in UTC if it has no zone; 0 if unparsable."""
    text = text.strip()
    if len(text) in (4, 7) and text[:4].isdigit():
        text += "-01-01"[len(text) - 10 :]  # a year, or a year and a month
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = read(text)
            return max(0.0, (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())
        except (ValueError, OverflowError, TypeError, IndexError):
            continue
    return 0.0
