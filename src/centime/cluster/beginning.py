"""Prepares a run of a crawl in partitions: its folder, the options of this run, and what of them is divided."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from centime.cluster.coordinator import Coordinator
from centime.cluster.folder import (
    DIVIDED,
    MOST_PARTITIONS,
    USUAL_CLUSTER,
    ClusterFolder,
    is_cluster,
    nodes_of,
    open_cluster,
    refuse_plain,
)
from centime.cluster.opening import settings_of, totals_in
from centime.crawl.engine.assembly import new_ledger
from centime.crawl.engine.loop import Limits
from centime.crawl.engine.memory import half_of_memory
from centime.model.errors import BadInput, BadSetting
from centime.processes.clock import RunClock
from centime.settings.crawl import CrawlSettings
from centime.settings.reading import settings_from
from centime.store.folder import is_crawl

USUAL_PARTITIONS = 16


@contextmanager
def cluster_run(
    path: Path,
    seeds: Sequence[str],
    given: Mapping[str, Any],
    limits: Limits,
    *,
    cluster: str | None = None,
    partitions: int | None = None,
    replicas: int | None = None,
    where: str = "options",
    trust: bool = False,
) -> Iterator[Coordinator]:
    """A run of the crawl in a folder, which is created if it is missing."""
    clock = RunClock()
    if cluster is not None:
        nodes_of(cluster)
    if partitions is not None and not 2 <= partitions <= MOST_PARTITIONS:
        raise BadSetting(f"partitions: there are 2 to {MOST_PARTITIONS}, not {partitions}")
    refuse_plain(path)
    fresh = not is_cluster(path)
    if fresh and not seeds:
        raise BadInput(f"{path}: there is no crawl to continue; give a seed to start one")
    if fresh:
        begun = _settings(None, given, partitions or USUAL_PARTITIONS, where)  # refuses before anything is written
        _refuse_replicas(replicas or 0, cluster or USUAL_CLUSTER, begun)
    with open_cluster(path, partitions, USUAL_PARTITIONS, clock()) as folder:
        about = folder.about
        options = about.pending | dict(given)
        words = [*about.seeds, *(word for word in seeds if word not in about.seeds)]
        settings = _settings(folder, options, about.partitions, where)
        totals = totals_in(settings, options)
        before = {"most-memory": float(half_of_memory()), "workers": float(about.partitions)} | about.totals
        where_to, copies = cluster or about.cluster, about.replicas if replicas is None else replicas
        _refuse_replicas(copies, where_to, settings)
        folder.keep(pending=options, seeds=words, totals=before | totals, cluster=where_to, replicas=copies)
        shared = {name: value for name, value in options.items() if name not in DIVIDED}
        yield Coordinator(folder, words, shared, settings, limits, where=where, trust=trust, clock=clock)


def _settings(folder: ClusterFolder | None, given: Mapping[str, Any], partitions: int, where: str) -> CrawlSettings:
    """The settings of the crawl with new options; BadSetting if one is refused."""
    start = CrawlSettings()
    if folder is not None and is_crawl(folder.folder_of(0)):
        start = settings_of(folder.path)
    settings = settings_from(dict(given) | {"partitions": partitions}, where=where, start=start)
    new_ledger(settings, None)
    return settings


def _refuse_replicas(replicas: int, cluster: str, settings: CrawlSettings) -> None:
    if replicas not in (0, 1):
        raise BadSetting(f"replicas: there is none or 1, not {replicas}")
    if replicas and nodes_of(cluster) < 2:
        raise BadSetting("replicas: a replica is kept by another node; give --cluster local:2 or more")
    if replicas and settings.keep != "none":
        raise BadSetting("replicas: stored bodies have no replica yet; give --keep none, or no --replicas")
