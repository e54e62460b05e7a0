"""What a change was, for those who are told of it: the sentences that differ, and of XML documents the delta, from the
stored versions. Everything has a limit: what is beyond it can be had by `centime diff`.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from centime.crawl.report.versions import Versions
from centime.model.errors import CentimeError
from centime.shard.people.notices import Change, Notice
from centime.warehouse.comparison import XML, changed_sentences
from centime.warehouse.tree import NotWellFormed
from centime.warehouse.written_delta import operations

WITH_DIFFERENCE = (Change.CHANGED, Change.BACK, Change.VOLATILE)
MOST_BODY = 1 << 20  # bytes of a version that is compared
MOST_TOLD = 1 << 16  # bytes of sentences, and of a delta, in a notice
MOST_DIFFERENCES = 200  # in a batch
MOST_VERSIONS = 100  # of an XML document whose nodes are numbered


def add_differences(folder: Path, facts: dict[str, Any], notices: Sequence[Notice]) -> None:
    """Adds `diff` to the facts of each notice; None if the versions are not stored, and behind the first notices."""
    for number, (told, notice) in enumerate(zip(facts["changes"], notices, strict=True)):
        wanted = number < MOST_DIFFERENCES and notice.change in WITH_DIFFERENCE
        told["diff"] = _difference(folder, notice) if wanted else None


def _difference(folder: Path, notice: Notice) -> dict[str, Any] | None:
    try:
        versions = Versions(folder, notice.url)
        pair = versions.around(
            notice.first_before or notice.before,
            notice.before,
            notice.time,
            was_gone=notice.change is Change.BACK,
        )
        if pair is None:
            return None
        documents = [versions.read(version) for version in pair]
    except (CentimeError, OSError):  # a notice is told whatever became of the versions
        return None
    told: dict[str, Any] = {"from": pair[0].time, "to": pair[1].time, "sentences": None, "delta": None}
    if max(len(document.body) for document in documents) > MOST_BODY:
        return told
    steps = changed_sentences(*documents)
    told["sentences"] = _bounded([{"old": list(one.old), "new": list(one.new)} for one in steps if not one.equal])
    if all(document.form() == XML for document in documents) and len(versions) <= MOST_VERSIONS:
        with suppress(NotWellFormed):
            told["delta"] = _bounded(operations(versions.trees(*pair)))
    return told


def _bounded(found: list[Any]) -> list[Any] | None:
    """What was found, or None if it is too long for a notice."""
    return found if len(msgspec.json.encode(found)) <= MOST_TOLD else None
