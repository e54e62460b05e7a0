"""Which part of the history counts: the window policies of Adaptive OPIC, Section 3.3.

A measure is the pair (C, G): a page's cash when it was read, and the time. Times and lengths are in turnovers of the
`clock`: in one turnover, as much cash is paid as there is. The paper counts months, in each of which it crawls N pages.
Greedy finds about 2/n of the total on the page it reads (Section 3.1), so a month is about two turnovers, and "Fixed
Window 8 months" is `FixedWindow(16)`. Exactly, N visits take N * (mean cash found) / total turnovers, which
`statistics` reports (`paid`, `visits`). Random finds 1/n: a month is one turnover.

`whole_history` keeps the whole history or Interpolation, `measures` the other three windows. Each module has the
formula of its estimate.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from centime.model.errors import BadSetting

SHORTEST, LONGEST = 1 / 1024, 1024.0  # turnovers
MOST_MEASURES = 1024


@dataclass(frozen=True, slots=True)
class FixedWindow:
    """Counts the cash of a page's reads in the last `turnovers`."""

    turnovers: float

    def __post_init__(self) -> None:
        _check_length(self.turnovers)


@dataclass(frozen=True, slots=True)
class ImprovedFixedWindow:
    """The same, but always at least the last `minimum` measures of a page."""

    turnovers: float
    minimum: int = 3

    def __post_init__(self) -> None:
        _check_length(self.turnovers)
        _check_number(self.minimum)


@dataclass(frozen=True, slots=True)
class VariableWindow:
    """Counts the last `measures` measures of a page."""

    measures: int

    def __post_init__(self) -> None:
        _check_number(self.measures)


@dataclass(frozen=True, slots=True)
class Interpolation:
    """Counts the last `turnovers`, approximated by one sum per page."""

    turnovers: float

    def __post_init__(self) -> None:
        _check_length(self.turnovers)


Window = FixedWindow | ImprovedFixedWindow | VariableWindow | Interpolation
WINDOWS: dict[str, type[Window]] = {
    kind.__name__: kind for kind in (FixedWindow, ImprovedFixedWindow, VariableWindow, Interpolation)
}


def window_facts(window: Window | None) -> dict[str, Any] | None:
    """A window as plain values."""
    return None if window is None else {"policy": type(window).__name__, **asdict(window)}


def window_from_facts(facts: dict[str, Any] | None) -> Window | None:
    """The window with these values."""
    return (
        None
        if facts is None
        else WINDOWS[facts["policy"]](**{name: value for name, value in facts.items() if name != "policy"})
    )


def _check_length(turnovers: float) -> None:
    if not (math.isfinite(turnovers) and SHORTEST <= turnovers <= LONGEST):
        raise BadSetting(f"a window is 1/1024 to 1024 turnovers long, not {turnovers}")


def _check_number(measures: int) -> None:
    if not (isinstance(measures, int) and 2 <= measures <= MOST_MEASURES):
        raise BadSetting(f"a window keeps 2 to {MOST_MEASURES} measures per page (one spans no time), not {measures}")
