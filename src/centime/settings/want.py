r"""The pages that a crawl wants (`--want`): a kind of page, or the pages whose URL matches a pattern.

    html, xml, dtd           pages of that kind, as the crawl finds it when it reads them
    pdf, png, ...            files of that suffix or media type; the crawl then fetches them too
    images, office, ...      files of such a kind, as in `--also`
    any other text           a regular expression: pages whose URL matches it

A word of letters and digits that names no kind is refused, because it is more often a typo than a pattern. With any
other character it is a pattern, as in `/news/` or `(news)`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from types import MappingProxyType

from centime.discover.suffixes import KINDS, SUFFIXES, suffix_of, suffixes_named
from centime.model.errors import BadSetting
from centime.model.media_type import media_type_of
from centime.model.outcome import PageKind
from centime.model.pattern import Patterns, check_pattern, compiled

PAGES: Mapping[str, PageKind] = MappingProxyType({"html": PageKind.HTML, "xml": PageKind.XML, "dtd": PageKind.DTD})
# Endings of URLs of pages that are probably of the kind. The kind of the pages themselves counts more.
_USUAL: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "html": frozenset(["", "html", "htm", "xhtml", "php", "asp", "aspx", "jsp"]),
        "xml": frozenset(["xml", "rss", "atom", "rdf", "xsd", "xsl", "xslt", "owl", "svg", "wsdl", "tei"]),
        "dtd": frozenset(["dtd", "ent", "mod"]),
    }
)
_MAIN_TYPES: Mapping[str, str] = MappingProxyType(
    {"images": "image/", "audio": "audio/", "video": "video/", "fonts": "font/"}
)


@dataclass(frozen=True)
class Want:
    """The pages that a crawl wants."""

    text: str
    kind: PageKind | None  # of pages; None for files and for a pattern
    suffixes: frozenset[str]  # with which the URLs of wanted pages probably end
    main_type: str  # with which the media types of wanted files begin; empty if they have none in common
    pattern: Patterns | None

    def matches(self, url: str) -> bool:
        """Whether the URL alone decides that the page is wanted."""
        return self.pattern is not None and self.pattern.search(url)

    def is_wanted(self, url: str, kind: PageKind, content_type: str) -> bool:
        """Whether a page that was found is wanted; `kind` and `content_type` are those of its last read."""
        if self.pattern is not None:
            return self.pattern.search(url)
        if self.kind is not None:
            return kind is self.kind
        if kind is not PageKind.OTHER:
            return False
        declared = media_type_of(content_type).name
        if self.main_type and declared.startswith(self.main_type):
            return True
        return declared.partition("/")[2].removeprefix("x-") in self.suffixes or suffix_of(url) in self.suffixes

    def fetched_suffixes(self) -> frozenset[str]:
        """The suffixes that the crawl would refuse unless they were wanted."""
        return self.suffixes & SUFFIXES if self.kind is None else frozenset()


@lru_cache(maxsize=64)
def want_of(text: str) -> Want:
    """The meaning of a text; a word that names no kind is read as a pattern, because a journal may have it."""
    word = text.lstrip(".").lower()
    if word in PAGES:
        return Want(word, PAGES[word], _USUAL[word], "", None)
    if word in KINDS or word in SUFFIXES:
        return Want(word, None, suffixes_named([word]), _MAIN_TYPES.get(word, ""), None)
    return Want(text, None, frozenset(), "", compiled(text))


def check_want(text: str) -> None:
    """BadSetting unless a text names a kind of page or is a pattern."""
    if want_of(text).pattern is None:
        return
    if text.isalnum() or not text:
        near = get_close_matches(text.lower(), PAGES, 1, 0.6) or get_close_matches(text.lower(), KINDS, 1, 0.6)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise BadSetting(
            f"a crawl wants a kind of page (html, xml, dtd), a suffix or kind of files (pdf, {', '.join(KINDS)}) or a "
            f"pattern of URLs such as /news/, not {text!r}{hint}"
        )
    check_pattern(text)
