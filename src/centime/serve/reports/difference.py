"""What changed between any two versions of a page: sentences, with some that did not change around them."""

from collections.abc import Sequence
from typing import Any

from centime.crawl.report.versions import Versions
from centime.model.errors import BadInput
from centime.serve.glance import Glance
from centime.serve.resource import Parameters, Report, Resource
from centime.warehouse.comparison import changed_sentences

AROUND = 2  # sentences before and after a change
MOST_BODY = 4 << 20  # bytes of a version that is compared here
MOST_SENTENCES = 5_000


class VersionsWanted(Parameters, frozen=True, kw_only=True):
    """Which page, and which of its versions: numbers or times; by default the newest and the one before."""

    url: str
    old: str = ""
    new: str = ""


def difference(glance: Glance, wanted: VersionsWanted) -> Report:
    """The sentences that differ."""
    versions = Versions(glance.reader.folder.path, wanted.url)
    pair = versions.pair(wanted.old or None, wanted.new or None)
    documents = [versions.read(version) for version in pair]
    if max(len(document.body) for document in documents) > MOST_BODY:
        raise BadInput(f"{versions.url}: a version has more than {MOST_BODY >> 20} MiB; use centime diff")
    steps = changed_sentences(*documents)
    rows: list[Report] = []
    for place, step in enumerate(steps):
        if step.equal:
            rows += _around(step.old, first=place == 0, last=place == len(steps) - 1)
        else:
            rows += [{"sign": "-", "sentence": sentence} for sentence in step.old]
            rows += [{"sign": "+", "sentence": sentence} for sentence in step.new]
    old, new = ({"version": one.number, "time": one.time} for one in pair)
    return {
        "url": versions.url,
        "old": old,
        "new": new,
        "same": all(step.equal for step in steps),
        "cut": len(rows) > MOST_SENTENCES,
        "rows": rows[:MOST_SENTENCES],
        "next": None,
        "versions": [version["version"] for version in versions.listed()],
    }


def _around(sentences: Sequence[str], *, first: bool, last: bool) -> list[dict[str, Any]]:
    """Unchanged sentences next to a change, with a mark for those between."""
    begin = () if first else sentences[:AROUND]
    end = () if last else sentences[max(len(sentences) - AROUND, len(begin)) :]
    shown = [{"sign": " ", "sentence": one} for one in begin]
    if len(begin) + len(end) < len(sentences):
        shown.append({"sign": "…", "sentence": ""})
    return shown + [{"sign": " ", "sentence": one} for one in end]


DIFFERENCE = Resource(
    name="diff",
    title="Difference",
    summary="What changed between two versions of a page.",
    parameters=VersionsWanted,
    report=difference,
)
