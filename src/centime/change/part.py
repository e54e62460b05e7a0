"""The part of a page that is compared, if a person defines it: `--select` and `--ignore`.

    [PATTERN=]css:SELECTOR      elements, by a CSS selector
    [PATTERN=]regex:REGEX       text of the page's source, by a regular expression of RE2, in linear time

A rule with a PATTERN applies to pages whose URL matches it, one without to all pages. First only the elements that
a `select` rule names are kept, or the whole page if there are none; then those that `ignore` rules name are removed.
The words and the signature of the page are those of the rest. So a difference elsewhere is minor, but recorded: the
bytes differ. Selected parts are `selected`: a person says that they matter, so nothing in them is learned to be
volatile.

In XML, names count without their namespaces. A page that cannot be parsed, or of more than MOST_BYTES, is compared as
a whole. A document without elements (plain text) has the signature of the text that regular expressions leave of it.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import re2
import xxhash
from lxml import etree

from centime.model.document import Document
from centime.model.errors import BadSetting
from centime.model.outcome import PageKind
from centime.model.pattern import check_pattern, compiled
from centime.parse.encoding import as_utf8
from centime.parse.scan import words_of
from centime.parse.tree import tree_of

MOST_BYTES = 2 << 20
LONGEST = 1_000
_LOST = "\ufffd".encode()  # bytes that are not valid in an encoding


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: the elements or text that it names, in the pages whose URL matches its pattern."""

    pattern: str
    css: str = ""
    regex: str = ""

    @classmethod
    def parse(cls, text: str) -> "Rule":
        """The rule of a text; BadSetting if it is not valid."""
        for kind in ("css", "regex"):
            if text.startswith(f"{kind}:"):
                return cls("", **{kind: text.removeprefix(f"{kind}:")})
        for kind in ("css", "regex"):
            pattern, found, named = text.partition(f"={kind}:")
            if found:
                return cls(pattern, **{kind: named})
        raise BadSetting(f"a part of a page is css:SELECTOR or regex:REGEX, or PATTERN=css:SELECTOR, not {text!r}")

    def check(self) -> None:
        """BadSetting if the rule cannot be used."""
        if len(self.css) > LONGEST:
            raise BadSetting(f"a CSS selector has at most {LONGEST} characters, not {len(self.css)}")
        if self.pattern:
            check_pattern(self.pattern)
        if self.regex:
            check_pattern(self.regex)
            if re2.search(self.regex, ""):
                raise BadSetting(f"regex:{self.regex} names an empty text: use + instead of *")
        elif self.css.strip():
            _evaluated(self.css, xml=False)
        else:
            raise BadSetting("css: and regex: name a part of a page: write css:.ads or regex:[0-9]+ visitors")


def check_rule(text: str) -> None:
    """BadSetting if this is not a rule that can be used."""
    Rule.parse(text).check()


def check_selection(text: str) -> None:
    """The same for a rule that selects: it must name elements."""
    check_rule(text)
    if Rule.parse(text).regex:
        raise BadSetting(f"--select keeps elements: write css:SELECTOR, not {text!r}")


class ComparedPart:
    """The rules of a crawl."""

    def __init__(self, select: tuple[str, ...] = (), ignore: tuple[str, ...] = (), *, refreshes: bool = True) -> None:
        """Unless the crawl `refreshes` pages, a first read stores only its signature for comparison."""
        self.refreshes = refreshes
        self._select = tuple(map(Rule.parse, select))
        self._ignore = tuple(map(Rule.parse, ignore))

    def of(self, document: Document, url: str, body: bytes) -> Document:
        """The document, with the words and the signature of the part that is compared."""
        if not (self._select or self._ignore) or len(body) > MOST_BYTES:
            return document
        select = [rule for rule in self._select if _applies(rule, url)]
        ignore = [rule for rule in self._ignore if _applies(rule, url)]
        if not select and not ignore:
            return document
        if document.words is None:
            return _without_text(document, body, ignore)
        xml = document.kind is PageKind.XML
        left = _left(body, document, select, ignore)
        if left is None:
            return document
        text, selected = left
        words = words_of(_without_matches(text, ignore), xml=xml)
        return replace(document, words=words, signature=words.signature, selected=selected)


WHOLE = ComparedPart()


def _applies(rule: Rule, url: str) -> bool:
    return not rule.pattern or bool(compiled(rule.pattern).search(url))


def _without_matches(text: bytes, ignore: list[Rule]) -> bytes:
    """A text without the matches of regular expressions."""
    for rule in ignore:
        if rule.regex:
            text = re2.sub(rule.regex.encode(), b" ", text)
    return text


def _without_text(document: Document, body: bytes, ignore: list[Rule]) -> Document:
    """A document without elements, with the signature of what regular expressions leave of its text, or of its bytes
    if they are not text.
    """
    if not any(rule.regex for rule in ignore):
        return document
    text, _ = as_utf8(body, f"text/plain; charset={document.encoding}", xml=True)
    left = _without_matches(body if _LOST in text else text, ignore)
    return replace(document, signature=xxhash.xxh3_64_intdigest(left))


def _left(body: bytes, document: Document, select: list[Rule], ignore: list[Rule]) -> tuple[bytes, bool] | None:
    """The selected elements without the ignored ones, in UTF-8, and whether there are any: if not, it is the whole page
    without the ignored ones. None if the page cannot be parsed.
    """
    root = tree_of(body, document.kind, document.encoding)
    if root is None:
        return None
    xml = document.kind is PageKind.XML
    if xml:
        for element in root.iter(etree.Element):
            element.tag = etree.QName(element).localname
    for rule in ignore:
        if rule.css:
            for element in _evaluated(rule.css, xml=xml)(root):
                _remove(element)
    named = [element for rule in select for element in _evaluated(rule.css, xml=xml)(root)]
    kept = named or [root]
    inside = set(kept)
    kept = [element for element in kept if not any(above in inside for above in element.iterancestors())]
    text = b"\n".join(
        etree.tostring(
            element, encoding="utf-8", method="xml" if xml else "html", with_tail=False, xml_declaration=False
        )
        for element in dict.fromkeys(kept)
    )
    return text, bool(named)


def _remove(element: Any) -> None:
    """Removes an element from its tree; the text behind it stays."""
    above = element.getparent()
    if above is None:  # the root: all of the page is ignored
        element.clear()
        return
    before = element.getprevious()
    if element.tail and before is not None:
        before.tail = (before.tail or "") + element.tail
    elif element.tail:
        above.text = (above.text or "") + element.tail
    above.remove(element)


@lru_cache(maxsize=1_024)
def _evaluated(css: str, *, xml: bool) -> etree.XPath:
    from cssselect import SelectorError
    from cssselect.xpath import GenericTranslator, HTMLTranslator

    translator = GenericTranslator() if xml else HTMLTranslator()
    try:
        return etree.XPath(translator.css_to_xpath(css), smart_strings=False)
    except (SelectorError, ValueError) as error:
        raise BadSetting(f"{css!r} is not a CSS selector: {error}") from None
