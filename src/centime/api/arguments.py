"""Arguments of Python programs, checked before anything is done with them: BadSetting names the argument."""

import sys
from numbers import Integral, Real

from centime.model.errors import BadSetting


def whole_number(value: object, name: str) -> int:
    """A whole number, 0 or more, of Python or NumPy."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
        raise BadSetting(f"{name} must be a whole number, 0 or more, not {value!r}")
    return int(value)


def real_number(value: object, name: str, most: float = sys.float_info.max) -> float:
    """A number from 0 to `most`, of Python or NumPy; NaN is none."""
    if not isinstance(value, Real) or isinstance(value, bool) or value < 0 or not value <= most:
        raise BadSetting(f"{name} must be a number, 0 or more, not {value!r}")
    return float(value)
