"""Splits text into the words of the index and of queries, both by the same rules.

A word is a run of letters and digits, in lower case and without accents: `Größe` is found as `grosse` and `GRÖSSE`,
`Αθήνα` as `αθηνα`, `Ёлка` as `елка`. Vowel signs of Hebrew and Arabic, soft hyphens and characters without width are
left out. Letters of their own stay: `й` is not `и`, and vowels of Indic scripts are not accents.
Scripts that put no spaces between words (Chinese, Japanese, Korean, Thai ...) have a word for each character. A query
in such a script is a phrase of characters: it finds a word of any length exactly, without a dictionary.

The tokenizer of the index splits at characters that are neither letters nor digits, folds Latin letters, and is three
times as fast as one with a regular expression. `prepared` does the rest before: it folds other letters, and puts a
JOINT between characters of scripts without spaces. People see the `shown` text; `places` maps one to the other. Trap:
texts must not have a JOINT of their own. Text that was split at white space has none: Python counts it as white space.
"""

import re
from bisect import bisect
from functools import cache
from itertools import accumulate
from unicodedata import category, combining, normalize

import tantivy

NAME = "centime-2"  # of the tokenizer, in the schema; another one for words that are made otherwise
JOINT = "\x1f"
WIDEST = 10  # shown characters, at most, that are counted for one that is prepared
LONGEST_BYTES = 80  # of a word; longer ones are code or data

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3031-\u3035\u3040-\u312f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\ua9e0-\ua9ff\uaa60-\uaa7f\uac00-\ud7ff\uf900-\ufaff"
    "\U0001aff0-\U0001b16f\U000116d0-\U000116ff\U00020000-\U0003ffff"
)
_ANY_UNSPACED = re.compile(f"[{_UNSPACED}]")
_BETWEEN = re.compile(f"(?<=[{_UNSPACED}])(?=\\w)|(?<=\\w)(?=[{_UNSPACED}])")
_WIDE = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uff9f\uffa0-\uffdc]+")  # and narrow: other forms

# What characters of both begin with in UTF-8: most texts have none, and this is the quickest way to see it.
_LEADS = [bytes([lead]) for lead in (0xE0, 0xE1, *range(0xE3, 0xEE), 0xEF, 0xF0)]
_LEADS += [bytes([0xE2, second]) for second in range(0xBA, 0xC0)]

_WIDTHLESS = "\u00ad\u034f\u061c\u0640\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff"
_WITHOUT_MARKS = "\u0130\u0370-\u03ff\u0591-\u07ff\u1f00-\u1fff\ufb1d-\ufdff\ufe70-\ufefc"  # letters and marks
_MARKS = "\u0300-\u036f\u0483-\u0487\u1ab0-\u1aff\u1dc0-\u1dff\u2de0-\u2dff\ua66f-\ua67d\ua69e-\ua69f\ufe20-\ufe2f"
_INDIC = "\u0900-\u0dff"  # where a mark may be a vowel: only viramas and dots below are left out
_VIRAMA, _NUKTA = 9, 7


def shown(text: str) -> str:
    """The text as people see it: what `prepared` takes."""
    if text.isascii():
        return text
    text = normalize("NFC", text)
    return _WIDE.sub(lambda found: normalize("NFKC", found[0]), text) if b"\xef" in text.encode() else text


def prepared(text: str) -> str:
    """A shown text as it goes into the index."""
    if text.isascii():
        return text
    for one in set(_folded().findall(text)):
        text = text.replace(one, _folds()[one])
    octets = text.encode()
    if any(lead in octets for lead in _LEADS) and _ANY_UNSPACED.search(text):
        text = _BETWEEN.sub(JOINT, text)
    return text


def places(text: str, begin: int, piece: str) -> list[int]:
    """Where the characters of a piece of a prepared text, and its end, are in the shown text; `begin` is the place of
    the piece in the prepared text, without joints.
    """
    folds, first = _folds(), begin
    for found in _folded().finditer(text):
        letters = folds[found[0]]
        if found.start() > first or (letters and found.start() == first):
            break
        first += 1 - len(letters)
    rest = text[first : first + WIDEST * len(piece)]
    ends = list(accumulate((len(folds.get(one, one)) for one in rest), initial=0))
    made, at = [], 0
    for character in (*piece, ""):
        made.append(first + bisect(ends, at) - 1)
        at += character != JOINT
    return made


@cache
def _folds() -> dict[str, str]:
    """The replacements of characters that the tokenizer does not fold. No replacement contains another such
    character."""
    made = dict.fromkeys(_characters(_WIDTHLESS), "")
    made |= {one: "" for one in _characters(_MARKS) if category(one) == "Mn"}
    made |= {one: "" for one in _characters(_INDIC) if combining(one) in (_VIRAMA, _NUKTA)}
    for one in _characters(_WITHOUT_MARKS):
        parts = [part for part in normalize("NFKD", one) if category(part) != "Mn" and part not in made]
        letters = "".join(parts).casefold()
        if letters != one.lower() and (letters.isalnum() or not letters):
            made.setdefault(one, letters)
    return made | dict(zip("ЁёЀѐЍѝ", "ееееии", strict=True))


@cache
def _folded() -> re.Pattern[str]:
    """Finds these characters. All are below U+10000: with others, this would be a hundred times as slow."""
    return re.compile(f"[{''.join(_folds())}]")


def _characters(ranges: str) -> list[str]:
    """The characters that are listed as in a regular expression."""
    found = re.findall("(.)(?:-(.))?", ranges)
    return [chr(one) for first, last in found for one in range(ord(first), ord(last or first) + 1)]


@cache
def analyser() -> tantivy.TextAnalyzer:
    """The analyser that splits prepared text into words."""
    steps = tantivy.Filter.remove_long(LONGEST_BYTES), tantivy.Filter.lowercase(), tantivy.Filter.ascii_fold()
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    for step in steps:
        builder = builder.filter(step)
    return builder.build()


def words_of(text: str) -> list[str]:
    """The words of a text, in order."""
    return analyser().analyze(prepared(shown(text)))
