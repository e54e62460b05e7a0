"""Every exception that Centime raises on purpose, in one tree:

    CentimeError
    ├── BadInput              what was given cannot be used; the sentence says what and where
    │   ├── BadGraph          a link graph that breaks its own rules
    │   ├── BadRow            links of a page that cannot be recorded
    │   └── BadSetting        a parameter out of its range
    ├── UnknownPage           a page that the ledger does not know
    ├── NotReached            an error was asked for that rounding does not let be certified
    ├── DamagedFile           a file of ours whose checksum, version or length is wrong
    ├── NoRoom                the disk is full, or a file has reached its largest size
    ├── InUse                 another process writes in this folder
    ├── JournalMismatch       a broken invariant: the journal read again gives another state
    ├── LedgerImbalance       a broken invariant: money appeared or vanished
    ├── ScheduleBroken        a broken invariant: the frontier contradicts itself
    └── StoreBroken           a broken invariant: the store contradicts itself, or is used after it was closed

A `BadInput` is the caller's to mend and ends a command with code 2; the others end it with code 1.
"""


class CentimeError(Exception):
    """The root: catch this to catch all of ours."""


class BadInput(CentimeError):
    """What was given cannot be used."""


class BadGraph(BadInput):
    """A link graph that breaks its own rules."""


class BadRow(BadInput):
    """Links of a page that cannot be recorded."""


class BadSetting(BadInput):
    """A parameter out of its range."""


class UnknownPage(CentimeError):
    """A page that the ledger does not know."""


class NotReached(CentimeError):
    """An error was asked for that rounding does not let be certified."""


class DamagedFile(CentimeError):
    """A file of ours whose checksum, version or length is wrong."""


class NoRoom(CentimeError):
    """The disk is full, or a file has reached its largest size."""


class InUse(CentimeError):
    """Another process writes in this folder."""


class JournalMismatch(CentimeError):
    """The journal, read again, gives another state: a defect, never a user's fault."""


class LedgerImbalance(CentimeError):
    """Money appeared or vanished: a defect, never a user's fault."""


class ScheduleBroken(CentimeError):
    """The frontier contradicts itself: a defect, never a user's fault."""


class StoreBroken(CentimeError):
    """The store contradicts itself, or is used after it was closed: a defect, never a user's fault."""
