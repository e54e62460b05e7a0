"""The canonical form of a URL: one page, one name.

First the WHATWG rules (ada-url): lower-case scheme and host, IDNA, no default port, dot segments resolved, what must be
percent-encoded encoded. Then, in this order:

1. only http and https are pages; anything else has no canonical form;
2. fragment and user information are removed;
3. percent-encoding is made one: unreserved characters decoded, other hexadecimal digits in upper case, a stray `%` is `%25`;
4. sessions in the path, tracking and session parameters and empty parameters are removed (`discover/parameters.py`);
5. an empty query is removed, and so are dots at the end of the host;
6. what is longer than LONGEST_URL has no canonical form.

Guarantee: canonical(canonical(x)) == canonical(x). `index.html` stays: only the caller can see whether both forms give
the same content (`index_of` says what to compare it with).

Traps: this runs once per link. Parsing by WHATWG costs 3 microseconds, so hrefs made of plain characters alone, which
are most, are joined to their base as text (0.5 microseconds); a test holds both ways to the same answers. `/(S(...))`,
`%`, `;`, `?`, `:`, a segment that begins with a dot and anything not ASCII go the long way.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

import ada_url

from centime.discover.parameters import without_readers, without_session

LONGEST_URL = 2_048
LONGEST_HREF = (
    4 * LONGEST_URL
)  # what is longer is not looked at: a percent-encoded URL may shrink, but not by more than this

_plain = re.compile(r"[A-Za-z0-9_~./,+=-]*").fullmatch
_escape = re.compile(r"%([0-9A-Fa-f]{2})?")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_OF_THE_PAGE = frozenset(
    ["", "?", "#", *map(chr, range(33))]
)  # first characters after which the page itself may matter
_index = re.compile(
    r"(.*/)(?:index|default)\.(?:html?|xhtml|shtml|php[0-9]?|aspx?|jsp|cgi|cfm)", re.IGNORECASE
).fullmatch


def canonical(href: str, base: str | None = None) -> str | None:
    """The canonical URL that an href means on a page at `base`, or None if it is not a page's."""
    return _canonical(href, base, None if base is None else _place(base))


def _canonical(href: str, base: str | None, place: tuple[str, str] | None) -> str | None:
    """The same, where the place of the base is known."""
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
    """The URL that a canonical `.../index.html` may be another name of; None if it has no such ending."""
    match = _index(url)
    return match[1] if match and match[1].count("/") > 2 else None


class _Directory(dict[str, str | None]):
    """What hrefs mean on the pages of one directory; an unknown one is worked out when it is asked for."""

    base = ""
    place = ("", "")
    learnt = 0

    def __missing__(self, href: str) -> str | None:
        if not _the_same_in_a_directory(href):
            return _canonical(href, self.base, self.place)
        cut = href.find("#")
        # Half of the links of documentation differ from others in their fragments alone. White space before one is part
        # of the path.
        whole = cut < 0 or len(href) > LONGEST_HREF or href[cut - 1] <= " "
        url = self[href] = _canonical(href, self.base, self.place) if whole else self[href[:cut]]
        self.learnt += 1
        return url


class Canonicaliser:
    """Canonical URLs of whole pages of links, remembering those it met: templates repeat the same hrefs on every page
    of a site.

    Bounded: about `entries` answers are kept in each of two generations; when the younger is full, the older is
    forgotten. Measured on pages that share 80 % of their links: 3.5 times as fast as `canonical` alone, 10 times where
    the shared links have queries.
    """

    def __init__(self, entries: int = 100_000) -> None:
        self._entries = entries
        self._young: dict[str, _Directory] = {}
        self._old: dict[str, _Directory] = {}
        self._count = 0

    def many(self, hrefs: Sequence[str], base: str) -> list[str | None]:
        """The canonical URLs of a page's hrefs, in their order, None for what is not a page's."""
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
        """What is remembered of a directory, in the younger generation from now on."""
        directory = self._young.get(name)
        if directory is None:
            directory = self._young[name] = self._old.pop(name) if name in self._old else _Directory()
            self._count += len(directory) + 1
        return directory


def _the_same_in_a_directory(href: str) -> bool:
    """Whether an href means the same on all pages of a directory: `?x`, `#x`, `` and `https:?x` do not."""
    return href[:1] not in _OF_THE_PAGE and (":" not in href or href.startswith(("http://", "https://")))


def _join(plain: str, origin: str, directory: str) -> str:
    """A relative href of plain characters joined as text; nothing if it takes the long way."""
    if plain[0] == "/":
        return "" if plain[1:2] == "/" or "/." in plain else origin + plain
    while plain[0] == ".":
        if plain.startswith("../"):
            plain = plain[3:]
            # Above the root there is only the root again.
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
    """Whether a scheme, host and port are canonical as they are."""
    return _the_long_way(origin + "/", None) == origin + "/"


def _place(base: str) -> tuple[str, str] | None:
    """The origin and the directory of a base whose directory is canonical as it is; None sends its hrefs the long
    way.
    """
    slash = base.rfind("/") + 1
    # Every page is a base, and a directory has many: a name of plain characters without a dot in front changes nothing
    # about it.
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
    """The canonical URL by the rules at the top, without short cuts."""
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
        path, mark, query = url[slash:].partition("?")
        if mark:
            query = without_readers(query)
            url = f"{url[:slash]}{path}?{query}" if query else url[:slash] + path
        if ";" in path or "/(" in path:
            shorter = without_session(path)
            if shorter != path:
                # What is left may be a dot segment, or nothing at all.
                url = ada_url.normalize_url(url[:slash] + shorter + (f"?{query}" if query else ""))
                slash = url.find("/", 8)
        if "./" in url[: slash + 1] or ".:" in url[:slash]:
            url = _without_last_dots(url, slash)
    except ValueError:
        return None
    return url if len(url) <= LONGEST_URL else None


def _without_last_dots(url: str, slash: int) -> str:
    """The URL with a host that does not end with dots; ValueError if nothing is left of it."""
    scheme, _, authority = url[:slash].partition("//")
    host, colon, port = authority.partition(":")
    name = host.rstrip(".")
    if not name:
        raise ValueError("a host of dots alone")
    return ada_url.normalize_url(f"{scheme}//{name}{colon}{port}{url[slash:]}")


def _one_escape(match: re.Match[str]) -> str:
    """A percent-encoded octet in its one form."""
    digits = match[1]
    if digits is None:
        return "%25"
    character = chr(int(digits, 16))
    return character if character in _UNRESERVED else match[0].upper()
