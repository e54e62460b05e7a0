"""A rule of focus, PATTERN=WEIGHT: pages whose URL matches the pattern get WEIGHT times as much of the virtual
page's money.

The first rule of a crawl whose pattern is found is a page's focus class, from 1 on. The pattern may hold `=` itself:
the last one counts.
"""

from dataclasses import dataclass
from typing import Self

from centime.ledger.focus import FOCUS_CLASSES, focus_units
from centime.model.errors import BadSetting
from centime.model.pattern import check_pattern

MOST_RULES = FOCUS_CLASSES - 1


@dataclass(frozen=True, slots=True)
class FocusRule:
    """A pattern and its weight."""

    pattern: str
    weight: float

    @classmethod
    def parse(cls, text: str) -> Self:
        """The rule of a text; BadSetting if it is not one. Neither pattern nor weight is checked."""
        pattern, _, weight = text.rpartition("=")
        try:
            rule = cls(pattern, float(weight))
        except ValueError:
            pattern = ""
        if not pattern:
            raise BadSetting(f"a focus is PATTERN=WEIGHT, with a regular expression and a number, not {text!r}")
        return rule

    def check(self) -> None:
        """Refuses a new rule whose pattern cannot be searched for, or whose weight no ledger takes."""
        focus_units(self.weight)
        check_pattern(self.pattern)

    def __str__(self) -> str:
        """The rule as it is parsed."""
        return f"{self.pattern}={self.weight!r}".removesuffix(".0")
