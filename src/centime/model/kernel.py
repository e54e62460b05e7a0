"""Compiled kernels: functions of arrays that numba compiles once and caches on disk.

All compiled code of the project goes through this module, so the options are the same everywhere:

- Compiled code is cached, so a second run starts in well under a second.
- A kernel releases the interpreter lock, so a progress display stays alive while it works.
- Floating-point arithmetic is never reordered (no `fastmath`): the same input gives the same bits.

With `NUMBA_DISABLE_JIT=1` the kernels run as plain Python; this is how their coverage is measured. A kernel must give
the same result both ways: cast explicitly (`np.int64(x)`), and never rely on overflow.

`bare_kernel` and `bare_inlined` compile without reference counts for arrays. For a kernel that takes dozens of arrays
and passes them on to many small parts, these counts cost several times the work itself (the frontier: 1.3 instead of
9.6 million adds a second, and three times the time to compile). A bare kernel may use arrays but must not create any.
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
"""An integer as kernels accept and return it: Python's own type or one of numpy's."""


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles and caches a function of arrays and numbers."""
    return cast("Callable[P, R]", njit(cache=True, **_OPTIONS)(function))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles a small function into the kernels that call it; it has no cache of its own."""
    return cast("Callable[P, R]", njit(forceinline=True, **_OPTIONS)(function))


def bare_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles and caches a function that creates no arrays."""
    return cast("Callable[P, R]", njit(cache=True, **_BARE)(function))


def bare_inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles a small function into the bare kernels that call it."""
    return cast("Callable[P, R]", njit(forceinline=True, **_BARE)(function))
