"""What a check has proven and what it found wrong: values, so that one problem does not hide the next."""

from dataclasses import dataclass, field
from typing import Any

from centime.model.errors import CentimeError


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: in which part of the crawl, in which file if it is in one, and what, with the byte or
    the page.
    """

    part: str
    file: str
    what: str


@dataclass(slots=True)
class Proof:
    """What was looked at."""

    proven: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def holds(self, part: str, what: str, count: int, since: int | None = None) -> None:
        """Notes that something holds, for so many; not if there were more problems than `since` when it was looked
        at.
        """
        if since is None or len(self.problems) == since:
            self.proven.append({"part": part, "proven": what, "count": count})

    def wrong(self, part: str, what: str, file: object = "") -> None:
        """Notes a problem, once."""
        problem = Problem(part, str(file), what)
        if problem not in self.problems:
            self.problems.append(problem)

    def caught(self, part: str, trouble: Exception, file: object = "") -> None:
        """Notes a problem that came as an exception; ours begin with the file they are about."""
        sentence = str(trouble) if isinstance(trouble, CentimeError) else f"{type(trouble).__name__}: {trouble}"
        place, separator, rest = sentence.partition(": ")
        if isinstance(trouble, OSError) and trouble.filename:
            place, separator, rest = str(trouble.filename), ": ", trouble.strerror or "cannot be read"
        if separator and "/" in place:
            self.wrong(part, rest, place)
        else:
            self.wrong(part, sentence, file)

    def counted(self, part: str, what: str, found: int, expected: int) -> None:
        """Holds two counts against each other."""
        if found == expected:
            self.holds(part, what, found)
        else:
            self.wrong(part, f"{what}: {found}, should be {expected}")
