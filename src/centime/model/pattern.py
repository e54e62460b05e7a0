r"""Regular expressions of users, searched for by RE2 in linear time: no crafted URL can block a crawl.

    time of a search  <=  c · instructions of the pattern · length of the text        `(a+)+$` is as quick as `a+$`

The syntax is RE2's (https://github.com/google/re2/wiki/Syntax): Python's without back-references, look-around,
possessive repetition and the flag x, which need more than linear time or have another spelling. `check_pattern` is for
patterns that are new. Its errors say what to write instead, also for the two spellings that both
engines accept and read differently: `{,5}` is text for RE2, and `\10` is a character. `compiled` is for all patterns,
also those that a journal holds. Version 0.1 searched with Python's `re`, after it had timed a pattern on hard URLs.
Patterns that it accepted still work in the same way: by `re` where RE2 refuses or misreads the pattern.

Traps: `\w`, `\d`, `\s` and `\b` are ASCII, as canonical URLs are. An `re2.Set` that runs out of memory silently finds
nothing. So each set also holds the empty pattern, which is found in every text: if it is missing from the answer, the
patterns are searched for one by one, which needs less memory.
"""

import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import re2

from centime.model.errors import BadSetting

LONGEST_PATTERN = 1_000
MOST_INSTRUCTIONS = 10_000  # of RE2's program: below 0.1 s for the longest URL there is
MEMORY = 8 << 20  # bytes of one set or pattern: RE2's default

_MISREAD = re.compile(r"\\(?:[0-7]{3}|[1-9]\d?|.)|\{(?:,\d*|\d{9,}(?:,\d*)?|\d*,\d{9,})\}", re.DOTALL)
_ADVICE = tuple(
    (re.compile(part), name, advice)
    for part, name, advice in (
        (
            r"\(\?<?[=!]$",
            "look-around",
            "write out the text that may stand there, or exclude the rest by another pattern",
        ),
        (r"\\[1-9]\d?$|\(\?P$", "a back-reference", "write out the text that is repeated"),
        (r"\(\?>$", "an atomic group", "write (?:...)"),
        (r"\(\?\($", "a conditional group", "write both cases, as (?:...|...)"),
        (r"\(\?#$", "a comment", "leave it out"),
        (r"\(\?[a-zA-Z]*x", "the flag x", "write the pattern without spaces and comments"),
        (r"\(\?[a-zA-Z]*[auL]", "a flag of Python's", r"leave it out: \w, \d, \s and \b are ASCII"),
        (r"[*+?}]\+$", "a possessive repetition", "leave out the last +"),
        (r"[*+?}][*+?{]", "a repetition of a repetition", "put the inner one into a group, as (?:a*){2}"),
        (r"^\{,", "a repetition without a lower bound", r"write it with 0, as {0,5}, or \{ for the character"),
        (
            r"^\{",
            "a repetition out of bounds",
            "repeat at most 1000 times in all, the smaller number first, or use + or *",
        ),
        (r"^\[:", "an unknown class of characters", r"write \[ for the character, or a class such as [:alpha:]"),
        (r"\\Z$", r"\Z", r"write \z or $ for the end of the text"),
        (r"\\[NuU]$", "a character by its number or name", r"write it as \x{2014}"),
        (r"\\b$", r"\b in a set of characters", r"write \x08"),
        (r"\\[^\x00-\x7f]", "a backslash before a character that needs none", "leave out the backslash"),
    )
)


@dataclass(frozen=True)
class Patterns:
    """Patterns that are searched for together, in one pass over the text."""

    texts: tuple[str, ...]
    _match: Callable[[bytes], list[int] | None] = field(init=False, compare=False, repr=False)
    _apart: tuple[Callable[[str], object], ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_apart", tuple(map(_searcher, self.texts)))
        together = re2.Set.SearchSet(_options())
        try:
            for text in (*self.texts, ""):
                _refuse_misread(text)
                together.Add(text)
            together.Compile()
            object.__setattr__(self, "_match", together.Match)
        except (re2.error, BadSetting):  # too large together, or one of them is Python's
            object.__setattr__(self, "_match", lambda data: None)

    def __bool__(self) -> bool:
        """Whether there is any pattern."""
        return bool(self.texts)

    def search(self, text: str) -> bool:
        """Whether one of the patterns is found in a text."""
        found = self._match(_encoded(text))
        return len(found) > 1 if found else self._first_apart(text) is not None

    def first(self, text: str) -> int | None:
        """The place of the first of the patterns that are found in a text; None if none is."""
        found = self._match(_encoded(text))
        if not found:
            return self._first_apart(text)
        place = min(found)
        return place if place < len(self.texts) else None

    def _first_apart(self, text: str) -> int | None:
        return next((place for place, search in enumerate(self._apart) if search(text)), None)


@lru_cache(maxsize=1_024)
def compiled(*texts: str) -> Patterns:
    """The patterns, ready to be searched for; BadSetting says which is not one, and what to write instead."""
    return Patterns(texts)


def check_pattern(text: str) -> None:
    """Refuses a new pattern that is not one, is too large, or means something else than in Python."""
    if len(text) > LONGEST_PATTERN:
        raise BadSetting(f"a pattern has at most {LONGEST_PATTERN} characters, not {len(text)}")
    _refuse_misread(text)
    if _compiled(text).programsize > MOST_INSTRUCTIONS:
        raise BadSetting(_too_large(text))


def _refuse_misread(text: str) -> None:
    """Refuses a pattern that RE2 accepts and reads differently from Python."""
    for found in _MISREAD.finditer(text):
        if found[0][0] == "{" or (found[0][1] in "123456789" and len(found[0]) < 4):
            raise BadSetting(_refusal(text, found[0]))


def _searcher(text: str) -> Callable[[str], object]:
    """Searches for one pattern: by RE2, or by Python if only Python reads it as version 0.1 did."""
    try:
        _refuse_misread(text)
        by_re2 = _compiled(text)
        return lambda url: by_re2.search(_encoded(url))
    except BadSetting:
        with suppress(re.error, RecursionError, OverflowError), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of patterns that a later Python may read differently
            return re.compile(text).search
        raise


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _compiled(text: str) -> Any:
    try:
        return re2.compile(text, _options())
    except UnicodeEncodeError as error:
        raise BadSetting(f"the pattern {text!r} is not text: {error}") from None
    except re2.error as error:
        said: str = error.args[0].decode("utf-8", "replace")
    reason, _, part = said.partition(": ")
    raise BadSetting(_too_large(text) if reason.startswith("pattern too large") else _refusal(text, part, reason))


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False  # they would go to standard error
    options.never_capture = True
    options.max_mem = MEMORY
    return options


def _refusal(text: str, part: str, reason: str = "") -> str:
    """What is wrong with a part of a pattern, and what to write instead if Python accepts it."""
    for pattern, name, advice in _ADVICE:
        if pattern.search(part):
            shown = "" if part in name else f", {part}"
            return f"the pattern {text!r} has {name}{shown}, which is not supported: {advice}"
    return f"the pattern {text!r} is not a regular expression: {reason}" + (f" at {part!r}" if part else "")


def _too_large(text: str) -> str:
    return f"the pattern {text!r} is too large once its repetitions are written out: repeat less, or use + or *"
