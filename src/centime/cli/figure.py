"""Values for people: with their unit, and with significant digits only.

The name of a value ends with its unit (`output.py`): `latency_seconds`, 0.0021 becomes `latency`, 2.1 ms. Programs get
the exact value, from --json and --csv."""

from collections.abc import Container, Sequence
from math import inf, isfinite

from centime.cli.visible import visible

DIGITS = 4
NAMING = ("port", "process", "seed")  # numbers that name something, and are no amount
MEASURED = ("seconds", "bytes", "percent")
TIMES = (("ms", 1e-3, 1.0), ("s", 1.0, 120.0), ("min", 60.0, 7_200.0), ("h", 3_600.0, 172_800.0), ("d", 86_400.0, inf))
SIZES = (("B", 1.0), ("KB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12))
UNITS = (*(unit for unit, *_ in TIMES), *(unit for unit, _ in SIZES), "%")
GROUPED = 10_000  # from here on, commas part the digits of a whole number


def label(name: str, values: Sequence[object] = (), others: Container[str] = ()) -> str:
    """The name of a fact or a column in words, without the unit if its values show it, unless it is then another's."""
    stem, unit = name.rpartition("_")[0], _unit(name)
    ends = name.endswith(f"_{unit}") and unit in ("seconds", "percent")
    if values and stem and stem not in others and ends and all(map(_is_number, values)):
        name = stem
    return visible(name.replace("_", " "))


def shown(name: str, value: object) -> str:
    """A value in words."""
    unit = _unit(name)
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int() if name in NAMING:
            return str(value)
        case int() | float() if unit == "seconds":
            return _time(value)
        case int() | float() if unit == "bytes":
            return _size(value)
        case int() | float() if unit == "percent":
            return f"{_number(value)} %"
        case int() | float():
            return _number(value)
        case dict():
            units = {part: str(part) if _unit(str(part)) in MEASURED else name for part in value}
            return ", ".join(f"{label(str(part))} {shown(units[part], one)}" for part, one in value.items())
        case [low, None] if _is_interval(name):
            return f"at least {shown(name, low)}" if low else "unknown"
        case list():
            return ", ".join(shown(name, one) for one in value)
        case _:
            return visible(str(value))


def _unit(name: str) -> str:
    """The unit that a name ends with. A number before `percent` is the level of an interval, whose ends have the unit
    of what it is an interval of: `changes_per_day_90_percent`.
    """
    stem, _, unit = name.rpartition("_")
    return _unit(stem.rpartition("_")[0]) if _is_interval(name) else unit


def _is_interval(name: str) -> bool:
    stem, _, unit = name.rpartition("_")
    return unit == "percent" and stem.rpartition("_")[2].isdecimal()


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _number(value: float) -> str:
    if isinstance(value, int) or (isfinite(value) and abs(value) >= 10**DIGITS):
        return f"{value:,.0f}" if abs(value) >= GROUPED else f"{value:.0f}"
    return f"{value:.{DIGITS}g}"


def _time(seconds: float) -> str:
    unit, size, _ = next((time for time in TIMES if abs(seconds) < time[2]), TIMES[-1])
    return f"{seconds / size:.3g} {unit}" if abs(seconds / size) < 1000 else f"{seconds / size:,.0f} {unit}"


def _size(count: float) -> str:
    unit, size = next((pair for pair in reversed(SIZES) if abs(count) >= pair[1]), SIZES[0])
    return f"{count / size:.3g} {unit}" if abs(count / size) < 999.5 else f"{count / size:.0f} {unit}"
