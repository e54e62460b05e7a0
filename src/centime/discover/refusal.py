"""Why a crawl refuses a URL that a page links to, and which option would admit it.

The numbers of reasons are in journals and snapshots. `ROBOTS` is never stored with a URL: a page that robots.txt
disallows is known, and the record of its visit says so.
"""

from enum import IntEnum


class Reason(IntEnum):
    """Why a URL is refused; the numbers are written to disk and must not change."""

    NOT_HTTP = 1
    LONGEST_URL = 2
    SCOPE = 3
    SUFFIX = 4
    EXCLUDE = 5
    INCLUDE = 6
    TRAP = 7
    MAX_DEPTH = 8
    NOFOLLOW = 9
    PAGES_PER_HOST = 10
    MOST_PAGES = 11
    ROBOTS = 12
    REDIRECTS = 13

    @property
    def label(self) -> str:
        """The name of the reason for people."""
        return self.name.lower().replace("_", "-")


REASONS = {reason.label: reason for reason in Reason}
OPTIONS = {
    Reason.NOT_HTTP: "no option: only http and https URLs are pages",
    Reason.LONGEST_URL: "--longest-url",
    Reason.SCOPE: "--scope, or give it as a seed",
    Reason.SUFFIX: "--also",
    Reason.EXCLUDE: "--exclude",
    Reason.INCLUDE: "--include",
    Reason.TRAP: "--traps off",
    Reason.MAX_DEPTH: "--max-depth",
    Reason.NOFOLLOW: "--follow-nofollow",
    Reason.PAGES_PER_HOST: "--pages-per-host",
    Reason.MOST_PAGES: "--most-pages, --most-memory",
    Reason.ROBOTS: "no option: its host disallows it",
    Reason.REDIRECTS: "give it as a seed",
}
"""The setting that admits URLs that were refused for a reason."""
