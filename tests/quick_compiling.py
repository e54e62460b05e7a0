"""Numba compiles a kernel in four fifths of its time: a fresh clone compiles some 400 of them for its tests.

Numba looks for each operation of a kernel (an addition of two integers, an element of an array) through all
implementations of that operation, again and again for the same types. It compares the options of the compiler at each
of them, name by name, and describes in colour why each implementation does not fit, for an error that nobody sees. Here
the answer is kept for the same operation, types and options. What is compiled is the same: numba keeps its
implementations by the same key."""

import os
from typing import Any

os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")  # numba reads it when it is imported

from numba.core import targetconfig
from numba.core.types import functions

_functions: Any = functions.BaseFunction  # methods of both classes are replaced
_options: Any = targetconfig.TargetConfig
_stack: Any = targetconfig.ConfigStack
_call_type, _equal = _functions.get_call_type, _options.__eq__
_hashes: dict[Any, int] = {}


def compile_quickly() -> None:
    """Lets this process compile so from now on."""
    _functions.get_call_type = _kept_call_type
    _options.__eq__ = _equal_at_once
    _options.__hash__ = _hash_of_names


def _kept_call_type(self: Any, context: Any, arguments: Any, named: Any) -> Any:
    kept = self.__dict__.setdefault("_kept_call_types", {})
    key = context, tuple(arguments), tuple(named.items()), _stack.top_or_none()
    if key not in kept:
        kept[key] = _call_type(self, context, arguments, named)
    return kept[key]


def _equal_at_once(self: Any, other: Any) -> Any:
    return self is other or _equal(self, other)


def _hash_of_names(self: Any) -> int:
    """The hash of the names of all options, as numba's is, but made once."""
    kind = type(self)
    if kind not in _hashes:
        _hashes[kind] = hash(tuple(sorted(kind.options)))
    return _hashes[kind]
