"""Parses a query as people type it: all words must occur, `"several words"` adjacent, `-word` not at all.

    museum "opening hours" -shop

A word that the index splits (`x-ray`, `C++11`, a word of Chinese) is a phrase of its parts. There is no other syntax,
so the only possible syntax error is a quote that is not closed.
"""

import re
from dataclasses import dataclass

import tantivy

from centime.model.errors import BadInput, BadSetting
from centime.search.index_files import TEXTS
from centime.search.page_text import KINDS
from centime.search.words import words_of

MOST_PARTS = 50
WEIGHTS = {"title": 2.0, "text": 1.0, "url": 0.5}  # of the fields

_PART = re.compile(r'(-?)(?:"([^"]*)"|(\S+))')


@dataclass(frozen=True, slots=True)
class Wanted:
    """A parsed query: phrases of one or more words, those that must not occur, and which pages count."""

    phrases: tuple[tuple[str, ...], ...]
    unwanted: tuple[tuple[str, ...], ...] = ()
    site: str = ""
    since: float | None = None  # only versions that were first seen then or later
    kind: str = ""

    def query(self, schema: tantivy.Schema) -> tantivy.Query:
        """The query for the index."""
        must, must_not = tantivy.Occur.Must, tantivy.Occur.MustNot
        parts = [(must, _anywhere(schema, phrase)) for phrase in self.phrases]
        parts += [(must_not, _anywhere(schema, phrase)) for phrase in self.unwanted]
        query = tantivy.Query.boolean_query(parts)
        for name, value in (("site", self.site), ("kind", self.kind)):
            if value:
                query = narrowed(query, tantivy.Query.term_query(schema, name, value, index_option="basic"))
        if self.since is not None:
            integer = tantivy.FieldType.Integer
            query = narrowed(query, tantivy.Query.range_query(schema, "time", integer, int(min(self.since, 1e15))))
        return query


def wanted(words: str, *, site: str = "", since: float | None = None, kind: str = "") -> Wanted:
    """The parsed query; BadInput if it has no words."""
    text = words.encode(errors="replace").decode()
    if text.count('"') % 2:
        raise BadInput(f"{words}: a quotation mark is not closed")
    phrases: dict[bool, list[tuple[str, ...]]] = {False: [], True: []}
    for minus, quoted, plain in _PART.findall(text):
        if phrase := tuple(words_of(quoted or plain)):
            phrases[bool(minus)].append(phrase)
    if not phrases[False]:
        what = "only what must not be there" if phrases[True] else "no word: letters or digits"
        raise BadInput(f"{words!r} says {what}; say what to look for")
    if sum(map(len, phrases.values())) > MOST_PARTS:
        raise BadInput(f"a search has at most {MOST_PARTS} words and phrases")
    if kind and kind not in KINDS:
        raise BadSetting(f"a kind of pages is {', '.join(KINDS[:-1])} or {KINDS[-1]}, not {kind!r}")
    host = re.sub(r"^[a-z]+://", "", site.strip().lower()).partition("/")[0]
    if site and not host:
        raise BadSetting(f"a site is a host such as museum.example, not {site!r}")
    return Wanted(tuple(phrases[False]), tuple(phrases[True]), host, since, kind)


def narrowed(query: tantivy.Query, condition: tantivy.Query) -> tantivy.Query:
    """The query for pages that fulfil a condition too, with the same scores."""
    must = tantivy.Occur.Must
    return tantivy.Query.boolean_query([(must, query), (must, tantivy.Query.const_score_query(condition, 0.0))])


def _anywhere(schema: tantivy.Schema, phrase: tuple[str, ...]) -> tantivy.Query:
    """A phrase in any field."""
    return tantivy.Query.boolean_query(
        [
            (tantivy.Occur.Should, tantivy.Query.boost_query(_in_field(schema, field, phrase), WEIGHTS[field]))
            for field in TEXTS
        ]
    )


def _in_field(schema: tantivy.Schema, field: str, phrase: tuple[str, ...]) -> tantivy.Query:
    if len(phrase) == 1:
        return tantivy.Query.term_query(schema, field, phrase[0])
    return tantivy.Query.phrase_query(schema, field, list(phrase))
