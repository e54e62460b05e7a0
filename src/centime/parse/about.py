"""What the elements about a page say: `base`, `link`, `meta` and frames, the same in HTML and in XHTML.

`link` with rel canonical is flagged CANONICAL, alternate (hreflang, feeds) ALTERNATE; next, prev, up, contents and
their like are plain links; stylesheets, icons, preloads and other resources are none. Of several `base` the first with
an href counts. `meta` named robots or centime (in any case) gives noindex, nofollow or both (none).
"""

import re
from collections.abc import Callable

import ada_url

from centime.model.document import ALTERNATE, CANONICAL, EMBEDDED, REFRESH
from centime.parse.gathering import Gathering

AGENT = "centime"
LONGEST_TITLE = 1_000

_LEADING_ON = "next prev previous start first last up contents toc index chapter section subsection appendix glossary help author license search"
WAYS_ON = frozenset([*_LEADING_ON.split(), "copyright"])
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
            self.relate(get("rel"), get("href"), get("title"))
        elif tag == "meta":
            self.direct(get("name"), get("http-equiv"), get("content"))
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

    def relate(self, relations: str, href: str, title: str) -> None:
        """Notes a `link` element by its rel."""
        rel = relations.lower().split()
        if "stylesheet" in rel:
            return
        if "canonical" in rel:
            self.canonical = self.canonical or href.strip()
            self.links.add(href, CANONICAL, title)
        elif "alternate" in rel or "amphtml" in rel:
            self.links.add(href, ALTERNATE, title)
        elif not WAYS_ON.isdisjoint(rel):
            self.links.add(href, 0, title)

    def direct(self, name: str, event: str, content: str) -> None:
        """Notes a `meta` element: directives for robots by its name, a refresh by its http-equiv."""
        if name.strip().lower() in ("robots", AGENT):
            words = content.lower().replace(",", " ").split()
            self.noindex = self.noindex or "noindex" in words or "none" in words
            self.nofollow = self.nofollow or "nofollow" in words or "none" in words
        elif event.strip().lower() == "refresh":
            target = _REFRESH.match(content)
            if target:
                self.links.add(target[1] or target[2] or target[3] or "", REFRESH)
