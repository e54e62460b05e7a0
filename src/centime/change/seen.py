"""The report of a fetcher to the shard about the content of a page."""

import msgspec

from centime.change.reading import Difference
from centime.change.rule import Rule
from centime.change.specimen import Specimen


class Seen(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The verdict of a fetcher, which the host's noise may overrule, and the evidence for both."""

    verdict: int
    differences: tuple[Difference, ...] = ()
    hidden: bytes = b""  # the bytes written for the read if the last state stays
    state: bytes = b""  # the new state; empty if the last one stays
    twin: bool = False  # the page was read twice
    lessons: tuple[Rule, ...] = ()  # in force since the version after that of the fetcher's table
    covered: tuple[int, ...] = ()
    plain: bytes = b""  # the new state without the lessons, in case the table has changed meanwhile
    stirred: tuple[int, ...] = ()  # keys of the rules whose hidden words differ from before
    specimen: Specimen | None = None  # a new one, without words if the last one is no longer useful
    gaps: tuple[Rule, ...] = ()  # that would hide the differences from the last specimen
    merged: tuple[int, ...] = ()  # places of which one has differed, and it is not known which
    surprises: tuple[int, ...] = ()  # those of them that were not expected to differ on this page
    selected: bool = False  # a person has selected the compared part: the verdict is final, and teaches nothing
