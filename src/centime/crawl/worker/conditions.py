"""Evaluates the conditions of subscriptions in a page: XPaths (`xpath.py`), and words.

Words are those of a search (`search/words.py`): case and accents do not matter, `"two words"` must be adjacent, and
`-word` must not occur. The title and the main text of a page are searched, as in the full-text index; with an XPath,
only its results.
"""

from collections.abc import Sequence
from functools import lru_cache

from centime.crawl.worker.xpath import find
from centime.model.outcome import PageKind
from centime.parse.tree import tree_of
from centime.shard.people.notices import MOST_TEXT, Condition
from centime.shard.people.subscriptions import MISSING, THERE, Subscription, Watched

_EDGE = "\x1f"  # between words


class WatchedPage:
    """A page in which conditions are evaluated; its tree and text are computed once."""

    def __init__(self, body: bytes, kind: PageKind, encoding: str, content_type: str = "", url: str = "") -> None:
        self._body, self._kind, self._encoding = body, kind, encoding
        self._content_type, self._url = content_type, url
        self._root: object = None
        self._is_parsed = False
        self._lines: list[str] | None = None

    @property
    def kind(self) -> PageKind:
        """How it is parsed."""
        return self._kind

    @property
    def root(self) -> object:
        """Its root element; None if it has none."""
        if not self._is_parsed:
            self._is_parsed = True
            if self._kind in (PageKind.HTML, PageKind.XML):
                self._root = tree_of(self._body, self._kind, self._encoding)
        return self._root

    @property
    def lines(self) -> list[str]:
        """Its title and the paragraphs of its text."""
        if self._lines is None:
            from centime.search.page_text import page_text  # of few crawls

            read = page_text(self._body, self._content_type, self._url)
            self._lines = [read.title, *read.text.splitlines()]
        return self._lines

    def found(self, condition: Condition) -> tuple[int, str] | None:
        """The hash of a condition's results, and their text; None if it cannot be evaluated."""
        if not condition.xpath:
            return _words_in(condition.words, self.lines)
        found = find(self.root, condition.xpath, self._kind)
        if found is None:
            return None
        if condition.words:
            return _words_in(condition.words, found.pieces)
        return found.mark, " ".join(found.pieces)[:MOST_TEXT]


def watched(page: WatchedPage, subscriptions: Sequence[Subscription]) -> tuple[Watched, ...]:
    """For each subscription whose condition can be evaluated: its name, the hash of its results, and their text.

    The caller passes the subscriptions with a condition that match the page's URL.
    """
    found = ((one.name, page.found(one.condition)) for one in subscriptions)
    return tuple((name, *result) for name, result in found if result is not None)


def _words_in(words: str, lines: Sequence[str]) -> tuple[int, str]:
    """Whether words are in a text, and the lines that have some of them."""
    from centime.search.words import words_of

    wanted, unwanted = _phrases(words)
    texts = [_joined(words_of(line)) for line in lines]
    text = _EDGE + "".join(one[1:] for one in texts)
    if not all(one in text for one in wanted) or any(one in text for one in unwanted):
        return MISSING, ""
    shown = [line for line, one in zip(lines, texts, strict=True) if any(phrase in one for phrase in wanted)]
    return THERE, "\n".join(shown)[:MOST_TEXT]


@lru_cache(maxsize=1_024)
def _phrases(words: str) -> tuple[list[str], list[str]]:
    """The phrases that must be in a text, and those that must not."""
    from centime.search.query import wanted

    given = wanted(words)
    return [_joined(phrase) for phrase in given.phrases], [_joined(phrase) for phrase in given.unwanted]


def _joined(words: Sequence[str]) -> str:
    return "".join([_EDGE, *(f"{word}{_EDGE}" for word in words)])
