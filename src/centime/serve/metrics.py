"""Figures of all crawls in the text format of Prometheus, computed for each scrape."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from centime.cluster.report.facts import cluster_facts
from centime.crawl.commands.inbox import running
from centime.crawl.notify.delivery import read_troubles
from centime.model.errors import CentimeError
from centime.serve.glance import Glance
from centime.serve.served_crawl import ServedCrawl

GAUGES = {
    "known_pages": "Pages that the crawl knows.",
    "read_pages": "Pages whose last visit found them.",
    "fresh_pages": "Copies that are estimated to be fresh.",
    "fresh_ratio": "Estimated share of the copy that is fresh, by importance.",
    "hosts": "Hosts that the crawl knows.",
    "links": "Known links between known pages.",
    "frontier_pages": "Pages that wait to be fetched.",
    "leased_pages": "Pages that a fetcher has now.",
    "retry_pages": "Pages that failed and are tried again later.",
    "certified_error_ratio": "Bound of the mean error of importance, whose mean is 1.",
    "notices_waiting": "Notices that wait for their subscribers.",
    "subscribers_in_trouble": "Subscribers that could not be notified.",
    "running": "1 if a process crawls in the folder now.",
    "last_visit_timestamp_seconds": "When a page was last visited.",
}
PARTS = {
    "known": ("partition_known_pages", "Pages that a partition knows."),
    "frontier": ("partition_frontier_pages", "Pages of a partition that wait to be fetched."),
    "pending_batches": ("partition_pending_batches", "Batches of a partition that others have not applied yet."),
    "in_flight_share": ("partition_in_flight_ratio", "Money in batches that are in transit, as a share of all money."),
    "taken_over": ("partition_taken_over", "How often another process took over in this run."),
    "running": ("partition_running", "1 if a process runs the partition and answers."),
}
COUNTERS = {"received_bytes": "Bytes received.", "refused_links": "Links that the crawl refused."}
Figures = dict[str, float]


class Measured(NamedTuple):
    """The figures of a crawl, its visits by outcome, and the facts of its partitions, if it has any."""

    figures: Figures
    outcomes: Mapping[str, int]
    partitions: list[dict[str, Any]]


class _Figures:
    def __init__(self, found: Mapping[str, "Measured | None"], clients: int) -> None:
        self._found = {name: None if one is None else one.figures for name, one in found.items()}
        self._measured = {name: one for name, one in found.items() if one is not None}
        self._clients = clients

    def collect(self) -> Iterator[Metric]:
        """All metrics."""
        up = GaugeMetricFamily("centime_up", "1 if the crawl can be read.", labels=["crawl"])
        for name, figures in self._found.items():
            up.add_metric([name], 0.0 if figures is None else 1.0)
        yield up
        for metric, words in GAUGES.items():
            yield self._filled(GaugeMetricFamily(f"centime_{metric}", words, labels=["crawl"]), metric)
        for metric, words in COUNTERS.items():
            yield self._filled(CounterMetricFamily(f"centime_{metric}", words, labels=["crawl"]), metric)
        visits = CounterMetricFamily("centime_visits", "Visits by outcome.", labels=["crawl", "outcome"])
        for name, one in self._measured.items():
            for outcome, count in one.outcomes.items():
                visits.add_metric([name, outcome], count)
        yield visits
        yield from self._partitions()
        clients = GaugeMetricFamily("centime_event_clients", "Clients that listen to events.")
        clients.add_metric([], self._clients)
        yield clients

    def _partitions(self) -> Iterator[Metric]:
        """The figures of partitions; a crawl in one folder has none."""
        for column, (metric, words) in PARTS.items():
            family = GaugeMetricFamily(f"centime_{metric}", words, labels=["crawl", "partition"])
            for name, one in self._measured.items():
                for row in one.partitions:
                    value = row["state"] == "running" if column == "running" else row[column]
                    if value is not None:
                        family.add_metric([name, str(row["partition"])], float(value))
            yield family

    def _filled(self, family: "GaugeMetricFamily | CounterMetricFamily", metric: str) -> Metric:
        for name, figures in self._found.items():
            if figures is not None and metric in figures:
                family.add_metric([name], figures[metric])
        return family


async def metrics(crawls: Mapping[str, ServedCrawl], clients: int) -> tuple[bytes, str]:
    """The metrics of all crawls, and their media type."""
    found: dict[str, Measured | None] = {}
    for name, crawl in crawls.items():
        try:
            found[name] = (await crawl.ask("metrics", _measured)).value
        except CentimeError:
            found[name] = None
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures(found, clients))
    return generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4


def _measured(glance: Glance) -> Measured:
    facts, readers = glance.statistics, glance.parts.readers
    shards = [reader.shard for reader in readers]
    error = facts["certified_error"]
    figures: Figures = {
        "known_pages": facts["known"],
        "read_pages": facts["read"],
        "fresh_pages": facts["fresh"],
        "fresh_ratio": glance.fresh_share,
        "hosts": facts["hosts"],
        "links": facts["links"],
        "frontier_pages": facts["frontier"],
        "leased_pages": facts["leased"],
        "retry_pages": facts["retry"],
        "notices_waiting": sum(shard.requests.subscriptions.waiting for shard in shards),
        "subscribers_in_trouble": len({name for one in readers for name in read_troubles(one.folder.path)}),
        "running": float(bool(running(glance.path))),
        "last_visit_timestamp_seconds": max(shard.pages.last_time() for shard in shards),
        "received_bytes": facts["wire_bytes"],
        "refused_links": sum(facts["refused"].values()),
    }
    if error is not None:
        figures["certified_error_ratio"] = error
    partitions = cluster_facts(glance.parts)["rows"] if glance.parts.is_cluster else []
    return Measured(figures, facts["outcomes"], partitions)
