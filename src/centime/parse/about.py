"""What the elements about a page say: `base`, `link`, `meta` and frames, the same in HTML and in XHTML.

`link` with rel canonical is flagged CANONICAL, alternate (hreflang, feeds) ALTERNATE; next, prev, up, contents and their like are
plain links; stylesheets, icons, preloads and other resources are none. Of several `base` the first with an href counts.
`meta` named robots or centime (in any case) gives noindex, nofollow or both (none).
"""

import re
from collections.abc import Callable

import ada_url

from centime.model.document import ALTERNATE, CANONICAL, EMBEDDED, REFRESH
from centime.parse.gathering import Gathering

AGENT = "centime"
LONGEST_TITLE = 1_000

_WAYS_ON = (
    "next prev previous start first last up contents toc index chapter section subsection appendix glossary help author license search"
)
_ON = frozenset([*_WAYS_ON.split(), "copyright"])
_REFRESH = re.compile(r"[\s0-9.]*+[;,]?\s*+(?:url\s*+=\s*+)?(?:\"([^\"]*)|'([^']*)|(.*))", re.IGNORECASE | re.DOTALL)
_NOT_FOLLOWED = frozenset(["nofollow", "ugc", "sponsored"])


def not_followed(rel: str) -> bool:
    """Whether a link's rel asks that it is not followed."""
    return not _NOT_FOLLOWED.isdisjoint(rel.lower().split())


class About:
    """The page's base, directives, canonical URL and title, gathered element by element, and its links."""

    def __init__(self, url: str) -> None:
        self.base = url
        self.links = Gathering()
        self.canonical = ""
        self.noindex = False
        self.nofollow = False
        self.title = ""
        self._url = url
        self._based = False

    def take(self, tag: str, get: Callable[[str], str]) -> None:
        """Notes what one element says; `get` gives an attribute, or nothing."""
        if tag == "link":
            self._link(get("rel").lower().split(), get("href"), get("title"))
        elif tag == "meta":
            self._meta(get)
        elif tag == "base":
            self.rebase(get("href"))
        elif tag in ("iframe", "frame"):
            self.links.add(get("src"), EMBEDDED)

    def entitle(self, text: str) -> None:
        """Notes the title, white space collapsed; the first one counts."""
        if not self.title:
            self.title = " ".join(text[: 4 * LONGEST_TITLE].split())[:LONGEST_TITLE]

    def rebase(self, href: str) -> None:
        """Notes what links are relative to, unless that was said before."""
        if href and not self._based:
            self._based = True
            try:
                base = ada_url.join_url(self._url, href)
            except ValueError:
                return
            if base.startswith(("http://", "https://")):
                self.base = base

    def _link(self, rel: list[str], href: str, title: str) -> None:
        """Notes a `link` element by its rel."""
        if "stylesheet" in rel:
            return
        if "canonical" in rel:
            self.canonical = self.canonical or href.strip()
            self.links.add(href, CANONICAL, title)
        elif "alternate" in rel or "amphtml" in rel:
            self.links.add(href, ALTERNATE, title)
        elif not _ON.isdisjoint(rel):
            self.links.add(href, 0, title)

    def _meta(self, get: Callable[[str], str]) -> None:
        """Notes directives for robots and refreshes."""
        name = get("name").strip().lower()
        if name in ("robots", AGENT):
            words = get("content").lower().replace(",", " ").split()
            self.noindex = self.noindex or "noindex" in words or "none" in words
            self.nofollow = self.nofollow or "nofollow" in words or "none" in words
        elif get("http-equiv").strip().lower() == "refresh":
            target = _REFRESH.match(get("content"))
            if target:
                self.links.add(target[1] or target[2] or target[3] or "", REFRESH)
