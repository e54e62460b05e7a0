"""Compiled kernels: functions of arrays that numba compiles once and caches on disk.

All compiled code of the project goes through this module, so the options are the same everywhere:

- Compiled code is cached, so a second run starts in well under a second.
- A kernel releases the interpreter lock, so a progress display stays alive while it works.
- Floating-point arithmetic is never reordered (no `fastmath`): the same input gives the same bits.

With `NUMBA_DISABLE_JIT=1` the kernels run as plain Python; this is how their coverage is measured. A kernel must give
the same result both ways: cast explicitly (`np.int64(x)`), and never rely on overflow.

`bare_kernel`, `bare_inlined` and `bare_part` compile without reference counts for arrays. For a kernel that takes
dozens of arrays and passes them on to many small parts, these counts cost several times the work itself (the frontier:
1.3 instead of 9.6 million adds a second, and three times the time to compile). A bare kernel may use arrays but must
not create any.

Compiling takes seconds (docs/decisions/first-use.md). A process compiles a kernel when it first calls it and reports
that to the logger `centime.compiling`. When several processes need the same kernel, one compiles it and the others wait
and load it. Parts (`inlined`, `part`) are compiled into the kernels that call them; Python cannot call them, because
the code for such a call often takes longer to compile than the part itself. `kernel_of` makes a part callable.

Traps: each combination of argument types compiles a part again, so pass int64 everywhere, not also int32. Numba does
not recompile a cached kernel when only a part in another file has changed.
"""

import fcntl
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

import numpy as np
from numba import config
from numba.core import event
from numba.core.registry import CPUDispatcher

P = ParamSpec("P")
R = TypeVar("R")

_KERNEL: dict[str, Any] = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "forceinline": False,  # numba would inherit it from a caller that is inlined itself
    "no_cfunc_wrapper": True,  # nothing calls kernels from C
}
_PART = _KERNEL | {"no_cpython_wrapper": True}
_INLINED = _PART | {"forceinline": True}
_BARE: dict[str, Any] = {"_nrt": False}

Whole = int | np.integer[Any]
"""An integer as kernels accept and return it: Python's own type or one of numpy's."""

_numba: Any = config  # its type has no names
_log = logging.getLogger("centime.compiling")
_locked: set[str] = set()  # files whose kernels this process is compiling


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles and caches a function of arrays and numbers."""
    return _compiled(function, _Kernel, _KERNEL, cache=True)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles a small function into the kernels that call it; it has no cache of its own."""
    return _compiled(function, _Part, _INLINED)


def part(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles a large function together with the kernels that call it; LLVM decides where to inline it."""
    return _compiled(function, _Part, _PART)


def bare_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles and caches a function that creates no arrays."""
    return _compiled(function, _Kernel, _KERNEL | _BARE, cache=True)


def bare_inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles a small function into the bare kernels that call it."""
    return _compiled(function, _Part, _INLINED | _BARE)


def bare_part(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles a large function together with the bare kernels that call it."""
    return _compiled(function, _Part, _PART | _BARE)


def kernel_of(called: Callable[P, R]) -> Callable[P, R]:
    """Makes a kernel that only calls a part, so that Python can call it; it is not cached."""
    function = cast("Callable[..., Any]", called)

    def alone(*arguments: Any) -> Any:
        return function(*arguments)

    return _compiled(cast("Callable[P, R]", alone), _Kernel, _KERNEL)


class _Kernel(CPUDispatcher):
    """A compiled function that Python calls."""

    def compile(self, sig: Any) -> Any:
        """Compiles the kernel for these types, or loads it from the cache."""
        if sig in self.overloads:
            return super().compile(sig)
        with _alone(self.py_func.__code__.co_filename):
            return super().compile(sig)


class _Part(CPUDispatcher):
    """A compiled function that only kernels call: it lacks the code for calls from Python."""

    def __call__(self, *arguments: object, **keywords: object) -> NoReturn:
        """Raises an error; without it, the process would crash."""
        raise TypeError(f"{self.py_func.__name__} is part of kernels; call kernel_of({self.py_func.__name__}) instead")


def _compiled(
    function: Callable[P, R], kind: type[CPUDispatcher], options: dict[str, Any], *, cache: bool = False
) -> Callable[P, R]:
    if _numba.DISABLE_JIT:
        return function
    compiled = kind(function, targetoptions=dict(options))
    if cache:
        compiled.enable_caching()
    return cast("Callable[P, R]", compiled)


@contextmanager
def _alone(file: str) -> Iterator[None]:
    """Holds a lock on the kernels of a file: no other process compiles them meanwhile."""
    with ExitStack() as held:
        if file not in _locked:  # a kernel may call another one of the same file
            with suppress(OSError):  # without the lock, two processes may do the same work
                source = held.enter_context(Path(file).open("rb"))
                fcntl.flock(source, fcntl.LOCK_EX)
                _locked.add(file)
                held.callback(_locked.discard, file)
        yield


class _Reporter(event.Listener):
    """Reports kernels that are compiled rather than loaded."""

    def on_start(self, event: Any) -> None:
        """Logs the name of a kernel."""
        compiled = event.data["dispatcher"]
        if isinstance(compiled, _Kernel):
            _log.info("compiling %s.%s", compiled.py_func.__module__, compiled.py_func.__qualname__)

    def on_end(self, event: Any) -> None:
        """Does nothing."""


_listen: Any = event.register
_listen("numba:compile", _Reporter())
