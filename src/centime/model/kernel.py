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
called with large arrays. So a small crawl waits for little, and no work takes more than twice as long as it must. Only
kernels that give the same bits both ways may be late: integers, and floating-point numbers that are compared or scaled,
but not powers: of `2.0 ** x` compiled code makes `exp2(x)`, which has other last bits (`math.exp2` is the same both
ways).

Parts (`inlined`, `part`) are compiled into the kernels that call them. They lack the code for calls from Python, which
often takes longer to compile than the part itself; Python therefore calls them as plain Python. `kernel_of` makes a
kernel of a part.

Trap: numba does not recompile a cached kernel when only a part in another file has changed.
"""

import fcntl
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from numba import config, types
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

MOST_LATE_BYTES = 1 << 20  # of arrays, for a call as plain Python: linear work on more takes too long
LOADING_SECONDS = 0.05  # of CPU as plain Python, for a kernel in the cache: about as long as loading it takes
PREPARING_SECONDS = 0.7  # the same for all late kernels together, while numba has not prepared itself for its first one

_numba: Any = config  # what numba tells of its types is of no use
_types: Any = types
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


def late_kernel(seconds: float) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compiles and caches a function that creates no arrays once it pays: after `seconds` of CPU as plain Python, about
    as long as compiling takes.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        late = _compiled(function, _LateKernel, _KERNEL | _BARE, cache=True)
        if isinstance(late, _LateKernel):
            late.seconds = seconds
        return late

    return decorate


def compile_at_once() -> None:
    """Compiles late kernels at their first call from now on: for tests and benchmarks."""
    _LateKernel.at_once = True


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
        _LateKernel.preparing = 0.0
        with _alone(self.py_func.__code__.co_filename):
            return super().compile(sig)


class _LateKernel(_Kernel):
    """A compiled function that is plain Python at first. Once it is to be compiled, it becomes a `_Kernel`."""

    at_once = False
    preparing = PREPARING_SECONDS  # of CPU that are left to all of them, before numba prepares itself
    seconds = math.inf  # of CPU that are left to this one as plain Python
    _is_new = True

    def __call__(self, *arguments: Any) -> Any:
        """Calls the function as plain Python, or has it compiled."""
        if self._is_new:
            self._is_new = False
            if self._is_cached():
                self.seconds = min(self.seconds, LOADING_SECONDS)
        due = self.seconds <= 0.0 and _LateKernel.preparing <= 0.0
        if self.at_once or due or _bytes_of(arguments) > MOST_LATE_BYTES:
            self.__class__ = cast("type[_LateKernel]", _Kernel)
            return self(*arguments)
        started = time.process_time()
        try:
            return _plain(self.py_func(*arguments))
        finally:
            taken = time.process_time() - started
            self.seconds -= taken
            _LateKernel.preparing -= taken

    def _is_cached(self) -> bool:
        """Whether numba has a file of this kernel, for whatever types."""
        function = self.py_func
        name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}-{function.__code__.co_firstlineno}.*"
        return any(Path(str(self.stats.cache_path)).glob(name))


class _Part(CPUDispatcher):
    """A compiled function that only kernels call: it lacks the code for calls from Python."""

    def __call__(self, *arguments: Any) -> Any:
        """Calls the function as plain Python."""
        return self.py_func(*arguments)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The types of a call from a kernel: each combination is compiled, so integers of any size count as int64."""
        return super().get_call_template(tuple(map(_widened, args)), {name: _widened(kws[name]) for name in kws})


def _plain(result: Any) -> Any:
    """What compiled code returns: Python's own numbers instead of numpy's."""
    return tuple(map(_plain, result)) if isinstance(result, tuple) else getattr(result, "item", lambda: result)()


def _bytes_of(arguments: Iterable[Any]) -> int:
    """The bytes of all arrays among the arguments, and in tuples among them."""
    return sum(_bytes_of(one) if isinstance(one, tuple) else getattr(one, "nbytes", 0) for one in arguments)


def _widened(argument: Any) -> Any:
    plain = _types.unliteral(argument)
    return _types.int64 if isinstance(plain, _types.Integer) and plain.bitwidth < 64 else plain


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
