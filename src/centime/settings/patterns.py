"""Regular expressions that people give, tried before they are used: none may hold a crawl up, whatever URL a stranger
puts into a page.

Nothing can stop a search once it has begun, and `(a+)+$` takes 2^n steps on n times `a`. So `check_pattern` searches in
strings made to be hard for this very pattern, longer and longer up to the longest URL there is:

    what leads to a repetition  ·  what is repeated, again and again  ·  an end that it cannot have

and refuses a pattern that takes long and whose time grows faster than the square of the length, or is long even so. The
length grows by a tenth once a search takes a millisecond: even of 2^n steps that makes only n^1.1, so the check itself
ends soon.

What a search costs is tried and not proved: the strings follow from the pattern's parts (which only Python's own parser
of patterns knows), and the worst may be another one. Times differ from run to run, so this is for what is new, never
for what a journal has.
"""

import math
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from itertools import product
from typing import Any

from centime.discover.canonical import LONGEST_URL
from centime.model.errors import BadSetting
from centime.settings.timing import quickest

LONGEST_PATTERN = 1_000
LONG_SECONDS = 0.05  # from here on growth is judged
MOST_SECONDS = 0.5  # for the longest URL, however it grows
MOST_GROWTH = 2.5  # the exponent: between the square and the cube
SHORT_SECONDS = 0.001
JUDGED_LENGTH = 96
MOST_STRINGS, MOST_HARD = 300, 5  # tried, and tried on when something takes long or the length is judged
MOST_LEADS, MOST_PUMPS, MOST_CHARACTERS = 8, 16, 4
COMMON = "a0/_.-= A%?&!\n"

_parser: Any = import_module("re._parser")


@dataclass(slots=True)
class _Hard:
    """A string that may be hard, and how long searching in it took."""

    lead: str
    pump: str
    tail: str
    times: list[tuple[int, float]] = field(default_factory=list)

    def of_length(self, length: int) -> str:
        """The string cut to so many characters, never more: the first of them may be hard already."""
        room = max(0, length - len(self.tail))
        return (self.lead + self.pump * (room // len(self.pump) + 1))[:room] + self.tail

    def growth(self) -> float:
        """The exponent with which the time grew when the length doubled last."""
        length, now = self.times[-1]
        before = [(shorter, then) for shorter, then in self.times if shorter <= length / 2]
        if not before:
            return math.inf
        shorter, then = before[-1]
        return math.log(now / max(then, 1e-7)) / math.log(length / shorter)


def check_pattern(text: str) -> None:
    """Refuses what is not a regular expression, or one whose search may take too long in some URL."""
    if len(text) > LONGEST_PATTERN:
        raise BadSetting(f"a pattern has {LONGEST_PATTERN} characters at most, not {len(text)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of what a later Python may read otherwise
            given = re.compile(text)
            # The other branch, never found, has no length: a string too short for the pattern would be refused without
            # a search, and
            # (a?){40}a{40} would go from nothing to 2^40 steps with one more character.
            pattern = re.compile(text + ("\n|(?!)" if given.flags & re.VERBOSE else "|(?!)"))
            strings = _hard_strings(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadSetting(f"the pattern {text!r} is not a regular expression: {error}") from error
    length = 1
    while strings:
        slowest = max(_search(text, pattern, one, length) for one in strings)
        if length >= LONGEST_URL:
            return
        if length >= JUDGED_LENGTH or slowest > SHORT_SECONDS:
            strings = sorted(strings, key=lambda one: -one.times[-1][1])[:MOST_HARD]
        length = min(LONGEST_URL, max(length + 1, int(length * (1.1 if slowest > SHORT_SECONDS else 1.3))))


def _search(text: str, pattern: re.Pattern[str], one: _Hard, length: int) -> float:
    """How long a search takes; BadSetting if that is too long."""
    url = one.of_length(length)
    took = quickest(partial(pattern.search, url), SHORT_SECONDS)
    one.times.append((len(url), took))
    if took > MOST_SECONDS or (took > LONG_SECONDS and one.growth() > MOST_GROWTH):
        told = f"the pattern {text!r} takes too long: {took:.2g} s for a URL of {len(url)} characters"
        raise BadSetting(f"{told}; leave out what repeats a repetition, as (a+)+, and .* at its beginning")
    return took


def _hard_strings(text: str) -> list[_Hard]:
    """What to try, from the parts of a pattern; nothing where nothing is repeated."""
    parts = _Parts(_parser.parse(text))
    if not parts.pumps:
        return []
    leads = list(dict.fromkeys(["", *parts.leads]))[:MOST_LEADS]
    pumps = list(dict.fromkeys([*parts.characters[:MOST_CHARACTERS], *parts.pumps, *filter(None, leads), parts.whole]))
    tails = ["", "\n!", parts.rarest]
    made = (
        _Hard(lead, pump, tail) for pump, lead, tail in product(list(filter(None, pumps))[:MOST_PUMPS], leads, tails)
    )
    return list(made)[:MOST_STRINGS]


class _Parts:
    """The parts of a pattern that make strings hard for it."""

    def __init__(self, tree: Any) -> None:
        self.leads: list[str] = []  # what matches all that stands before a repetition
        self.pumps: list[str] = []  # what matches what is repeated
        self._groups: dict[int, str] = {}
        alphabet = dict.fromkeys([*COMMON, *_literals(tree)])
        sets = list(_sets(tree))
        liked = {character: sum(_accepts(one, character) for one in sets) for character in alphabet}
        self.characters = sorted(alphabet, key=lambda character: -liked[character])  # the first is in most of the sets
        self.rarest = self.characters[-1]
        self.whole = self._sample(tree, "")

    def _sample(self, tree: Any, before: str) -> str:
        """A string that a sequence matches, if that can be said so easily; leads and pumps are noted on the way."""
        made = ""
        for part in tree:
            made += self._one(part, before + made)
        return made

    def _one(self, part: tuple[Any, Any], before: str) -> str:
        name, value = str(part[0]), part[1]
        match name:
            case "LITERAL":
                return chr(value)
            case "ANY" | "IN" | "NOT_LITERAL":
                return next((character for character in self.characters if _accepts(part, character)), "")
            case "BRANCH":
                samples = [self._sample(branch, before) for branch in value[1]]
                self.pumps += samples if self.pumps else []
                return max(samples, key=len)
            case "SUBPATTERN":
                made = self._sample(value[3], before)
                if value[0] is not None:
                    self._groups[value[0]] = made
                return made
            case "GROUPREF":
                return self._groups.get(value, "")
            case "ATOMIC_GROUP":
                return self._sample(value, before)
            case "ASSERT" | "ASSERT_NOT":
                self._sample(value[1], before)
                return ""
            case "GROUPREF_EXISTS":
                return self._sample(value[1], before)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, body = value
                if most > 1:
                    self.leads.append(before)
                    self.pumps.append("")  # there is a repetition, whatever its body is like
                made = self._sample(body, before)
                if most > 1:
                    self.pumps.append(made)
                return (made * min(int(least), LONGEST_URL))[:LONGEST_URL]
            case _:
                return ""


def _inner(part: tuple[Any, Any]) -> Iterator[Any]:
    """The sequences inside a part."""
    name, value = str(part[0]), part[1]
    match name:
        case "BRANCH":
            yield from value[1]
        case "SUBPATTERN":
            yield value[3]
        case "ATOMIC_GROUP":
            yield value
        case "ASSERT" | "ASSERT_NOT":
            yield value[1]
        case "GROUPREF_EXISTS":
            yield from (branch for branch in value[1:] if branch is not None)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            yield value[2]


def _sets(tree: Any) -> Iterator[tuple[Any, Any]]:
    """The parts that one character matches."""
    for part in tree:
        if str(part[0]) in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            yield part
        for inner in _inner(part):
            yield from _sets(inner)


def _literals(tree: Any) -> Iterator[str]:
    """The characters that a pattern names, also as ends of ranges."""
    for name, value in _sets(tree):
        members: Sequence[tuple[Any, Any]] = value if str(name) == "IN" else [(name, value)]
        for kind, member in members:
            if str(kind) in ("LITERAL", "NOT_LITERAL"):
                yield chr(member)
            elif str(kind) == "RANGE":
                yield from map(chr, member)


def _accepts(part: tuple[Any, Any], character: str) -> bool:
    """Whether a part matches a character (of ASCII, where the difference matters)."""
    name, value = str(part[0]), part[1]
    match name:
        case "LITERAL":
            return ord(character) == int(value)
        case "NOT_LITERAL":
            return ord(character) != int(value)
        case "ANY":
            return character != "\n"
        case "RANGE":
            return bool(value[0] <= ord(character) <= value[1])
        case "CATEGORY":
            return _is_of(str(value), character)
    negated = bool(value) and str(value[0][0]) == "NEGATE"
    return any(_accepts(member, character) for member in value[negated:]) != negated


def _is_of(category: str, character: str) -> bool:
    kind = category.removeprefix("CATEGORY_").removeprefix("NOT_")
    found = {
        "DIGIT": character.isdigit(),
        "SPACE": character.isspace(),
        "WORD": character.isalnum() or character == "_",
    }.get(kind, False)
    return found != ("NOT_" in category)
