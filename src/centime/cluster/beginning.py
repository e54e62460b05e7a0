"""Prepares a run of a crawl in partitions: its folder, the options of this run, and those that are divided."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from centime.cluster.coordinator import Coordinator
from centime.cluster.folder import (
    DIVIDED,
    MOST_PARTITIONS,
    USUAL_CLUSTER,
    About,
    ClusterFolder,
    is_cluster,
    nodes_of,
    open_cluster,
    refuse_headless,
    refuse_plain,
)
from centime.cluster.hosting import Hosting, LocalNodes
from centime.cluster.nodes.remote import RemoteNodes
from centime.cluster.nodes.token import read_token
from centime.cluster.opening import settings_of, totals_in
from centime.cluster.placement import NOWHERE, FixedPlacement, Placement
from centime.crawl.engine.assembly import new_ledger
from centime.crawl.engine.loop import Limits
from centime.crawl.engine.memory import half_of_memory
from centime.discover.seeds import read_seeds
from centime.model.errors import BadInput, BadSetting, InUse
from centime.processes.clock import RunClock
from centime.settings.crawl import CrawlSettings
from centime.settings.reading import settings_from
from centime.store.folder import CLUSTER, is_crawl

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
    token_file: Path | None = None,
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
    refuse_headless(path)
    fresh = not is_cluster(path)
    if fresh and not seeds:
        raise BadInput(f"{path}: there is no crawl to continue; give a seed to start one")
    if fresh:
        _settings(None, given, partitions or USUAL_PARTITIONS, where)  # refuses bad options before anything is written
        _refuse_replicas(replicas or 0, cluster or USUAL_CLUSTER)
    with open_cluster(path, partitions, USUAL_PARTITIONS, clock()) as folder:
        about = folder.about
        options = about.pending | dict(given)
        where_to, copies = cluster or about.cluster, about.replicas if replicas is None else replicas
        found = seeds if nodes_of(where_to) is not None else _words(seeds)
        words = [*about.seeds, *(word for word in found if word not in about.seeds)]
        settings = _settings(folder, options, about.partitions, where)
        totals = totals_in(settings, options)
        before = {"most-memory": float(half_of_memory()), "workers": float(about.partitions)} | about.totals
        _refuse_replicas(copies, where_to)
        _refuse_other_place(path, about, where_to)
        known = Path(about.token_file) if about.token_file and token_file is None else token_file
        hosting, placement = _places(folder, where_to, copies, known, clock)
        folder.keep(pending=options, seeds=words, totals=before | totals, cluster=where_to, replicas=copies)
        if token_file is not None:
            folder.keep(token_file=str(token_file.absolute()))
        shared = {name: value for name, value in options.items() if name not in DIVIDED}
        yield Coordinator(
            folder, words, shared, settings, limits, hosting, placement, where=where, trust=trust, clock=clock
        )


def _places(
    folder: ClusterFolder, cluster: str, replicas: int, token_file: Path | None, clock: RunClock
) -> tuple[Hosting, Placement]:
    """The nodes of a run, and the placement of partitions and copies."""
    about, nodes = folder.about, nodes_of(cluster)
    if nodes is not None:
        return LocalNodes(folder.path, nodes), FixedPlacement(about.partitions, nodes, replicas=replicas)
    none = [NOWHERE] * about.partitions
    placement = Placement(
        about.homes or none,
        (replicas and about.copies) or none,
        lambda homes, copies: folder.keep(homes=homes, copies=copies),
    )
    try:
        nodes_there = RemoteNodes(cluster, read_token(token_file), about.id, clock)
    except InUse as other:
        raise InUse(f"{folder.path}: this crawl runs already, from a copy of this folder: {other}") from other
    if nodes_there.newest > about.version:
        nodes_there.close()
        raise BadInput(
            f"{folder.path}: {CLUSTER} is older than what the nodes know (version {about.version}, not"
            f" {nodes_there.newest}), so the crawl continued elsewhere. Use the folder in which it did, or make one:"
            f" centime cluster recover NEW --cluster {cluster} --crawl {about.id}"
        )
    folder.note = nodes_there.note
    return nodes_there, placement


def _words(seeds: Sequence[str]) -> list[str]:
    """Seeds as words that mean the same on other machines: those of files one by one."""
    found = read_seeds(seeds)
    named = [(url, url in found.guessed, "") for url in found.urls]
    named += [(url, url in found.guessed, "sitemap:") for url in found.sitemaps]
    return [f"{kind}{url.removeprefix('https://') if guessed else url}" for url, guessed, kind in named]


def _refuse_other_place(path: Path, about: About, cluster: str) -> None:
    """Raises BadInput if the partitions of a crawl are not where this run would look for them."""
    is_here = nodes_of(cluster) is not None
    if is_here and about.homes:
        raise BadInput(f"{path}: its partitions are on other machines; give --cluster with the address of their head")
    if not is_here and about.incarnations and not about.homes:
        raise BadInput(f"{path}: its partitions are on this machine, in {path / 'partitions'}; give --cluster local:N")


def _settings(folder: ClusterFolder | None, given: Mapping[str, Any], partitions: int, where: str) -> CrawlSettings:
    """The settings of the crawl with new options; BadSetting if one is refused."""
    start = CrawlSettings()
    if folder is not None and is_crawl(folder.folder_of(0)):
        start = settings_of(folder.path)
    settings = settings_from(dict(given) | {"partitions": partitions}, where=where, start=start)
    new_ledger(settings, None)
    return settings


def _refuse_replicas(replicas: int, cluster: str) -> None:
    if replicas not in (0, 1):
        raise BadSetting(f"replicas: there is none or 1, not {replicas}")
    if replicas and nodes_of(cluster) == 1:
        raise BadSetting("replicas: a replica is kept by another node; give --cluster local:2 or more")
