"""Notices and batches: a notice is one page that changed, a batch is the notices of one delivery.

    id of a notice      NUMBER@NAME             NUMBER counts all notices of the crawl, NAME is the subscription
    id of a batch       FIRST-LAST@NAME         the numbers of its first and its last notice
    in partition P      P.NUMBER@NAME, P.FIRST-LAST@NAME: each partition of a crawl counts its own

Numbers are assigned when the shard folds a visit, so a crawl that is killed and replayed assigns the same ids. Delivery
is at least once: a batch can arrive twice, and a subscriber recognises it by its id.
"""

from enum import StrEnum
from typing import Any

import msgspec

from centime.model.ids import PageId

MOST_TEXT = 65_536  # characters of a condition's result in a notice


class Change(StrEnum):
    """The kind of change of a page."""

    NEW = "new"  # read for the first time
    CHANGED = "changed"  # the content differs
    GONE = "gone"  # no longer there
    BACK = "back"  # there again after it was gone or had moved
    MOVED = "moved"  # redirects permanently: 301, 308
    VOLATILE = "volatile"  # a part counts as volatile from now on, or for weeks only such parts have differed


class When(StrEnum):
    """The changes of a condition's result of which a subscriber is notified."""

    ALWAYS = ""
    APPEARS = "appears"  # a node begins to match, or words appear
    VANISHES = "vanishes"  # a node no longer matches, or words vanish


class Condition(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The part of a page whose changes count: the results of an XPath, or whether words are there; with both, words in
    the results of the XPath. Without any, the page itself.
    """

    xpath: str = ""
    words: str = ""
    when: When = When.ALWAYS

    def __bool__(self) -> bool:
        return bool(self.xpath or self.words)


class Notice(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A page that changed, for one subscription. Changes seen before the notice is delivered are merged into one."""

    number: int
    page: PageId
    url: str
    time: float  # when the last change was seen
    importance: float
    change: Change
    new: str = ""  # the present result of the condition
    changes: int = 1  # the number of changes that were merged
    first_time: float = 0.0  # when the first of them was seen; 0 if there is only one
    old: str | None = None  # its result before the first of them; None if it was never evaluated
    before: float = 0.0  # when the page was visited before the last of them
    first_before: float = 0.0  # when it was visited before the first of them; 0 if there is only one
    status: int = 0  # of the HTTP response; 0 if there was none
    target: str = ""  # where the page moved to
    # Only markup or volatile parts of the page differ, and the condition was not evaluated before: the subscriber is
    # notified if the stored versions show that its result has changed.
    doubtful: bool = False


class Batch(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Notices that are delivered together to one subscriber."""

    name: str
    to: str
    notices: tuple[Notice, ...]
    condition: Condition = Condition()
    source: str = ""  # before its numbers: the partition and a dot, if the crawl has several

    @property
    def up_to(self) -> int:
        """The number of the last notice."""
        return self.notices[-1].number

    @property
    def id(self) -> str:
        """The id of the batch, the same whenever the same notices are delivered."""
        return f"{self.source}{self.notices[0].number}-{self.up_to}@{self.name}"

    def facts(self) -> dict[str, Any]:
        """The batch as a subscriber receives it, in JSON."""
        return {
            "id": self.id,
            "subscription": self.name,
            "changes": [notice_facts(self.name, notice, self.source) for notice in self.notices],
        }


def notice_facts(name: str, notice: Notice, source: str = "") -> dict[str, Any]:
    """A notice as a subscriber receives it, in JSON."""
    return {
        "id": f"{source}{notice.number}@{name}",
        "url": notice.url,
        "change": notice.change.value,
        "seen": notice.time,
        "first_seen": notice.first_time or notice.time,
        "changes": notice.changes,
        "status": notice.status or None,
        "moved_to": notice.target or None,
        "importance": notice.importance,
        "old": notice.old,
        "new": notice.new,
    }
