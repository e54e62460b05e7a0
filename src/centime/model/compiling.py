"""Numba's side of kernels (`kernel.py`), imported when the first kernel is compiled or loaded.

Compiled kernels of this package are kept in `~/.cache/centime/kernels` (`$XDG_CACHE_HOME/centime/kernels`), each under
its name and the digest of all that it depends on: its code, numba's version, the options of the compiler. So all
environments of a user, and a CI that keeps this folder, share them, whatever version of Centime they have, and removing
the package leaves nothing behind in its folder. The last few of each kernel are kept. `NUMBA_CACHE_DIR`, or a home
without permission to write, leaves the choice of the folder to numba.
"""

import fcntl
import hashlib
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numba
from numba import types
from numba.core import caching, config, event
from numba.core.registry import CPUDispatcher
from numba.np import linalg

from centime.model.kernel import Compiled, Part, activity
from centime.model.kernel_code import digest_of

_types: Any = types  # numba's own type hints are not usable
_config: Any = config
_index_of: Any = caching.IndexDataCacheFile
_log = logging.getLogger("centime.compiling")
_locked: set[str] = set()  # files whose kernels this process is compiling

KEPT = 6  # of the versions of a kernel


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
        dispatcher.keep_in(_shared_folder(compiled.__module__), digest_of(compiled.function))
    return cast(CPUDispatcher, dispatcher)


def _shared_folder(module: str) -> Path | None:
    """Where the kernels of a module are kept; None if numba decides."""
    if os.environ.get("NUMBA_CACHE_DIR") or not module.startswith("centime."):
        return None
    try:
        given = Path(os.environ.get("XDG_CACHE_HOME", ""))
        folder = (given if given.is_absolute() else Path.home() / ".cache") / "centime" / "kernels"
        folder.mkdir(0o700, parents=True, exist_ok=True)
        facts = folder.stat()
    except (OSError, RuntimeError):  # there may be no home
        return None
    ours = facts.st_uid == os.geteuid() and not facts.st_mode & 0o022  # its files are executed
    return folder if ours and os.access(folder, os.W_OK | os.X_OK) else None


class _Widening(CPUDispatcher):
    """Compiles once what kernels call with constants and with integers of several sizes."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The types of a call from a kernel: each combination is compiled, so integers of any size count as int64."""
        return super().get_call_template(tuple(map(_widened, args)), {name: _widened(kws[name]) for name in kws})


class KernelDispatcher(_Widening):
    """Compiles a kernel."""

    _cache: Any
    _cache_misses: dict[Any, int]

    def keep_in(self, folder: Path | None, digest: str) -> None:
        """Has numba use compiled code as long as the digest is the same, and keep it in a folder, by default of its own
        choice."""
        everything = repr((digest, numba.__version__, sorted(self.targetoptions.items()), _config.BOUNDSCHECK))
        stamp = hashlib.sha256(everything.encode()).hexdigest()
        if folder is None:
            self._cache._cache_file._source_stamp = stamp
        else:
            self._cache._cache_path = str(folder)
            self._cache._cache_file = _index_of(str(folder), f"{self._family}{stamp[:24]}", stamp)

    @property
    def _family(self) -> str:
        """The prefix of the names of files with this kernel, of any version."""
        function = self.py_func
        return f"{function.__module__}.{function.__qualname__}-{sys.implementation.cache_tag}-"

    def compile(self, sig: Any) -> Any:
        """Compiles the kernel for these types, or loads it from the cache."""
        if sig in self.overloads:
            return super().compile(sig)
        with activity.lasting(), _alone(self.py_func.__code__.co_filename):
            found = super().compile(sig)
            if self._cache_misses.get(sig):
                self._remove_old()
            return found

    def is_cached(self) -> bool:
        """Whether numba has a file of this kernel, for any types."""
        return isinstance(self._cache, caching.Cache) and Path(self._cache._cache_file._index_path).exists()

    def _remove_old(self) -> None:
        """Removes all but the last few versions of this kernel."""
        folder = Path(str(self.stats.cache_path))
        with suppress(OSError):  # another process may do the same
            indexes = sorted(folder.glob(f"{self._family}*.nbi"), key=lambda path: path.stat().st_mtime)
            for old in (path for index in indexes[:-KEPT] for path in folder.glob(f"{index.stem}.*")):
                old.unlink()


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
