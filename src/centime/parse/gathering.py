"""Collects the links of one page: each href once, in page order, at most MOST_LINKS."""

import re
from itertools import islice

from centime.model.document import MOST_LINKS, NOFOLLOW

LONGEST_ANCHOR = 500  # characters of anchor text kept per link

# First characters of hrefs that may not be pages; only these are matched against the expression.
_PERHAPS = frozenset("#jJmMdDtTsSaAbBvVwWfF")
_NOT_A_PAGE = re.compile(
    r"#|(?:javascript|mailto|data|tel|sms|about|blob|vbscript|whatsapp|file|skype):", re.IGNORECASE
).match
_AROUND = "".join(map(chr, range(33)))  # C0 controls and space, which WHATWG strips


class Gathering:
    """Columns of links: `hrefs`, `flags` and `anchors`; `found` also counts the links above MOST_LINKS."""

    def __init__(self) -> None:
        self._flags: dict[str, int] = {}
        self._anchors: list[str] = []
        self.found = 0

    def add(self, href: str, flags: int = 0, anchor: str = "") -> bool:
        """Adds a link unless it is empty, a fragment, or has a scheme without pages; returns whether it was added.

        A link that occurs both with and without `nofollow` may be followed.
        """
        before = self._flags.get(href)
        if before is None:
            href = href.strip(_AROUND)
            if not href or (href[0] in _PERHAPS and _NOT_A_PAGE(href)):
                return False
            before = self._flags.get(href)
        if before is not None:
            if before != flags:
                self._flags[href] = before & (flags | ~NOFOLLOW)
            return False
        self.found += 1
        if len(self._flags) >= MOST_LINKS:
            return False
        self._flags[href] = flags
        self._anchors.append(anchor)
        return True

    def extend(self, hrefs: list[str]) -> None:
        """Adds many links without flags; the caller has stripped them and knows that `add` would accept them."""
        fresh = dict.fromkeys(hrefs, 0)
        if self._flags:
            for href in fresh.keys() & self._flags.keys():
                self._flags[href] &= ~NOFOLLOW
                del fresh[href]
        self.found += len(fresh)
        room = MOST_LINKS - len(self._flags)
        if len(fresh) > room:
            fresh = dict.fromkeys(islice(fresh, room), 0)
        self._flags.update(fresh)
        self._anchors.extend([""] * len(fresh))

    def set_last_anchor(self, anchor: str) -> None:
        """Sets the anchor text of the link that was added last; it is decoded only for new links, because it costs more
        than the link itself.
        """
        self._anchors[-1] = anchor

    @property
    def hrefs(self) -> tuple[str, ...]:
        """The hrefs, in the order of the page."""
        return tuple(self._flags)

    @property
    def flags(self) -> bytes:
        """The flags of each link."""
        return bytes(self._flags.values())

    @property
    def anchors(self) -> tuple[str, ...]:
        """The anchor text of each link."""
        return tuple(self._anchors)
