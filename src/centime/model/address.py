"""The address of a page: its canonical URL, and a 64-bit fingerprint of that URL."""

from functools import lru_cache

import xxhash

HOST_BITS = 12  # of a fingerprint, the highest: the same for all URLs of a host
_URL_BITS = 64 - HOST_BITS


def fingerprint(url: str) -> int:
    """A 64-bit hash of a canonical URL: 12 bits of its host, 52 of the whole; never 0, which means that there is no
    page. From the host bits follows the partition of a page whose URL is not known.
    """
    return _host_bits(host_of(url)) | (xxhash.xxh3_64_intdigest(url.encode()) >> HOST_BITS) or 1


def partition_of(url: str, partitions: int) -> int:
    """The partition, among `partitions`, that owns a canonical URL: all URLs of a host have the same."""
    return (_host_bits(host_of(url)) >> _URL_BITS) * partitions >> HOST_BITS


@lru_cache(maxsize=1 << 16)
def _host_bits(host: str) -> int:
    return xxhash.xxh3_64_intdigest(host.encode()) >> _URL_BITS << _URL_BITS


def host_of(url: str) -> str:
    """The host of a canonical URL with its scheme and port: one robots.txt and one delay apply to all of it."""
    return url[: url.find("/", 8)]


def name_of(host: str) -> str:
    """The name or address (IPv6 in brackets) in a host with its scheme and port.

    >>> name_of("http://a.example:8080"), name_of("https://[2001:db8::1]"), name_of("http://me@a.example")
    ('a.example', '[2001:db8::1]', 'a.example')
    """
    name = host[host.find("://") + 3 :]
    if "@" in name:
        name = name[name.rfind("@") + 1 :]
    colon = name.rfind(":")
    return name if colon < 0 or name.endswith("]") else name[:colon]
