"""The changes between any two versions of a page: sentences, with some unchanged ones around them."""

from centime.crawl.report.versions import Versions
from centime.model.errors import BadInput
from centime.serve.glance import Glance
from centime.serve.resource import Parameters, Report, Resource
from centime.warehouse.changed_rows import changed_rows
from centime.warehouse.comparison import changed_sentences

MOST_BODY = 4 << 20  # bytes of a version that is compared here
MOST_SENTENCES = 5_000


class VersionsWanted(Parameters, frozen=True, kw_only=True):
    """Which page, and which of its versions: numbers or times; by default the newest and the one before."""

    url: str
    old: str = ""
    new: str = ""


def difference(glance: Glance, wanted: VersionsWanted) -> Report:
    """The sentences that differ."""
    versions = Versions(glance.owner(wanted.url).reader.folder.path, wanted.url)
    old_name, new_name = wanted.old or None, wanted.new or None
    if old_name and new_name and versions.at(old_name).number > versions.at(new_name).number:
        old_name, new_name = new_name, old_name  # the two selections of a form, in either order
    pair = versions.pair(old_name, new_name)
    documents = [versions.read(version) for version in pair]
    if max(len(document.body) for document in documents) > MOST_BODY:
        raise BadInput(f"{versions.url}: a version has more than {MOST_BODY >> 20} MiB; use centime diff")
    steps = changed_sentences(*documents)
    rows = [{"sign": sign, "sentence": old or new} for sign, old, new in changed_rows(steps)]
    old, new = ({"version": one.number, "time": one.time} for one in pair)
    return {
        "url": versions.url,
        "old": old,
        "new": new,
        "same": all(step.equal for step in steps),
        "cut": len(rows) > MOST_SENTENCES,
        "rows": rows[:MOST_SENTENCES],
        "next": None,
        "versions": [{name: version[name] for name in ("version", "time")} for version in versions.listed()],
    }


DIFFERENCE = Resource(
    name="diff",
    title="Difference",
    summary="What changed between two versions of a page.",
    parameters=VersionsWanted,
    report=difference,
)
