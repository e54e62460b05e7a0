"""Counts that programs give, such as the number of best pages: checked before use."""

from numbers import Integral

from centime.model.errors import BadSetting


def whole_number(value: object, name: str) -> int:
    """A whole number, 0 or more, of Python or NumPy."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
        raise BadSetting(f"{name} must be a whole number, 0 or more, not {value!r}")
    return int(value)
