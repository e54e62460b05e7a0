"""The rules by which a host's pages are compared: which parts are volatile, each since a version of the table.

    WHOLE     all words of a place are volatile; `left` is their value if two reads showed the place to come or go
    SET       the blocks of a place come in any order
    MASK      words between `left` and `right` are volatile, at most `most` of them (`mask.py`); if three words of the
              same block surround them, ANYWHERE on the pages of the host
    WATCHED   the place changes often or on all pages at once: page states keep it apart from others

A page state names the version of the table under which it was made, and is compared under the rules in force then. So a
new rule never makes a page look changed, and never hides a difference of an earlier comparison.
"""

from functools import lru_cache

import msgspec

from centime.parse.words import mixed

WHOLE, SET, MASK, WATCHED = 1, 2, 3, 4
ANYWHERE = 1 << 20  # the place of a mask that applies to the text of all places
MOST_MASKS = 48  # of a place: with more, all of it is volatile
MOST_RULES = 1_024  # of a host


@lru_cache(maxsize=1 << 16)
def _key_of_mask(place: int, left: int, right: int) -> int:
    return int(mixed(mixed(place, left), right)) & ANYWHERE - 1


class Rule(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One rule. In force from version `since` on, and before version `until` (0: no end)."""

    place: int
    kind: int
    left: int = 0
    right: int = 0
    most: int = 0
    since: int = 0
    until: int = 0
    sample: str = ""  # the text there when the rule was learned, for people
    slow: bool = False  # learned from reads far apart: two reads in a row need not differ

    @property
    def flickers(self) -> bool:
        """Whether a twin read has shown that the whole place comes and goes; then `left` is its value."""
        return self.kind == WHOLE and self.left != 0

    @property
    def key(self) -> int:
        """The name of the rule in page states, of 20 bits."""
        return self.place if self.kind != MASK else _key_of_mask(self.place, self.left, self.right)

    def holds(self, version: int) -> bool:
        """Whether the rule is in force under a version."""
        return self.since <= version and not 0 < self.until <= version


class Table(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The rules of a host, as a lease carries them."""

    version: int = 0
    rules: tuple[Rule, ...] = ()  # without samples

    def in_force(self, version: int) -> dict[int, list[Rule]]:
        """The rules in force under a version, by place."""
        found: dict[int, list[Rule]] = {}
        for rule in self.rules:
            if rule.holds(version):
                found.setdefault(rule.place, []).append(rule)
        return found


NO_TABLE = Table()
