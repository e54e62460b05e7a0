"""How text becomes the words of the index, and of a query: both go through here, so that they meet.

A word is a run of letters and digits, in lower case and without accents: `Größe` is found as `grosse` and `GRÖSSE`.
Scripts that put no spaces between words (Chinese, Japanese, Korean, Thai ...) have a word for each character. A query
in such a script is a phrase of characters: it finds a word of any length exactly, without a dictionary.

The tokenizer of the index splits at what is neither a letter nor a digit, and is three times as fast as one with a
regular expression. So `prepared` puts a JOINT between characters of such scripts, and `readable` takes it away again.
Trap: texts must not have a JOINT of their own. What was split at white space has none: Python counts it as such.
"""

import re
from functools import cache
from unicodedata import normalize

import tantivy

NAME = "centime-1"  # of the tokenizer, in the schema; another one for words that are made otherwise
JOINT = "\x1f"
LONGEST_BYTES = 80  # of a word; what is longer is code or data

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


def prepared(text: str) -> str:
    """The text as it goes into the index."""
    if text.isascii():
        return text
    text = normalize("NFC", text)
    octets = text.encode()
    if not any(lead in octets for lead in _LEADS):
        return text
    if _WIDE.search(text):
        text = _WIDE.sub(lambda found: normalize("NFKC", found[0]), text)
    return _BETWEEN.sub(JOINT, text) if _ANY_UNSPACED.search(text) else text


def readable(text: str) -> str:
    """A text of the index as people read it."""
    return text.replace(JOINT, "")


@cache
def analyser() -> tantivy.TextAnalyzer:
    """What splits prepared text into words."""
    steps = tantivy.Filter.remove_long(LONGEST_BYTES), tantivy.Filter.lowercase(), tantivy.Filter.ascii_fold()
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    for step in steps:
        builder = builder.filter(step)
    return builder.build()


def words_of(text: str) -> list[str]:
    """The words of a text, in order."""
    return analyser().analyze(prepared(text))
