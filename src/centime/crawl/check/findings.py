"""The findings of a check: what it verified, and all problems. They are values, so that no problem hides the next."""

from dataclasses import dataclass, field
from typing import Any

from centime.model.errors import CentimeError


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: the part of the crawl, the file ("" if none), and what is wrong, with the byte or the page."""

    part: str
    file: str
    what: str


@dataclass(slots=True)
class Findings:
    """What was verified, with counts; notes; and problems."""

    proven: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def holds(self, part: str, what: str, count: int, since: int | None = None) -> None:
        """Adds that `what` holds for `count` things, unless problems were added since their number was `since`."""
        if since is None or len(self.problems) == since:
            self.proven.append({"part": part, "proven": what, "count": count})

    def wrong(self, part: str, what: str, file: object = "") -> None:
        """Adds a problem, once."""
        problem = Problem(part, str(file), what)
        if problem not in self.problems:
            self.problems.append(problem)

    def caught(self, part: str, trouble: Exception, file: object = "") -> None:
        """Adds a problem that an exception reports; messages of our own exceptions start with the file."""
        sentence = str(trouble) if isinstance(trouble, CentimeError) else f"{type(trouble).__name__}: {trouble}"
        place, separator, rest = sentence.partition(": ")
        if isinstance(trouble, OSError) and trouble.filename:
            place, separator, rest = str(trouble.filename), ": ", trouble.strerror or "cannot be read"
        if separator and "/" in place:
            self.wrong(part, rest, place)
        else:
            self.wrong(part, sentence, file)

    def counted(self, part: str, what: str, found: int, expected: int) -> None:
        """Compares a count with the expected one."""
        if found == expected:
            self.holds(part, what, found)
        else:
            self.wrong(part, f"{what}: {found}, should be {expected}")
