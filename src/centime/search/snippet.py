"""A piece of a page's text around the words of a query, with the places of these words."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import tantivy

from centime.search.words import JOINT, places, prepared

LONGEST = 220  # characters
SEARCHED = (20_000, 200_000)  # characters of a text that are searched; more if the first lack the words


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of text, and where in it words are marked: begin and end, in characters."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()

    def html(self) -> str:
        """The text as HTML, with marked words in `<b>`."""
        made, at = [], 0
        for begin, end in self.marks:
            made += [escape(self.text[at:begin]), "<b>", escape(self.text[begin:end]), "</b>"]
            at = end
        return "".join([*made, escape(self.text[at:])])


class Snippets:
    """Makes snippets for one query; `phrases` are those of the query, in words."""

    def __init__(
        self, searcher: tantivy.Searcher, query: tantivy.Query, schema: tantivy.Schema, phrases: Iterable[Sequence[str]]
    ) -> None:
        together = ["\\W+".join(map(re.escape, phrase)) for phrase in phrases if len(phrase) > 1]
        self._phrase = re.compile("|".join(together), re.IGNORECASE) if together else None
        self._generator = tantivy.SnippetGenerator.create(searcher, query, schema, "text")
        self._generator.set_max_num_chars(LONGEST)

    def of(self, shown: str) -> Snippet:
        """The snippet of a shown text of the index: its best piece, or its beginning if no word is in it."""
        for size in SEARCHED:
            searched = shown[:size]
            whole = prepared(searched)
            text = self._from_phrase(whole)
            found = self._generator.snippet_from_doc(tantivy.Document(text=text))
            octets = found.fragment().encode()
            if len(shown) <= size or (octets and (self._phrase is None or text is not whole)):
                break
        if not octets:
            return Snippet(_beginning(shown[: 2 * LONGEST]))
        piece = octets.decode()
        marks = [tuple(len(octets[:end].decode()) for end in (one.start, one.end)) for one in found.highlighted()]
        begin = whole.find(piece)
        at = list(range(begin, begin + len(piece) + 1))
        if whole != searched:
            at = places(searched, begin - whole.count(JOINT, 0, begin), piece)
        return _marked(shown[at[0] : at[-1]], sorted((at[first] - at[0], at[last] - at[0]) for first, last in marks))

    def _from_phrase(self, text: str) -> str:
        """The piece of a text around a phrase, if it is found as it was written; otherwise the text."""
        found = self._phrase.search(text) if self._phrase else None
        if found is None:
            return text
        begin = max(0, found.start() - LONGEST // 3)
        begin = begin and 1 + max(text.rfind(sign, 0, begin) for sign in (" ", "\n", JOINT))
        return text[begin : max(found.end(), begin + LONGEST)]


def _marked(text: str, marks: list[tuple[int, int]]) -> Snippet:
    """A snippet in one line; marks that touch become one."""
    joined: list[tuple[int, int]] = []
    for begin, end in marks:
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    return Snippet(text.replace("\n", " "), tuple(joined))


def _beginning(text: str) -> str:
    """The first words of a text."""
    text = text.replace("\n", " ")
    return text if len(text) <= LONGEST else re.sub(r"\s+\S*$", "", text[:LONGEST]) + " \u2026"
