"""Every exception that Centime raises on purpose:

    CentimeError
    ├── BadInput              an argument or a file of the caller is invalid; the message says what and where
    │   ├── BadGraph          a link graph is inconsistent or malformed
    │   ├── BadRow            the links of a page cannot be recorded
    │   └── BadSetting        a parameter is out of range
    ├── UnknownPage           the ledger does not know this page
    ├── NoText                a stored document has no text, or none that can be read; the message says why
    ├── NotReached            rounding does not allow the requested error to be certified
    ├── DamagedFile           a file of Centime has a wrong checksum, version or length
    │   └── DamagedCrawl      so that the crawl in a folder does not open; `centime repair` restores it
    ├── OldFormat             a crawl folder of an older format, which must be upgraded first
    ├── NewFormat             a crawl folder of a newer format, which this version cannot read
    ├── NoRoom                the disk is full, or a file has reached its largest size
    ├── InUse                 another process writes in this folder, or another call runs this crawl
    ├── FolderGone            the folder of a crawl was moved or deleted while the crawl ran
    ├── FileGone              a file was deleted or replaced while a crawl wrote to it
    ├── JournalMismatch       a broken invariant: replaying the journal gives another state
    ├── LedgerImbalance       a broken invariant: money appeared or vanished
    ├── ScheduleBroken        a broken invariant: the frontier or the refresh book contradicts itself
    ├── TransferBroken        a broken invariant: a batch of another partition is not the one that comes next
    ├── InterestBroken        a broken invariant: interest does not follow from the links and the visits
    └── StoreBroken           a broken invariant: the store contradicts itself, or is used after it was closed

The caller can correct a `BadInput`: it ends a command with exit code 2. The others end it with exit code 1.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class CentimeError(Exception):
    """The base of all exceptions of Centime."""


class BadInput(CentimeError):
    """An argument or a file of the caller is invalid."""


class BadGraph(BadInput):
    """A link graph is inconsistent or malformed."""


class BadRow(BadInput):
    """The links of a page cannot be recorded."""


class BadSetting(BadInput):
    """A parameter is out of range."""


class UnknownPage(CentimeError):
    """The ledger does not know this page."""


class NoText(CentimeError):
    """A stored document has no text, or none that can be read."""


class NotReached(CentimeError):
    """Rounding does not allow the requested error to be certified."""


class DamagedFile(CentimeError):
    """A file of Centime has a wrong checksum, version or length."""


class DamagedCrawl(DamagedFile):
    """A crawl does not open because of a damaged file; `folder` is what `centime repair` takes."""

    def __init__(self, sentence: str, folder: "Path") -> None:
        super().__init__(sentence)
        self.folder = folder


class OldFormat(CentimeError):
    """A crawl folder of an older format, which must be upgraded first."""


class NewFormat(CentimeError):
    """A crawl folder of a newer format, which this version cannot read."""


class NoRoom(CentimeError):
    """The disk is full, or a file has reached its largest size."""


class InUse(CentimeError):
    """Another process writes in this folder, or another call runs this crawl."""


class FolderGone(CentimeError):
    """The folder of a crawl was moved or deleted while the crawl ran."""


class FileGone(CentimeError):
    """A file was deleted or replaced while a crawl wrote to it, or after the bodies of pages were left in it."""


class JournalMismatch(CentimeError):
    """Replaying the journal gives another state: a defect, never a user's fault."""


class LedgerImbalance(CentimeError):
    """Money appeared or vanished: a defect, never a user's fault."""


class ScheduleBroken(CentimeError):
    """The frontier or the refresh book contradicts itself: a defect, never a user's fault."""


class TransferBroken(CentimeError):
    """A batch of another partition is not the one that comes next."""


class InterestBroken(CentimeError):
    """Interest does not follow from the links and the visits: a defect, never a user's fault."""


class StoreBroken(CentimeError):
    """The store contradicts itself, or is used after it was closed: a defect, never a user's fault."""
