"""Decodes JSON of other programs; every defect raises the same exception.

A value that is nested too deeply for the decoder counts as malformed: only its own line or record is lost.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec

T = TypeVar("T")


class NotJson(ValueError):
    """A text is not JSON of the expected form; the message says why."""


def decoder_of(form: type[T]) -> Callable[[bytes | str], T]:
    """A function that decodes a text to a value of this form; it raises NotJson and nothing else."""
    decode = msgspec.json.Decoder(form).decode

    def decoded(text: bytes | str) -> T:
        try:
            return decode(text)
        except RecursionError as wrong:
            raise NotJson("it is nested too deeply") from wrong
        except (msgspec.MsgspecError, ValueError) as wrong:
            raise NotJson(str(wrong)) from wrong

    return decoded
