"""The partitions of a crawl and their debts: nodes, processes, batches in flight, and the certificate.

pending           batches that a partition has closed and their receivers have not applied
owed, unsent, in flight     the money behind the certified error, as shares of all money: debts of the pages of a
partition, money for others that is not in a batch yet, and money in batches in flight
"""

from centime.cluster.folder import About, nodes_of, read_about
from centime.cluster.opening import missing_partitions
from centime.cluster.report.merging import Facts, Rows
from centime.cluster.report.parts import Parts
from centime.cluster.status import ClusterStatus, PartitionStatus, read_status
from centime.crawl.commands.inbox import running
from centime.shard.transfers.exchanging import transfers_of

STOPPED = "stopped"
NEVER = "never opened"
WHOLE, LACKS_BODIES = "whole", "lacks bodies"  # replicas
MISSING = "missing"  # it was opened before


def cluster_facts(parts: Parts) -> Facts:
    """The facts of a crawl in partitions, with a row for each partition and each node."""
    about = read_about(parts.path)
    process = running(parts.path)
    status = read_status(parts.path) if process else None
    rows = _partitions(parts, about, status)
    return {
        "partitions": about.partitions,
        "cluster": about.cluster,
        "replicas": about.replicas,
        "running": bool(process),
        **parts.errors,
        **{name: sum(row[name] or 0.0 for row in rows) for name in ("owed_share", "unsent_share", "in_flight_share")},
        "between_nodes": {} if status is None else status.between_nodes,
        "nodes": _nodes(rows),
        "rows": rows,
    }


def _partitions(parts: Parts, about: About, status: ClusterStatus | None) -> Rows:
    said = {} if status is None else {one.partition: one for one in status.partitions}
    ends = {transfers_of(reader.shard).partition: transfers_of(reader.shard) for reader in parts.readers}
    reports = {partition: transfers.report() for partition, transfers in ends.items()}
    paid = sum(report.sums.paid for report in reports.values()) or 1
    shards = {transfers_of(reader.shard).partition: reader.shard for reader in parts.readers}
    rows = []
    missing = missing_partitions(parts.path)
    for partition in range(about.partitions):
        absent = MISSING if partition in missing else NEVER
        row = _process(partition, about, said.get(partition), STOPPED if partition in ends else absent)
        if partition in ends:
            mine, report, shard = ends[partition], reports[partition], shards[partition]
            pending = flight = 0
            for receiver, channel in mine.outgoing.items():
                back = ends[receiver].incoming.get(partition) if receiver in ends else None
                pending += max(0, channel.number - (0 if back is None else back.number))
                flight += abs(channel.absolute - (0 if back is None else back.absolute))
            row |= {
                "known": shard.pages.count,
                "visits": sum(shard.outcomes.values()),
                "frontier": len(shard.placement.frontier),
                "proxies": mine.ledger.proxies,
                "pending_batches": pending,
                "owed_share": report.owed / paid,
                "unsent_share": report.unsent / paid,
                "in_flight_share": flight / paid,
            }
        rows.append(row)
    return rows


def _process(partition: int, about: About, status: PartitionStatus | None, otherwise: str) -> Facts:
    nothing = dict.fromkeys(
        ("known", "visits", "frontier", "proxies", "pending_batches", "owed_share", "unsent_share", "in_flight_share")
    )
    return {
        "partition": partition,
        "node": _node_of(partition, about) if status is None else status.node,
        "state": otherwise if status is None else status.state,
        "taken_over": 0 if status is None else status.taken_over,
        "process": None if status is None else status.process,
        "replica": _replica(status),
        **nothing,
    }


def _replica(status: PartitionStatus | None) -> str | None:
    """The state of the replica of a partition that runs, in a word; None if there is none."""
    if status is None or not status.replica:
        return None
    return LACKS_BODIES if status.lacks_bodies else WHOLE


def _node_of(partition: int, about: About) -> str:
    return about.homes[partition] if about.homes else str(partition % (nodes_of(about.cluster) or 1))


def _nodes(rows: Rows) -> Rows:
    """The nodes with the sums over their partitions."""
    nodes: dict[str, Facts] = {}
    for row in rows:
        node = nodes.setdefault(
            row["node"], {"node": row["node"], "partitions": 0, "state": "", "known": 0, "visits": 0, "frontier": 0}
        )
        node["partitions"] += 1
        states = {*filter(None, node["state"].split(", ")), row["state"]}
        node["state"] = ", ".join(sorted(states))
        for name in ("known", "visits", "frontier"):
            node[name] += row[name] or 0
    return [nodes[node] for node in sorted(nodes, key=lambda node: (len(node), node))]
