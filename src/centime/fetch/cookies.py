"""Cookies of one host, by RFC 6265, and jars of them. A host is scheme, name and port: nothing is ever sent to another.

A cookie with a `Domain` that does not contain the host is ignored, as in browsers; any other is kept for this host
alone, although a browser would send it to the hosts below that domain as well. `Secure` cookies of a host without TLS
are ignored. Text that could end a line of the request never gets in.

Bounds: a host has MOST_COOKIES cookies of LONGEST bytes, a jar has MOST_BYTES; the least recently used are evicted
first.
"""

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from centime.model.address import host_of, name_of

MOST_COOKIES = 50  # of a host
LONGEST = 4_096  # bytes of a cookie
MOST_BYTES = 16 << 20  # of a jar
_SMALL = 64  # bytes that an entry without cookies counts for


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie and when it ends."""

    value: str
    until: float


class Cookies:
    """The cookies of one host."""

    __slots__ = ("_kept",)

    def __init__(self, others: "Cookies | None" = None) -> None:
        """No cookies, or those of another collection."""
        self._kept: dict[tuple[str, str], Cookie] = dict(others._kept) if others else {}  # by path and name

    @property
    def size(self) -> int:
        """About how many bytes they are."""
        return _SMALL + sum(
            _SMALL + len(path) + len(name) + len(cookie.value) for (path, name), cookie in self._kept.items()
        )

    def take(self, url: str, headers: Collection[tuple[str, str]], now: float) -> bool:
        """Stores the cookies that the response of a page sets; returns whether later requests change."""
        if not any(name == "set-cookie" for name, _ in headers):
            return False
        before = {key: cookie.value for key, cookie in self._kept.items()}
        for name, value in headers:
            if name == "set-cookie":
                self._set(url, value, now)
        return before != {key: cookie.value for key, cookie in self._kept.items()}

    def header(self, url: str, now: float) -> str:
        """The value of the Cookie header for a page of the host; empty if there are none for it."""
        if not self._kept:
            return ""
        wanted = _path(url)
        found = [
            (len(path), name, cookie.value)
            for (path, name), cookie in self._kept.items()
            if cookie.until > now and _contains(path, wanted)
        ]
        found.sort(key=lambda one: -one[0])  # the longest path first
        return "; ".join([f"{name}={value}" if name else value for _, name, value in found])

    def _set(self, url: str, text: str, now: float) -> None:
        if len(text) > LONGEST or not text.isprintable() or not text.isascii():
            return
        pair, *rest = text.split(";")
        attributes = {}
        for part in rest:
            key, _, value = part.partition("=")
            attributes[key.strip().lower()] = value.strip()
        name, equals, value = pair.partition("=")
        name, value = (name.strip(), value.strip()) if equals else ("", name.strip())
        domain = attributes.get("domain", "").lstrip(".").lower()
        host = name_of(host_of(url))
        if not (name or value) or (domain and host != domain and not host.endswith(f".{domain}")):
            return
        if "secure" in attributes and not url.startswith("https://"):
            return
        path = attributes.get("path", "")
        if not path.startswith("/"):
            path = _path(url).rpartition("/")[0] or "/"
        until = _until(attributes, now)
        self._kept.pop((path, name), None)
        if until > now:
            self._kept[path, name] = Cookie(value, until)
            if len(self._kept) > MOST_COOKIES:
                del self._kept[next(iter(self._kept))]


class Jar:
    """Cookies by the name of something, at most MOST_BYTES of them."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        """An empty jar."""
        self._most_bytes = most_bytes
        self._all: OrderedDict[str, tuple[Cookies, int]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        """For how many names there are cookies."""
        return len(self._all)

    def __contains__(self, name: str) -> bool:
        """Whether there are cookies for a name."""
        return name in self._all

    def of(self, name: str) -> Cookies:
        """The cookies of a name: none if there are none."""
        found = self._all.get(name)
        if found is None:
            return Cookies()
        self._all.move_to_end(name)
        return found[0]

    def shared(self, name: str) -> Cookies:
        """The cookies of a name, the same object for all concurrent callers."""
        if name not in self._all:
            self.keep(name, Cookies())
        return self.of(name)

    def keep(self, name: str, cookies: Cookies) -> None:
        """Keeps the cookies of a name, after they have changed."""
        size = cookies.size + len(name)
        self._bytes += size - self._all.pop(name, (cookies, 0))[1]
        self._all[name] = (cookies, size)
        while self._bytes > self._most_bytes:
            self._bytes -= self._all.popitem(last=False)[1][1]


def _path(url: str) -> str:
    """The path of a canonical URL."""
    return url[url.find("/", 8) :].partition("?")[0]


def _contains(path: str, wanted: str) -> bool:
    """Whether a cookie of a path is sent for another path."""
    return wanted.startswith(path) and (path.endswith("/") or wanted[len(path) :][:1] in ("", "/"))


def _until(attributes: dict[str, str], now: float) -> float:
    """When a cookie ends; infinity for one that lasts as long as the session."""
    age = attributes.get("max-age", "")
    if age.removeprefix("-").isdigit():
        return now + (0.0 if age.startswith("-") else float(age[:12]))
    try:
        return parsedate_to_datetime(attributes["expires"].replace("-", " ")).timestamp()
    except (KeyError, ValueError, TypeError, OverflowError, IndexError):
        return float("inf")
