"""The elements that describe a page: `base`, `link`, `meta` and frames, the same in HTML and in XHTML.

A `link` with rel canonical gets the flag CANONICAL, one with rel alternate (hreflang, feeds) the flag ALTERNATE. The
rels next, prev, up, contents and similar ones make plain links; stylesheets, icons, preloads and other resources are
not links. The first `base` with an href counts. A `meta` named robots or centime, in any case, sets noindex, nofollow,
both (`none`), or noarchive.
"""

import re
from collections.abc import Callable

import ada_url

from centime.model.document import ALTERNATE, CANONICAL, EMBEDDED, NOFOLLOW, REFRESH
from centime.parse.gathering import Gathering

AGENT = "centime"
LONGEST_TITLE = 1_000
MOST_FRAMES = 1_000  # pages in `srcdoc` that are read: each costs as much as a small page

_TO_PAGES = """
    next prev previous start first last up contents toc index chapter section subsection appendix glossary help author
    license search copyright
"""
PAGE_RELS = frozenset(_TO_PAGES.split())  # values of rel that lead to another page
_REFRESH = re.compile(r"[\s0-9.]*+[;,]?\s*+(?:url\s*+=\s*+)?(?:\"([^\"]*)|'([^']*)|(.*))", re.IGNORECASE | re.DOTALL)
_NOT_FOLLOWED = frozenset(["nofollow", "ugc", "sponsored"])


def not_followed(rel: str) -> bool:
    """Whether the rel of a link asks crawlers not to follow it."""
    return not _NOT_FOLLOWED.isdisjoint(rel.lower().split())


def _resolved(base: str, href: str) -> str:
    """A link as a URL; empty if it makes none."""
    try:
        return ada_url.join_url(base, href)
    except ValueError:
        return ""


class About:
    """The base, directives, canonical URL, title and links of a page, collected element by element."""

    def __init__(self, url: str) -> None:
        self.base = url
        self.links = Gathering()
        self.canonical = ""
        self.noindex = False
        self.nofollow = False
        self.noarchive = False
        self.title = ""
        self.frames = 0  # pages in `srcdoc`
        self._url = url
        self._based = False

    def take(self, tag: str, get: Callable[[str], str]) -> None:
        """Records one element; `get` returns the value of an attribute, empty if it is missing."""
        if tag == "link":
            self.relate(get("rel"), get("href"), get("title"))
        elif tag == "meta":
            self.direct(get("name"), get("http-equiv"), get("content"))
        elif tag == "base":
            self.rebase(get("href"))
        elif tag in ("iframe", "frame"):
            self.links.add(get("src"), EMBEDDED)

    def entitle(self, text: str) -> None:
        """Records the title with collapsed white space; the first one counts."""
        if not self.title:
            self.title = " ".join(text[: 4 * LONGEST_TITLE].split())[:LONGEST_TITLE]

    def rebase(self, href: str) -> None:
        """Records the base URL of relative links; the first one counts."""
        if href and not self._based:
            self._based = True
            base = _resolved(self._url, href)
            if base.startswith(("http://", "https://")):
                self.base = base

    def relate(self, relations: str, href: str, title: str) -> None:
        """Records a `link` element according to its rel."""
        rel = relations.lower().split()
        if "stylesheet" in rel:
            return
        if "canonical" in rel:
            self.canonical = self.canonical or href.strip()
            self.links.add(href, CANONICAL, title)
        elif "alternate" in rel or "amphtml" in rel:
            self.links.add(href, ALTERNATE, title)
        elif not PAGE_RELS.isdisjoint(rel):
            self.links.add(href, 0, title)

    def include(self, frame: "About") -> None:
        """Adds the links of a page that is written in a frame of this one (`srcdoc`). Such a page has the base of this
        one, unless it names its own.
        """
        flags = NOFOLLOW if frame.nofollow else 0
        links = frame.links
        for href, flag, anchor in zip(links.hrefs, links.flags, links.anchors, strict=True):
            url = _resolved(frame.base, href) if frame.base != self.base else ""
            self.links.add(url or href, flags | flag, anchor)

    def direct(self, name: str, event: str, content: str) -> None:
        """Records a `meta` element: directives for robots by its name, a refresh by its http-equiv."""
        if name.strip().lower() in ("robots", AGENT):
            words = content.lower().replace(",", " ").split()
            self.noindex = self.noindex or "noindex" in words or "none" in words
            self.nofollow = self.nofollow or "nofollow" in words or "none" in words
            self.noarchive = self.noarchive or "noarchive" in words
        elif event.strip().lower() == "refresh":
            target = _REFRESH.match(content)
            if target:
                self.links.add(target[1] or target[2] or target[3] or "", REFRESH)
