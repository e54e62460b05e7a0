"""Figures of all crawls in the text format of Prometheus, made anew for each scrape."""

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

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
COUNTERS = {"received_bytes": "Bytes received.", "refused_links": "Links that the crawl refused."}
Figures = dict[str, float]


class _Figures:
    def __init__(self, found: Mapping[str, Figures | None], outcomes: Mapping[str, Mapping[str, int]], clients: int):
        self._found = found
        self._outcomes = outcomes
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
        for name, counts in self._outcomes.items():
            for outcome, count in counts.items():
                visits.add_metric([name, outcome], count)
        yield visits
        clients = GaugeMetricFamily("centime_event_clients", "Clients that listen to events.")
        clients.add_metric([], self._clients)
        yield clients

    def _filled(self, family: "GaugeMetricFamily | CounterMetricFamily", metric: str) -> Metric:
        for name, figures in self._found.items():
            if figures is not None and metric in figures:
                family.add_metric([name], figures[metric])
        return family


async def metrics(crawls: Mapping[str, ServedCrawl], clients: int) -> tuple[bytes, str]:
    """The metrics of all crawls, and their media type."""
    found: dict[str, Figures | None] = {}
    outcomes: dict[str, Mapping[str, int]] = {}
    for name, crawl in crawls.items():
        try:
            found[name], outcomes[name] = (await crawl.ask("metrics", _figures)).value
        except CentimeError:
            found[name] = None
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures(found, outcomes, clients))
    return generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4


def _figures(glance: Glance) -> tuple[Figures, Mapping[str, int]]:
    shard, facts = glance.reader.shard, glance.statistics
    path = glance.reader.folder.path
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
        "notices_waiting": shard.requests.subscriptions.waiting,
        "subscribers_in_trouble": len(read_troubles(path)),
        "running": float(bool(running(path))),
        "last_visit_timestamp_seconds": shard.pages.last_time(),
        "received_bytes": facts["wire_bytes"],
        "refused_links": sum(facts["refused"].values()),
    }
    if error is not None:
        figures["certified_error_ratio"] = error
    return figures, facts["outcomes"]
