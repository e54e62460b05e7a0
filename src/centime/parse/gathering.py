"""The links of one page while they are being found: first come, first kept, each href once."""

import re
from itertools import islice

from centime.model.document import MOST_LINKS, NOFOLLOW

LONGEST_ANCHOR = 500  # characters of anchor text kept per link

# First characters of what cannot be a page; only these take the closer look.
_PERHAPS = frozenset("#jJmMdDtTsSaAbBvVwWfF")
_NOT_A_PAGE = re.compile(
    r"#|(?:javascript|mailto|data|tel|sms|about|blob|vbscript|whatsapp|ftp|file|skype):", re.IGNORECASE
).match
_AROUND = "".join(map(chr, range(33)))  # C0 controls and space, which WHATWG strips


class Gathering:
    """Columns of links: `hrefs`, `flags` and, if asked for, `anchors`; `found` counts those beyond the cap too."""

    def __init__(self) -> None:
        self._flags: dict[str, int] = {}
        self._anchors: list[str] = []
        self.found = 0

    def add(self, href: str, flags: int = 0, anchor: str = "") -> bool:
        """Keeps a link unless it is empty, a fragment, or of a scheme that has no pages; says whether it is a new one.

        A link that is there twice, once with and once without `nofollow`, may be followed.
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
        """Keeps many links without flags at once; they are known to be such as `add` keeps, and stripped."""
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

    def call_last(self, anchor: str) -> None:
        """Gives the link that was kept last its anchor text: finding that costs more than the link."""
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
