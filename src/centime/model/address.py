"""The address of a page: its canonical URL, and a 64-bit fingerprint of that URL."""

import xxhash


def fingerprint(url: str) -> int:
    """A 64-bit hash of a canonical URL; never 0, which means that there is no page."""
    return xxhash.xxh3_64_intdigest(url.encode()) or 1


def host_of(url: str) -> str:
    """The host of a canonical URL with its scheme and port: one robots.txt and one delay apply to all of it."""
    return url[: url.find("/", 8)]
