"""The state of a crawl: what it knows and has, its curves, its pace and budget, its error, and present problems."""

from typing import Any, Literal

import msgspec
import numpy as np

from centime.cluster.opening import missing_in_words
from centime.cluster.report.merging import figures_together
from centime.cluster.status import read_status
from centime.crawl.commands.inbox import running
from centime.crawl.engine.reader import CrawlReader
from centime.crawl.notify.delivery import read_troubles
from centime.crawl.report.opening import moment
from centime.crawl.report.sorting import first_by
from centime.crawl.report.truth import read_truth
from centime.serve.glance import Glance
from centime.serve.resource import Parameters, Report, Resource
from centime.store.figures import NAMES, RINGS, read_figures

SPANS = {"hour": 10, "day": 60, "months": 3600, "years": 86_400}
Over = Literal["hour", "day", "months", "years"]
MOST_TROUBLES = 20
MOST_TOP = 10
SHOWN_MINUTES = 60  # during which the takeover of a partition is shown
FAILING_SHARE = 0.2  # of visits, from which on it is reported
TRUTH = (
    "The certified error is about the links as they were read, and the crawl's freshness is an estimate from changes "
    "seen so far; the truth is that of this moment. A web that has changed since it was read is further from the copy "
    "than what is certified."
)

ALWAYS = ("journal", "snapshots", "state", "bodies")  # parts that every folder has


class OverviewWanted(Parameters, frozen=True, kw_only=True):
    """The time that curves show."""

    over: Over = "day"


def overview(glance: Glance, wanted: OverviewWanted) -> Report:
    """The figures of the crawl, their past and present problems."""
    path, settings = glance.path, glance.settings
    readers = glance.parts.readers
    statistics = dict(glance.statistics)
    statistics.pop("folder")
    process = running(path)
    figures = _rows(glance, wanted.over)
    return {
        **statistics,
        "fresh_share": glance.fresh_share,
        "largest_error": glance.parts.errors["largest_error"],
        "running": bool(process),
        "created": moment(min(reader.folder.created for reader in readers)),
        "last_visit": moment(max(reader.shard.pages.last_time() for reader in readers)),
        "rate": settings.facts().get("rate"),
        "bandwidth": settings.facts().get("bandwidth"),
        "continuous": settings.continuous,
        **(_pace(figures) if process else {"pages_per_second": 0.0, "bytes_per_second": 0.0}),
        "wrong": _wrong(glance, bool(process)),
        "curves": figures,
        "top": _top(glance),
        "truth": None if (truth := read_truth(path)) is None else msgspec.to_builtins(truth) | {"note": TRUTH},
    }


def _top(glance: Glance) -> list[dict[str, Any]]:
    """The most important pages."""
    rows: list[dict[str, Any]] = []
    for one in glance.each:
        best = first_by(one.importance, min(MOST_TOP, int(np.count_nonzero(one.ranked))))
        urls = one.reader.shard.pages.texts.get_many(best)
        rows += [{"importance": float(one.importance[page]), "url": url} for page, url in zip(best, urls, strict=True)]
    return sorted(rows, key=lambda row: -row["importance"])[:MOST_TOP]


def _rows(glance: Glance, over: Over) -> list[dict[str, float | None]]:
    span = SPANS[over]
    each = [
        [
            {name: None if np.isnan(row[name]) else float(row[name]) for name in NAMES} | {"span_seconds": span}
            for row in read_figures(reader.folder.path, span)
        ]
        for reader in glance.parts.readers
    ]
    return each[0] if len(each) == 1 else figures_together(each, span)


def _pace(rows: list[dict[str, Any]]) -> Report:
    """Pages and bytes per second between the last two figures."""
    if len(rows) < 2:
        return {"pages_per_second": None, "bytes_per_second": None}
    before, last = rows[-2:]
    passed = max(1e-9, last["time"] - before["time"])
    return {
        "pages_per_second": max(0.0, last["visits"] - before["visits"]) / passed,
        "bytes_per_second": max(0.0, last["wire_bytes"] - before["wire_bytes"]) / passed,
    }


def _wrong(glance: Glance, is_running: bool) -> list[str]:
    """Problems that need a person's attention, one sentence each."""
    sentences = [f"{sentence[0].upper()}{sentence[1:]}." for sentence in missing_in_words(glance.path)]
    if glance.settings.continuous and not is_running:
        sentences.append("The crawl is set to refresh its pages, but no process runs it.")
    visits = sum(glance.statistics["outcomes"].values())
    failed = sum(glance.statistics["errors"].values())
    if visits and failed > FAILING_SHARE * visits:
        sentences.append(f"{failed:,} of {visits:,} visits failed.")
    if glance.parts.is_cluster and is_running:
        sentences += _taken_over(glance)
    for reader in glance.parts.readers:
        sentences += _wrong_in(glance, reader)
    return sentences


def _taken_over(glance: Glance) -> list[str]:
    """The partitions that another process took over recently, one sentence each."""
    status = read_status(glance.path)
    sentences = []
    for one in [] if status is None else status.partitions:
        minutes = int((glance.now - one.taken_over_at) / 60.0)
        if one.why and minutes < SHOWN_MINUTES:
            ago = "just now" if minutes < 1 else "a minute ago" if minutes == 1 else f"{minutes} minutes ago"
            sentences.append(f"Partition {one.partition} was taken over {ago}: {one.why}.")
    return sentences


def _wrong_in(glance: Glance, reader: CrawlReader) -> list[str]:
    """The problems of the crawl, or of one of its partitions."""
    shard = reader.shard
    sentences = [*reader.damaged, *_missing(glance, reader)]
    for name, trouble in list(read_troubles(reader.folder.path).items())[:MOST_TROUBLES]:
        sentences.append(f"The subscriber {name} could not be notified: {trouble.reason}")
    troubled = [host for host in shard.hosts.all if host.trouble and host.politeness.failures > 2]
    troubled.sort(key=lambda host: -host.known)
    sentences += [f"{host.name} fails: {host.trouble}" for host in troubled[:5]]
    if shard.bounds.dropped:
        sentences.append(f"{shard.bounds.dropped:,} pages were dropped to save memory (--most-pages, --most-memory).")
    if shard.late_visits:
        sentences.append(f"{shard.late_visits:,} visits came back after their lease was over.")
    return sentences


def _missing(glance: Glance, reader: CrawlReader) -> list[str]:
    """The parts of the folder that were deleted, one sentence each."""
    folder, settings = reader.folder, reader.settings
    parts = (*ALWAYS, "versions") if settings.keep == "versions" and glance.statistics["read"] else ALWAYS
    gone = [part for part in parts if not (folder.path / part).is_dir()]
    sentences = [f"The folder {folder.path / part} is missing: its contents are lost or elsewhere." for part in gone]
    if settings.keeps_index() and glance.statistics["read"] and not folder.index.exists():
        sentences.append(f"The index of the pages is missing: centime index {folder.path} makes it again.")
    return sentences


class FiguresWanted(Parameters, frozen=True, kw_only=True):
    """Which time: an hour in steps of ten seconds, a day in minutes, months in hours, years in days."""

    over: Over = "day"


def figure_list(glance: Glance, wanted: FiguresWanted) -> Report:
    """The figures over time, the oldest first."""
    return {"steps": dict(RINGS)[SPANS[wanted.over]], "rows": _rows(glance, wanted.over), "next": None}


OVERVIEW = Resource(
    name="overview",
    title="Overview",
    summary="The state of the crawl and its history.",
    parameters=OverviewWanted,
    report=overview,
)
FIGURES = Resource(
    name="figures",
    title="Figures",
    summary="The figures of the crawl over time, which the crawl itself writes.",
    parameters=FiguresWanted,
    report=figure_list,
    columns=(*NAMES, "span_seconds"),
)
