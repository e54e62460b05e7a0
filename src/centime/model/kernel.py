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
and load it.

A `late_kernel` runs as plain Python until compiling pays: until it has taken about as long as compiling takes, or is
called with large arrays. So a small crawl waits little, and no work takes more than twice the least time. Only
kernels that give the same bits both ways may be late: integers, and floating-point numbers that are compared or scaled,
but not powers: compiled code turns `2.0 ** x` into `exp2(x)`, whose last bits differ (`math.exp2` is the same both
ways).

Parts (`inlined`, `part`) are compiled into the kernels that call them. They lack the code for calls from Python, which
often takes longer to compile than the part itself; Python therefore calls them as plain Python. `kernel_of` makes a
kernel of a part.

Numba itself is imported when the first kernel is compiled or loaded (`compiling.py`): the import takes a third of a
second, which commands that only read need not wait for.

A compiled kernel is used as long as its code, that of its parts and their constants are the same (`kernel_code.py`).
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, ParamSpec, TypeVar, cast

import numpy as np

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

MOST_LATE_BYTES = 1 << 20  # of arrays, for a call as plain Python: linear work on more takes too long
PREPARING_SECONDS = (
    1.0  # the same for all late kernels together, until numba is imported and prepared for its first one
)


class Activity:
    """Whether this process imports numba, compiles or loads kernels, and when it last imported or compiled. The import
    takes a third of a second, and compiling seconds, but many times that on a machine that is busy.
    """

    def __init__(self) -> None:
        self._under_way = 0
        self._lock = threading.Lock()
        self._ended = float("-inf")

    @contextmanager
    def lasting(self) -> Iterator[None]:
        """Marks the time in a block."""
        with self._lock:
            self._under_way += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way -= 1

    def ended(self) -> None:
        """Notes that something was imported or compiled rather than loaded."""
        self._ended = time.monotonic()

    def within(self, seconds: float) -> bool:
        """Whether it lasts, or ended not more than some seconds ago."""
        return self._under_way > 0 or time.monotonic() - self._ended < seconds


activity = Activity()
_is_disabled = os.environ.get("NUMBA_DISABLE_JIT", "") not in ("", "0")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles and caches a function of arrays and numbers."""
    return _made(function, Kernel, _KERNEL)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles a small function into the kernels that call it; it has no cache of its own."""
    return _made(function, Part, _INLINED)


def part(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles a large function together with the kernels that call it; LLVM decides where to inline it."""
    return _made(function, Part, _PART)


def bare_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles and caches a function that creates no arrays."""
    return _made(function, Kernel, _KERNEL | _BARE)


def bare_inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles a small function into the bare kernels that call it."""
    return _made(function, Part, _INLINED | _BARE)


def bare_part(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles a large function together with the bare kernels that call it."""
    return _made(function, Part, _PART | _BARE)


def late_kernel(seconds: float) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compiles and caches a function that creates no arrays once it pays: after `seconds` of CPU as plain Python, about
    as long as compiling takes.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        late = _made(function, LateKernel, _KERNEL | _BARE)
        if isinstance(late, LateKernel):
            late.seconds = seconds
        return late

    return decorate


def compile_at_once() -> None:
    """Compiles late kernels at their first call from now on: for tests and benchmarks."""
    LateKernel.at_once = True


def kernel_of(called: Callable[P, R]) -> Callable[P, R]:
    """Makes a kernel that only calls a part, so that Python can call it; it is not cached."""
    function = cast("Callable[..., Any]", called)

    def alone(*arguments: Any) -> Any:
        return function(*arguments)

    return _made(cast("Callable[P, R]", alone), Kernel, _KERNEL, cache=False)


class Compiled:
    """A function that numba compiles; to numba it is its dispatcher."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], *, cache: bool) -> None:
        self.function = function
        self.options = options
        self.cache = cache
        self._dispatcher: Any = None
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__module__ = function.__module__

    @property
    def dispatcher(self) -> Any:
        """Numba's object for this function."""
        if self._dispatcher is None:
            with activity.lasting():
                from centime.model.compiling import make_dispatcher

            self._dispatcher = make_dispatcher(self)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """The type by which a kernel knows another one, or a part, that it calls."""
        return self.dispatcher._numba_type_


class Kernel(Compiled):
    """A compiled function that Python calls."""

    def __call__(self, *arguments: Any) -> Any:
        """Calls the compiled function; compiles or loads it first if need be."""
        return (self._dispatcher or self.dispatcher)(*arguments)


class LateKernel(Kernel):
    """A compiled function that is plain Python at first. Once it is to be compiled, it becomes a `Kernel`."""

    at_once: ClassVar = False
    preparing: ClassVar = PREPARING_SECONDS  # of CPU that are left to all of them, before numba is there
    seconds: float  # of CPU that are left to this one as plain Python
    _is_new = True

    def __call__(self, *arguments: Any) -> Any:
        """Calls the function as plain Python, or has it compiled."""
        if self.at_once or self._is_due() or _bytes_of(arguments) > MOST_LATE_BYTES:
            self.__class__ = cast("type[LateKernel]", Kernel)
            return self(*arguments)
        started = time.process_time()
        try:
            return _plain(self.function(*arguments))
        finally:
            taken = time.process_time() - started
            self.seconds -= taken
            LateKernel.preparing -= taken

    def _is_due(self) -> bool:
        if LateKernel.preparing > 0.0 and "numba" not in sys.modules:
            return False
        if self._is_new:
            self._is_new = False
            if self.dispatcher.is_cached():  # a process that has come this far runs long: it is loaded at once
                self.seconds = 0.0
        return self.seconds <= 0.0


class Part(Compiled):
    """A compiled function that only kernels call: it lacks the code for calls from Python."""

    def __call__(self, *arguments: Any) -> Any:
        """Calls the function as plain Python."""
        return self.function(*arguments)


def _made(
    function: Callable[P, R], kind: type[Compiled], options: dict[str, Any], *, cache: bool = True
) -> Callable[P, R]:
    if _is_disabled:
        return function
    return cast("Callable[P, R]", kind(function, options, cache=cache and kind is not Part))


def _plain(result: Any) -> Any:
    """The result as compiled code returns it: Python's own numbers instead of numpy's."""
    return tuple(map(_plain, result)) if isinstance(result, tuple) else getattr(result, "item", lambda: result)()


def _bytes_of(arguments: Iterable[Any]) -> int:
    """The bytes of all arrays among the arguments, and in tuples among them."""
    return sum(_bytes_of(one) if isinstance(one, tuple) else getattr(one, "nbytes", 0) for one in arguments)
