"""Arguments of Python programs, checked before anything is done with them: BadSetting names the argument."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Real
from pathlib import Path

from centime.model.errors import BadInput, BadSetting, CentimeError


def real_number(value: object, name: str, most: float = sys.float_info.max) -> float:
    """A number from 0 to `most`, of Python or NumPy; NaN is refused."""
    if not isinstance(value, Real) or isinstance(value, bool) or value < 0 or not value <= most:
        raise BadSetting(f"{name} must be a number, 0 or more, not {value!r}")
    return float(value)


def folder_path(value: object) -> Path:
    """The folder of a crawl, given as text or as a path; absolute, because the program may change its directory."""
    if not isinstance(value, str | os.PathLike):
        raise BadSetting(f"folder must be text or a path, not {value!r}")
    name = os.fsdecode(value)
    if not name or "\0" in name:
        raise BadSetting(f"folder must be the name of a folder, not {name!r}")
    return Path(name).absolute()


def seed_words(value: object) -> list[str]:
    """Seeds as words: text as it is, a path as the name of a file that must be there; one of them, or many."""
    many = [value] if isinstance(value, str | os.PathLike) else value
    if not isinstance(many, Iterable) or isinstance(many, bytes):
        raise BadSetting(f"seeds must be text, paths of files, or several of them, not {value!r}")
    return [_word(one) for one in many]


def _word(seed: object) -> str:
    if isinstance(seed, str):
        return seed
    if not isinstance(seed, os.PathLike):
        raise BadSetting(f"a seed must be text or the path of a file, not {seed!r}")
    name = os.fsdecode(seed)
    if not _is_file(name):
        raise BadInput(f"{name}: there is no such file of seeds; a URL is given as text")
    return str(Path(name).absolute())  # so that it is not mistaken for a host


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False


@contextmanager
def opened_in(folder: Path) -> Iterator[None]:
    """Turns errors of the system while the crawl of a folder is opened into a CentimeError of one sentence."""
    try:
        yield
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else folder
        raise CentimeError(f"{where}: {error.strerror or error}") from error
