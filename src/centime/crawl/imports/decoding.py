"""JSON that others have written: decoded, or not of the format, whatever is wrong with it.

A value that is nested too deeply for the decoder is as wrong as a missing bracket: it costs its own line or record.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec

T = TypeVar("T")


class NotJson(ValueError):
    """A text is no JSON of the wanted form; the message says why."""


def decoder_of(form: type[T]) -> Callable[[bytes | str], T]:
    """What decodes a text to a value of this form; it raises NotJson, and nothing else."""
    decode = msgspec.json.Decoder(form).decode

    def decoded(text: bytes | str) -> T:
        try:
            return decode(text)
        except RecursionError as wrong:
            raise NotJson("it is nested too deeply") from wrong
        except (msgspec.MsgspecError, ValueError) as wrong:
            raise NotJson(str(wrong)) from wrong

    return decoded
