"""The canonical form of a URL: one page, one name.

The WHATWG rules come first (ada-url): lower-case scheme and host, IDNA, no default port, resolved dot segments,
percent-encoding where it is required. Then, in this order:

1. Only http and https URLs are pages; any other URL has no canonical form.
2. The fragment and the user information are removed.
3. Percent-encoding gets one form: unreserved characters are decoded, hexadecimal digits are upper case, a stray `%`
   becomes `%25`, and ``[ ] { } | ^ ` `` and `\\` are encoded, which the standard leaves as they are written.
4. Sessions in the path, tracking parameters, session parameters and empty parameters are removed
   (`discover/parameters.py`).
5. An empty query is removed, and so are dots at the end of the host.
6. A URL longer than LONGEST_URL has no canonical form.

Guarantee: canonical(canonical(x)) == canonical(x). `index.html` stays: only the caller can compare the content of both
URLs (`index_of` returns the other one).

Traps: this runs once per link. A WHATWG parse takes 3 microseconds, so an href of plain characters, which is the common
case, is joined to its base as text (0.5 microseconds). A test proves that both paths give the same result. An href with
`/(S(...))`, `%`, `;`, `?`, `:`, a segment that begins with a dot or a non-ASCII character takes the full path.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

import ada_url

from centime.discover.parameters import without_readers, without_session

LONGEST_URL = 4_096  # as in the archive; the option --longest-url refuses shorter ones
LONG = 256  # characters of an href and its URL, for which they count twice in a cache
LONGEST_HREF = 4 * LONGEST_URL  # longer hrefs are refused unparsed: percent-decoding shortens at most to a third

_plain = re.compile(r"[A-Za-z0-9_~./,+=-]*").fullmatch
_escape = re.compile(r"%([0-9A-Fa-f]{2})?")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_LEFT_AS_WRITTEN = str.maketrans({character: f"%{ord(character):02X}" for character in "[]{}|^`\\"})
_has_left = re.compile(r"[\[\]{}|^`\\]").search
_OF_THE_PAGE = frozenset(["", "?", "#", *map(chr, range(33))])  # first characters of hrefs relative to the page itself
_index = re.compile(
    r"(.*/)(?:index|default)\.(?:html?|xhtml|shtml|php[0-9]?|aspx?|jsp|cgi|cfm)", re.IGNORECASE
).fullmatch


def canonical(href: str, base: str | None = None) -> str | None:
    """The canonical URL of an href on a page at `base`; None if it is not the URL of a page."""
    return _canonical(href, base, None if base is None else _place(base))


def _canonical(href: str, base: str | None, place: tuple[str, str] | None) -> str | None:
    """The same for a base whose `_place` is known."""
    if len(href) > LONGEST_HREF:
        return None
    cut = href.find("#")
    plain = href if cut < 0 else href[:cut]
    if plain.startswith("http"):
        slash = plain.find("/", 8)
        if slash > 0 and _is_origin(plain[:slash]) and "/." not in plain and _plain(plain, slash):
            return plain if len(plain) <= LONGEST_URL else None
    elif plain and place is not None and _plain(plain):
        joined = _join(plain, *place)
        if joined:
            return joined if len(joined) <= LONGEST_URL else None
    return _the_long_way(href, base)


def index_of(url: str) -> str | None:
    """The directory that a canonical `.../index.html` may be another name of; None if the URL has no such ending."""
    match = _index(url)
    return match[1] if match and match[1].count("/") > 2 else None


class _Directory(dict[str, str | None]):
    """The canonical URLs of hrefs on the pages of one directory, computed on first use."""

    base = ""
    place = ("", "")
    learnt = 0  # hrefs, of which long ones count several times

    def __missing__(self, href: str) -> str | None:
        if len(href) > LONGEST_HREF:
            return None  # not remembered: it may be as long as a page
        if not _the_same_in_a_directory(href):
            return _canonical(href, self.base, self.place)
        cut = href.find("#")
        # In documentation, half of the links differ only in their fragment. White space before a fragment belongs to
        # the path.
        whole = cut < 0 or href[cut - 1] <= " "
        url = self[href] = _canonical(href, self.base, self.place) if whole else self[href[:cut]]
        self.learnt += 1 + (len(href) + len(url or "")) // LONG
        return url


class Canonicaliser:
    """Canonical URLs of all links of a page, with a cache: templates repeat the same hrefs on every page of a site.

    The cache has two generations of about `entries` URLs each; when the younger is full, the older is dropped. Long
    ones count several times, so that its bytes are bounded too. On pages that share 80 % of their links it is 3.5 times
    as fast as `canonical` alone, and 10 times if those links have queries.
    """

    def __init__(self, entries: int = 100_000) -> None:
        self._entries = entries
        self._young: dict[str, _Directory] = {}
        self._old: dict[str, _Directory] = {}
        self._count = 0

    def many(self, hrefs: Sequence[str], base: str) -> list[str | None]:
        """The canonical URLs of a page's hrefs, in their order; None where an href is not the URL of a page."""
        place = _place(base)
        if place is None:
            return [canonical(href, base) for href in hrefs]
        directory = self._directory(place[1])
        directory.base, directory.place = base, place
        before = directory.learnt
        urls = list(map(directory.__getitem__, hrefs))
        self._count += directory.learnt - before
        if self._count > self._entries:
            self._old, self._young, self._count = self._young, {}, 0
        return urls

    def _directory(self, name: str) -> _Directory:
        """The cache of a directory, moved to the younger generation."""
        directory = self._young.get(name)
        if directory is None:
            directory = self._young[name] = self._old.pop(name) if name in self._old else _Directory()
            self._count += directory.learnt + 1 + len(name) // LONG
        return directory


def _the_same_in_a_directory(href: str) -> bool:
    """Whether an href has the same URL on all pages of a directory; `?x`, `#x`, `` and `https:?x` do not."""
    return href[:1] not in _OF_THE_PAGE and (":" not in href or href.startswith(("http://", "https://")))


def _join(plain: str, origin: str, directory: str) -> str:
    """A relative href of plain characters, joined as text; empty if it needs `_the_long_way`."""
    if plain[0] == "/":
        return "" if plain[1:2] == "/" or "/." in plain else origin + plain
    while plain[0] == ".":
        if plain.startswith("../"):
            plain = plain[3:]
            # The parent of the root is the root.
            directory = directory[: max(directory.rfind("/", 0, -1), len(origin)) + 1]
        elif plain.startswith("./"):
            plain = plain[2:]
        else:
            return ""
        if not plain:
            return directory
    return "" if "/." in plain else directory + plain


@lru_cache(maxsize=4_096)
def _is_origin(origin: str) -> bool:
    """Whether a scheme, host and port are already canonical."""
    return _the_long_way(origin + "/", None) == origin + "/"


def _place(base: str) -> tuple[str, str] | None:
    """The origin and the directory of a base; None if the directory is not already canonical, so that hrefs need
    `_the_long_way`.
    """
    slash = base.rfind("/") + 1
    # Every page is a base, and a directory has many pages. A plain file name that does not start with a dot does not
    # change the directory, so it is cut off and the cached result serves all pages of the directory.
    return _place_of(base[:slash] if slash > 8 and base[slash : slash + 1] != "." and _plain(base, slash) else base)


@lru_cache(maxsize=4_096)
def _place_of(base: str) -> tuple[str, str] | None:
    try:
        url = ada_url.normalize_url(base)
    except ValueError:
        return None
    path = url.partition("#")[0].partition("?")[0]
    directory = path[: path.rfind("/") + 1]
    if not url.startswith("http") or _the_long_way(directory, None) != directory:
        return None
    return directory[: directory.find("/", 8)], directory


def _the_long_way(href: str, base: str | None) -> str | None:
    """The canonical URL by all rules of the module docstring, without short cuts."""
    try:
        url = ada_url.normalize_url(href) if base is None else ada_url.join_url(base, href)
        if not url.startswith(("http://", "https://")):
            return None
        url = url.partition("#")[0]
        slash = url.find("/", 8)
        at = url.rfind("@", 0, slash)
        if at >= 0:
            url = url[: url.find("//") + 2] + url[at + 1 :]
            slash = url.find("/", 8)
        if "%" in url:
            url = _escape.sub(_one_escape, url)
        if _has_left(url, slash):
            url = url[:slash] + url[slash:].translate(_LEFT_AS_WRITTEN)
        path, mark, query = url[slash:].partition("?")
        if mark:
            query = without_readers(query)
            url = f"{url[:slash]}{path}?{query}" if query else url[:slash] + path
        if ";" in path or "/(" in path:
            shorter = without_session(path)
            if shorter != path:
                # The rest may be a dot segment, or empty.
                url = ada_url.normalize_url(url[:slash] + shorter + (f"?{query}" if query else ""))
                slash = url.find("/", 8)
        if "./" in url[: slash + 1] or ".:" in url[:slash]:
            url = _without_last_dots(url, slash)
    except ValueError:
        return None
    return url if len(url) <= LONGEST_URL else None


def _without_last_dots(url: str, slash: int) -> str:
    """The URL without dots at the end of its host; ValueError if the host is nothing but dots."""
    scheme, _, authority = url[:slash].partition("//")
    host, colon, port = authority.partition(":")
    name = host.rstrip(".")
    if not name:
        raise ValueError("the host is nothing but dots")
    return ada_url.normalize_url(f"{scheme}//{name}{colon}{port}{url[slash:]}")


def _one_escape(match: re.Match[str]) -> str:
    """The canonical form of a percent-encoded octet."""
    digits = match[1]
    if digits is None:
        return "%25"
    character = chr(int(digits, 16))
    return character if character in _UNRESERVED else match[0].upper()
