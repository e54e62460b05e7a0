"""The digest of a kernel's code: its own, that of every part that is compiled into it, and the constants of both.

Numba keeps a compiled kernel as long as the file of the kernel is the same. A part or a table in another file may have
changed meanwhile, by an upgrade or an edit, and the old code would silently stay in use. With this digest as its stamp,
a compiled kernel is used exactly as long as everything that was compiled into it is unchanged, and in the same modules.
Comments, docstrings and the places of lines do not count.
"""

import hashlib
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from centime.model.kernel import Compiled


def digest_of(function: Callable[..., Any]) -> str:
    """The digest of a function and all that it uses, as far as it is code of kernels or constant."""
    total = hashlib.sha256()
    seen: set[Any] = set()
    waiting = [function]
    while waiting:
        one = waiting.pop()
        if one.__code__ in seen:
            continue
        seen.add(one.__code__)
        where = one.__module__, one.__qualname__  # compiled code finds its parts by these when it is loaded
        total.update(repr((where, _described(one.__code__, one.__doc__))).encode())
        for name in _names(one.__code__):
            value = one.__globals__.get(name, _MISSING)
            if isinstance(value, Compiled):
                waiting.append(value.function)
                value = "compiled"
            total.update(f"{name}={_constant(value)};".encode())
    return total.hexdigest()


_MISSING = object()


def _names(code: CodeType) -> list[str]:
    inner = [name for one in code.co_consts if isinstance(one, CodeType) for name in _names(one)]
    return [*code.co_names, *inner]


def _described(code: CodeType, document: str | None) -> tuple[object, ...]:
    """The instructions and constants of a function."""
    constants = [
        _described(one, None) if isinstance(one, CodeType) else (type(one).__name__, repr(one))
        for one in code.co_consts
        if one is None or one != document
    ]
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_argcount


def _constant(value: object) -> str:
    """A constant by its content; other things (modules, classes, functions that are not compiled) by their names."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    if isinstance(value, int | float | complex | str | bytes | tuple | frozenset | np.generic | type(None)):
        return f"{type(value).__name__}:{value!r}"
    return str(getattr(value, "__qualname__", None) or getattr(value, "__name__", type(value).__qualname__))
