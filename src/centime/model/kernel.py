"""Compiled kernels: functions of arrays, built once by numba and kept on disk.

`kernel` is the only way this project compiles anything, so that one place decides how:

- compiled code is cached, so that a second run starts in well under a second;
- the interpreter lock is released, so that a progress display lives while a kernel works;
- floating arithmetic is never reordered (no `fastmath`): the same input gives the same bits.

With `NUMBA_DISABLE_JIT=1` the kernels run as plain Python, which is how their coverage is measured.
A kernel must therefore mean the same in both: cast explicitly (`np.int64(x)`), never rely on overflow.

`bare_kernel` and `bare_inlined` are compiled without counting references to arrays. Kernels that are handed dozens of
arrays and pass them on to many small parts pay several times the work itself for that count (the frontier: 1.3 against
9.6 M adds a second, and a third of the time to compile). Such a kernel may use arrays; it must not make any.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from numba import njit

P = ParamSpec("P")
R = TypeVar("R")

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_BARE: dict[str, Any] = {**_OPTIONS, "_nrt": False}

Whole = int | np.integer[Any]
"""A whole number as kernels take and give it: Python's own or one of an array."""


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """The compiled, cached form of a function of arrays and numbers."""
    return cast("Callable[P, R]", njit(cache=True, **_OPTIONS)(function))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """The same for a small part of other kernels: compiled into them, never cached by itself."""
    return cast("Callable[P, R]", njit(forceinline=True, **_OPTIONS)(function))


def bare_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """The compiled, cached form of a function that makes no arrays."""
    return cast("Callable[P, R]", njit(cache=True, **_BARE)(function))


def bare_inlined(function: Callable[P, R]) -> Callable[P, R]:
    """The same for a small part of other bare kernels."""
    return cast("Callable[P, R]", njit(forceinline=True, **_BARE)(function))
