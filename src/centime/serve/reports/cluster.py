"""The nodes and partitions of a crawl: their processes, the batches in flight between them, and their certificate."""

from centime.cluster.report.facts import cluster_facts
from centime.serve.glance import Glance
from centime.serve.resource import Parameters, Report, Resource

ONE_FOLDER = "This crawl is one folder, not divided into partitions."


class ClusterWanted(Parameters, frozen=True, kw_only=True):
    """Nothing to choose."""


def cluster(glance: Glance, wanted: ClusterWanted) -> Report:
    """The partitions of a crawl; a sentence for a crawl that has none."""
    if not glance.parts.is_cluster:
        return {"partitions": 1, "sentence": ONE_FOLDER, "rows": [], "next": None}
    return cluster_facts(glance.parts) | {"sentence": None, "next": None}


CLUSTER = Resource(
    name="cluster",
    title="Cluster",
    summary="The nodes and partitions of a crawl, transfers between them, and the certified error of all.",
    parameters=ClusterWanted,
    report=cluster,
    remembered=False,  # processes come and go
    columns=(
        "partition",
        "node",
        "state",
        "taken_over",
        "process",
        "replica",
        "known",
        "visits",
        "frontier",
        "proxies",
        "pending_batches",
        "owed_share",
        "unsent_share",
        "in_flight_share",
    ),
)
