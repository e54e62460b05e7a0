"""A piece of a page's text around the words that were looked for, with the places of these words."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import tantivy

from centime.search.words import JOINT, readable

LONGEST = 220  # characters
SEARCHED = (20_000, 200_000)  # characters of a text in which words are looked for; in more if they are not in the first


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
    """Makes snippets for one query; `phrases` are what it looks for, in words."""

    def __init__(
        self, searcher: tantivy.Searcher, query: tantivy.Query, schema: tantivy.Schema, phrases: Iterable[Sequence[str]]
    ) -> None:
        together = ["\\W+".join(map(re.escape, phrase)) for phrase in phrases if len(phrase) > 1]
        self._phrase = re.compile("|".join(together), re.IGNORECASE) if together else None
        self._generator = tantivy.SnippetGenerator.create(searcher, query, schema, "text")
        self._generator.set_max_num_chars(LONGEST)

    def of(self, text: str) -> Snippet:
        """The snippet of a text of the index: its best piece, or its beginning if no word is in it."""
        if not text:
            return Snippet("")
        text = self._from_phrase(text)
        for size in SEARCHED:
            found = self._generator.snippet_from_doc(tantivy.Document(text=text[:size]))
            if (piece := found.fragment().encode()) or len(text) <= size:
                break
        if not piece:
            return Snippet(_beginning(readable(text[: 2 * LONGEST])))
        marks = [(piece[: one.start].decode(), piece[one.start : one.end].decode()) for one in found.highlighted()]
        return _plain(piece.decode(), [(len(before), len(before) + len(word)) for before, word in marks])

    def _from_phrase(self, text: str) -> str:
        """The piece of a text around a phrase, if it is found as it was written; otherwise the text."""
        found = self._phrase.search(text, 0, SEARCHED[-1]) if self._phrase else None
        if found is None:
            return text
        begin = max(0, found.start() - LONGEST // 3)
        begin = begin and 1 + max(text.rfind(sign, 0, begin) for sign in (" ", "\n", JOINT))
        return text[begin : max(found.end(), begin + LONGEST)]


def _plain(text: str, marks: list[tuple[int, int]]) -> Snippet:
    """A snippet in one line, without joints; marks that touch become one."""
    places = [0]  # where each character of the text is in the plain one
    for character in text:
        places.append(places[-1] + (character != JOINT))
    plain = readable(text).replace("\n", " ")
    joined: list[tuple[int, int]] = []
    for begin, end in sorted((places[begin], places[end]) for begin, end in marks):
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    return Snippet(plain, tuple(joined))


def _beginning(text: str) -> str:
    """The first words of a text."""
    text = text.replace("\n", " ")
    return text if len(text) <= LONGEST else re.sub(r"\s+\S*$", "", text[:LONGEST]) + " \u2026"
