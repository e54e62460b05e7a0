"""Focus weights: the virtual page gives pages of a focus class `weight` times as much as others.

    e_k = 16 · weight of class k, a whole number from 1 to 2^20

Whole sixteenths let money be divided exactly. The bound keeps the sum of all e within 63 bits.
"""

from centime.model.errors import BadSetting

FOCUS_UNIT = 16  # e of weight 1
MOST_FOCUS_UNITS = 2**20
FOCUS_CLASSES = 128  # class 0 holds the pages of no focus


def focus_units(weight: float) -> int:
    """The weight in sixteenths; BadSetting if they are not whole or not within bounds."""
    units = weight * FOCUS_UNIT
    if not 1 <= units <= MOST_FOCUS_UNITS or units % 1:
        most = MOST_FOCUS_UNITS // FOCUS_UNIT
        raise BadSetting(f"a focus weight is a multiple of 1/{FOCUS_UNIT} from 1/{FOCUS_UNIT} to {most}, not {weight}")
    return int(units)


def check_class(focus: int) -> None:
    """Raises BadSetting unless this is the number of a focus class."""
    if not 0 <= focus < FOCUS_CLASSES:
        raise BadSetting(f"there are focus classes 0 to {FOCUS_CLASSES - 1}, not {focus}")
