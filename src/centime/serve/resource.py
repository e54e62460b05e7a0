"""A resource: one thing that the window shows of a crawl, as a page, as JSON and as CSV, by its address.

    /c/NAME/RESOURCE                    for people
    /c/NAME/RESOURCE.json, .csv         the same, for programs
    /api/v1/crawls/NAME/RESOURCE        the same JSON, described by OpenAPI

A resource is a function from a glance and parameters to a report. A list is in `rows`; `next` is the cursor with which
the same address continues, None at the end.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from centime.model.errors import BadInput
from centime.serve.glance import Glance

Report = dict[str, Any]
WORDS = {
    "`int`": "a whole number",
    "`float`": "a number",
    "`bool`": "true or false",
    ">=": "of at least",
    "<=": "of at most",
}


class Parameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parameters of an address; subclasses have the fields."""


P = TypeVar("P", bound=Parameters)


@dataclass(frozen=True, kw_only=True)
class Resource(Generic[P]):
    """One thing that is shown."""

    name: str
    title: str
    summary: str
    parameters: type[P]
    report: Callable[[Glance, P], Report]
    columns: tuple[str, ...] = ()  # of its rows; () if it has none
    optional: tuple[str, ...] = ()  # of these, columns that only some answers have
    remembered: bool = True  # whether an answer holds as long as the state of the crawl does

    def read(self, given: Mapping[str, str]) -> P:
        """The parameters in an address; BadInput says which is wrong."""
        try:
            return msgspec.convert(
                {name: value for name, value in given.items() if value}, self.parameters, strict=False
            )
        except msgspec.ValidationError as trouble:
            raise BadInput(f"the address of {self.name} is wrong: {_in_words(str(trouble))}") from trouble


def _in_words(trouble: str) -> str:
    """What is wrong with a parameter, by its name."""
    if missing := re.fullmatch(r"Object missing required field `(\w+)`", trouble):
        return f"the parameter {missing[1]} is missing, as in ?{missing[1]}=..."
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", trouble, re.DOTALL):
        return f"there is no parameter {unknown[1]}"
    if wrong := re.fullmatch(r"(.*) - at `\$\.(\w+)`", trouble, re.DOTALL):
        words = wrong[1].partition(", got ")[0]
        for code, word in WORDS.items():
            words = words.replace(code, word)
        return f"the parameter {wrong[2]}: {words[:1].lower()}{words[1:]}"
    return trouble


def packed_cursor(*parts: float | int | str) -> str:
    """A cursor: where the next part of a list begins."""
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(parts)).decode().rstrip("=")


def unpacked_cursor(cursor: str, kind: Any) -> Any:
    """The parts of a cursor; BadInput if it was not made here."""
    try:
        packed = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        return msgspec.msgpack.decode(packed, type=kind)
    except (binascii.Error, ValueError, msgspec.DecodeError, msgspec.ValidationError) as trouble:
        raise BadInput("the cursor does not belong to this list") from trouble
