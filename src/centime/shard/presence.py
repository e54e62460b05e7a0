"""Whether a page is there, as far as its visits have shown, and which change a visit is.

This is the one rule for the notices of subscribers and for `centime changes`: both take a visit by `visit_shows`, so
they list the same changes.

    a visit that                         a page that was    NEVER found    PRESENT     GONE
    finds it, the content is the same                       new                        back
    finds it, the content differs                           new            changed     back
    shows that it is gone, or gives it up                                  gone
    shows that it moved permanently                                        moved
    shows neither: a failure, another redirect, robots.txt

A visit that shows neither leaves the page as it was, however many there are, so what was known before them counts. A
page that moved permanently is not there any more: it counts as GONE.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from centime.model.kernel import inlined
from centime.model.outcome import Outcome, PageKind, Presence
from centime.shard.people.notices import Change
from centime.store.record import Mark, Record

NONE, NEW, CHANGED, GONE, BACK, MOVED = range(6)  # which change a visit is
CHANGES: Mapping[int, Change] = MappingProxyType(
    {NEW: Change.NEW, CHANGED: Change.CHANGED, GONE: Change.GONE, BACK: Change.BACK, MOVED: Change.MOVED}
)

_NEVER, _PRESENT, _GONE = int(Presence.NEVER), int(Presence.PRESENT), int(Presence.GONE)
_FOUND, _MOVED, _MARK = int(Outcome.UNCHANGED), int(Outcome.MOVED), int(Mark.CHANGED)
_FIRST, _LAST, _DEAD = int(PageKind.HTML), int(PageKind.OTHER), int(PageKind.DEAD)


@inlined
def finds(outcome: int, kind: int) -> bool:
    """Whether a visit finds the page. A 304 that answers the validators of an error page does not."""
    return outcome <= _FOUND and _FIRST <= kind <= _LAST


@inlined
def visit_shows(presence: int, outcome: int, kind: int, marks: int) -> tuple[int, int]:
    """The presence of a page after a visit, and the change that the visit is. `presence` is the one before it."""
    if finds(outcome, kind):
        if presence == _PRESENT:
            return _PRESENT, CHANGED if marks & _MARK else NONE
        return _PRESENT, BACK if presence == _GONE else NEW
    if kind == _DEAD and presence == _PRESENT:
        return _GONE, GONE
    if outcome == _MOVED and presence == _PRESENT:
        return _GONE, MOVED
    return presence, NONE


def presence_of(history: Iterable[Record]) -> Presence:
    """The presence of a page after its visits, the newest first. The newest record has it; records of a version that
    did not store it (before 0.2) are searched for one that shows it.
    """
    for record in history:
        if record.presence is not Presence.UNRECORDED:
            return record.presence
        if not record.signature:  # it was never read
            return Presence.NEVER
        if was_present(record):
            return Presence.PRESENT
        if record.kind == PageKind.DEAD or record.outcome is Outcome.MOVED:
            return Presence.GONE
    return Presence.NEVER


def was_present(record: Record | None) -> bool:
    """Whether the last visit of a page found it."""
    return record is not None and PageKind.HTML <= record.kind <= PageKind.OTHER
