"""A page's address: the canonical URL is its name, 64 bits of it are its fingerprint."""

import xxhash


def fingerprint(url: str) -> int:
    """64 bits that stand for a canonical URL; never 0, which stands for nothing."""
    return xxhash.xxh3_64_intdigest(url.encode()) or 1


def host_of(url: str) -> str:
    """The host of a canonical URL, with its scheme and port: what one robots.txt and one delay hold for."""
    return url[: url.find("/", 8)]
