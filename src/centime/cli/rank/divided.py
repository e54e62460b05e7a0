"""`centime rank --cluster`: a ranking that is divided among processes."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from centime.cli.rank.source import read_graph
from centime.model.errors import BadSetting

ALONE = {"vector": "importance", "by": "page", "normalise": "mean", "change_norm": "l1"}  # what else it takes


def check_divided(options: dict[str, Any], cluster: str) -> None:
    """Raises BadSetting for options that do not work on a cluster."""
    from centime.cluster.folder import nodes_of

    nodes_of(cluster)
    for name in (
        "vector",
        "bias",
        "by",
        "link_weight",
        "normalise",
        "stop_change",
        "stable_top",
        "change_norm",
        "memory",
        "figure",
    ):
        if options[name] != ALONE.get(name):
            raise BadSetting(f"--{name.replace('_', '-')} does not work with --cluster, which ranks importance by page")
    if options["threads"] is not None:
        raise BadSetting("--threads does not work with --cluster: each of its processes is one")
    if options["method"] not in ("auto", "bsp", "chaotic"):
        raise BadSetting(f"--method with --cluster is bsp or chaotic, not {options['method']}")


def rank_on_cluster(
    graph: Path,
    cluster: str,
    token_file: Path | None,
    method: str,
    common: dict[str, Any],
    top: int,
    output: Path | None,
    progress: Callable[[float], None],
) -> dict[str, Any]:
    """Ranks a graph by several processes, of this machine or of the nodes of a cluster; returns the facts of the
    ranking and of what they exchanged.
    """
    from centime.cluster.folder import nodes_of
    from centime.cluster.nodes.token import read_token
    from centime.cluster.ranking.crewing import LocalCrew, NodeCrew
    from centime.cluster.ranking.divided import rank_divided
    from centime.rank.pagerank import NO_WEIGHTS, check_settings
    from centime.rank.peak import peak_memory_bytes
    from centime.rank.ranking import Ranking, Seconds, count_dangling
    from centime.rank.table import write_table

    damping, error = common["damping"], common["error"]
    check_settings(damping, error, "auto", "mean", None, None)
    began = time.perf_counter()
    named = read_graph(graph)
    read = time.perf_counter() - began
    way: Any = "bsp" if method == "auto" else method
    count = nodes_of(cluster)
    crew = NodeCrew(cluster, read_token(token_file)) if count is None else LocalCrew(count)
    found, exchanged = rank_divided(named.graph, way, crew, damping=damping, error=error, progress=progress)
    weights = named.graph.weights
    dangling = int(count_dangling(named.graph.offsets, NO_WEIGHTS if weights is None else weights))
    ranking = Ranking(
        scores=found.scores,
        named=named,
        vector="importance",
        method=found.method,
        iterations=found.iterations,
        certified_error=found.certified_error,
        eigenvalue=None,
        residual=None,
        dangling=dangling,
        seconds=Seconds(read, 0.0, found.seconds),
        peak_memory_bytes=peak_memory_bytes(),
    )
    if output is not None:
        write_table(output, ranking.pages, lambda first, end: ranking.scores[first:end], named.names, named.first)
    facts = ranking.facts(top)
    best = facts.pop("top")
    facts |= {"workers": crew.count, "boundary_values": exchanged.boundary, "exchanged_bytes": exchanged.bytes}
    return facts | {"top": best}
