"""The kind of a page in the frontier: its level (how urgent it is) and its focus class, in one small number.

    kind = level · 128 + class,   level 1..5,   class 0..127

Levels: 1 a requisite that a page needs to be shown, 2 a published change, 3 a subscription's deadline, 4 refresh, 5
discovery. All pages of a class get the same offset from the virtual page's money, so an offset never reorders a class.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

LEVELS = 5
CLASSES = 128
KINDS = (LEVELS + 1) * CLASSES

REQUISITE, PUBLISHED, DEADLINE, REFRESH, DISCOVERY = range(1, LEVELS + 1)
OUTSIDE_LEVEL = LEVELS + 1  # of a page that is not in the frontier


def kind_of(level: int, focus: int = 0) -> int:
    """The kind of a level and a focus class."""
    return level * CLASSES + focus


def kinds_of(levels: npt.NDArray[Any], focuses: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
    """The kinds of arrays of levels and focus classes."""
    return (np.asarray(levels, dtype=np.uint16) * np.uint16(CLASSES) + np.asarray(focuses, dtype=np.uint16)).astype(
        np.uint16
    )
