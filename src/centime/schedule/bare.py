"""Kernels that own nothing: compiled without counting references to arrays.

The kernels of this folder are given all of the frontier's arrays at once (`Tables`) and pass them on to many small parts. Counting
references at each of these steps costs several times the work itself. Such a kernel may use arrays; it must not make any.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """The compiled, cached form of a function that makes no arrays."""
    return cast("Callable[P, R]", njit(cache=True, **_OPTIONS)(function))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """The same for a small part of other kernels: compiled into them, never cached by itself."""
    return cast("Callable[P, R]", njit(forceinline=True, **_OPTIONS)(function))
