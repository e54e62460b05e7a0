"""What subscribers are told: a notice is one page that changed, a batch is what one delivery carries.

    id of a notice      NUMBER@NAME             NUMBER counts all notices of the crawl, NAME is the subscription
    id of a batch       FIRST-LAST@NAME         the numbers of its first and its last notice

Numbers are given when the shard folds the visit, so a crawl that is killed and replayed gives the same ids: a
subscriber that has seen an id has seen the notice. A delivery may come twice (at least once is what is promised); by
its id it can be told.
"""

from enum import StrEnum
from typing import Any

import msgspec

MOST_TEXT = 200  # characters of what an XPath found that go with a notice


class Change(StrEnum):
    """What happened to a page."""

    NEW = "new"  # read for the first time
    CHANGED = "changed"  # the content that matters differs
    GONE = "gone"  # it is no longer there
    BACK = "back"  # it was gone and is there again


class Notice(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A page that changed, for one subscription. Changes that came before it could be told are told together."""

    number: int
    page: int
    url: str
    time: float  # when it was seen
    importance: float
    change: Change
    text: str = ""  # the beginning of what the XPath finds now
    changes: int = 1  # so many were seen
    first_time: float = 0.0  # when the first of them was seen


class Batch(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Notices that are delivered together; `up_to` is the number of the last."""

    name: str
    to: str
    notices: tuple[Notice, ...]

    @property
    def up_to(self) -> int:
        """The number of its last notice."""
        return self.notices[-1].number

    @property
    def id(self) -> str:
        """The same for the same notices of the same subscription, whenever they are delivered."""
        return f"{self.notices[0].number}-{self.up_to}@{self.name}"

    def facts(self) -> dict[str, Any]:
        """The batch as a subscriber gets it."""
        return {
            "id": self.id,
            "subscription": self.name,
            "changes": [notice_facts(self.name, notice) for notice in self.notices],
        }


def notice_facts(name: str, notice: Notice) -> dict[str, Any]:
    """A notice as a subscriber gets it."""
    return {
        "id": f"{notice.number}@{name}",
        "url": notice.url,
        "change": notice.change.value,
        "seen": notice.time,
        "first_seen": notice.first_time or notice.time,
        "changes": notice.changes,
        "importance": notice.importance,
        "text": notice.text,
    }
