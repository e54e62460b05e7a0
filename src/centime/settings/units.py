"""Numbers with units, as users write them: times, rates, bandwidths and sizes, in seconds, per second and in bytes."""

import re

from centime.model.errors import BadSetting

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}


def seconds(text: str | float) -> float:
    """Seconds of a time: `90`, `90s`, `10m`, `2h`, `1d`."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhd]?)\s*", str(text), re.ASCII)
    if not found:
        raise BadSetting(f"a time is a number followed by s, m, h or d, such as 10m, not {text!r}")
    return float(found[1]) * _SECONDS[found[2] or "s"]


def per_second(text: str | float) -> float:
    """A rate per second: `50`, `50/s`, `3000/m`, `1000000/d`."""
    number, _, unit = str(text).partition("/")
    try:
        return float(number) / _SECONDS[unit.strip()[:1] or "s"]
    except (ValueError, KeyError):
        raise BadSetting(f"a rate is a number per second, minute, hour or day, such as 50/s, not {text!r}") from None


def size(text: str | float) -> float:
    """Bytes of a size: `4GB`, `512MiB`, `1000000`."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", str(text).lower(), re.ASCII)
    if not found or (found[2] or "b") not in _BYTES:
        raise BadSetting(f"a size is a number of bytes, such as 4GB or 512MiB, not {text!r}")
    return float(int(float(found[1]) * _BYTES[found[2] or "b"]))


def bytes_per_second(text: str | float) -> float:
    """Bytes per second of a bandwidth: `500KB/s`, `2GB/day`."""
    amount, _, unit = str(text).partition("/")
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", amount.lower(), re.ASCII)
    if not found or (found[2] or "b") not in _BYTES or (unit.strip()[:1] or "s") not in _SECONDS:
        raise BadSetting(f"a bandwidth is an amount per time, such as 500KB/s or 2GB/day, not {text!r}")
    return float(found[1]) * _BYTES[found[2] or "b"] / _SECONDS[unit.strip()[:1] or "s"]
