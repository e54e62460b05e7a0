"""Numba's side of kernels (`kernel.py`), imported when the first kernel is compiled or loaded."""

import fcntl
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from numba import types
from numba.core import event
from numba.core.registry import CPUDispatcher
from numba.np import linalg

from centime.model.kernel import Compiled, Part, activity
from centime.model.kernel_code import digest_of

_types: Any = types  # what numba tells of its types is of no use
_log = logging.getLogger("centime.compiling")
_locked: set[str] = set()  # files whose kernels this process is compiling


def _import_without_blas() -> None:
    """Imports what numba would import with the first kernel. It then looks for a BLAS, which no kernel of ours needs,
    in `scipy.linalg`, and this takes as long as all of numba. A kernel that calls `numpy.dot` finds it later.
    """
    looked_for = linalg.ensure_blas
    linalg.ensure_blas = _no_blas
    try:
        import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = looked_for


def _no_blas() -> None:
    raise ImportError("not looked for")


def make_dispatcher(compiled: Compiled) -> CPUDispatcher:
    """Numba's object for a kernel or a part."""
    kind = PartDispatcher if isinstance(compiled, Part) else KernelDispatcher
    dispatcher: Any = kind(compiled.function, targetoptions=dict(compiled.options))
    if compiled.cache:
        dispatcher.enable_caching()
        dispatcher._cache._cache_file._source_stamp = digest_of(compiled.function)
    return cast(CPUDispatcher, dispatcher)


class _Widening(CPUDispatcher):
    """Compiles once what kernels call with constants and with integers of several sizes."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The types of a call from a kernel: each combination is compiled, so integers of any size count as int64."""
        return super().get_call_template(tuple(map(_widened, args)), {name: _widened(kws[name]) for name in kws})


class KernelDispatcher(_Widening):
    """Compiles a kernel."""

    def compile(self, sig: Any) -> Any:
        """Compiles the kernel for these types, or loads it from the cache."""
        if sig in self.overloads:
            return super().compile(sig)
        with activity.lasting(), _alone(self.py_func.__code__.co_filename):
            return super().compile(sig)

    def is_cached(self) -> bool:
        """Whether numba has a file of this kernel, for whatever types."""
        function = self.py_func
        name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}-{function.__code__.co_firstlineno}.*"
        return any(Path(str(self.stats.cache_path)).glob(name))


class PartDispatcher(_Widening):
    """Compiles a part of kernels."""


def _widened(argument: Any) -> Any:
    plain = _types.unliteral(argument)
    return _types.int64 if isinstance(plain, _types.Integer) and plain.bitwidth < 64 else plain


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
        if isinstance(compiled, KernelDispatcher):
            _log.info("compiling %s.%s", compiled.py_func.__module__, compiled.py_func.__qualname__)

    def on_end(self, event: Any) -> None:
        """Notes that it is compiled."""
        activity.ended()


_listen: Any = event.register
_listen("numba:compile", _Reporter())
_import_without_blas()
activity.ended()
