"""The sites of a crawl as communities: the energy that each has, receives, spreads and loses; and promotion suspects.

Computed from all links and the present importance, which is close to a fixed point of them: the certified error says
how close. A crawl with more than MOST_LINKS links is left to `centime energy`, which may take minutes.
"""

from typing import Annotated

import msgspec
import numpy as np

from centime.analyse.flow import Flow, flow
from centime.analyse.promotion import promotions
from centime.analyse.transition import columns
from centime.model.errors import BadInput
from centime.serve.glance import Glance
from centime.serve.resource import Parameters, Report, Resource

MOST_LINKS = 5_000_000
MOST_DRAWN = 8
MOST_SUSPECTS = 20


class CommunitiesWanted(Parameters, frozen=True, kw_only=True):
    """How many sites."""

    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 50


def communities(glance: Glance, wanted: CommunitiesWanted) -> Report:
    """The sites by energy, the flows between the largest, and pages that others may promote."""
    parts = glance.parts
    ledgers = [reader.shard.ledger for reader in parts.readers]
    known = sum(ledger.links or 0 for ledger in ledgers)
    if not parts.known:
        raise BadInput("the crawl knows no page yet, so there are no communities")
    if known > MOST_LINKS:
        raise BadInput(
            f"the crawl has {known:,} links, more than the {MOST_LINKS:,} that this page balances; "
            "centime export --format edges writes the graph, and centime energy --by site balances it"
        )
    lengths, targets = zip(*((counts, links) for _, counts, links in parts.linked.rows()), strict=True)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    walk = columns(offsets, np.concatenate(targets).astype(np.int32), None)
    scores = np.maximum(np.concatenate([ledger.importance() for ledger in ledgers]), 1e-12)
    names = [host.name for reader in parts.readers for host in reader.shard.hosts.all]
    hosts = np.concatenate([one.first_host + one.hosts for one in glance.each])
    found = flow(walk, scores, ledgers[0].damping, hosts, len(names))
    best = np.argsort(-found.energy, kind="stable")[: wanted.most]
    rows = [
        {
            "host": names[place],
            "pages": int(found.pages[place]),
            "energy": float(found.energy[place]),
            "received": float(found.received[place]),
            "spread": float(found.spread[place]),
            "lost": float(found.lost[place]),
        }
        for place in best.tolist()
        if found.pages[place]
    ]
    suspects = [
        {
            "url": parts.urls(np.array(one.targets[:1]))[0],
            "targets": len(one.targets),
            "supporters": len(one.supporters),
            "share_of_score": one.share,
            "among_them": parts.urls(np.array(one.supporters[:3])),
        }
        for one in promotions(walk, scores, ledgers[0].damping)[:MOST_SUSPECTS]
    ]
    return {
        "sites": int(np.count_nonzero(found.pages)),
        "certified_error": parts.errors["certified_error"],
        "flows": _flows(found, names),
        "suspects": suspects,
        "rows": rows,
        "next": None,
    }


def _flows(found: Flow, names: list[str]) -> list[Report]:
    """The flows between the largest sites and the rest, for the diagram: the largest first."""
    merged, kept = found.merged(MOST_DRAWN)
    named = [*(names[number] for number in kept.tolist()), "the rest"]
    rows = [
        {"from": named[giver], "to": named[receiver], "energy": float(amount)}
        for giver, receiver, amount in zip(merged.givers, merged.receivers, merged.amounts, strict=True)
    ]
    return sorted(rows, key=lambda row: -row["energy"])


COMMUNITIES = Resource(
    name="communities",
    title="Communities",
    summary="The energy balance of sites, flows between them, and promotion suspects.",
    parameters=CommunitiesWanted,
    report=communities,
    columns=("host", "pages", "energy", "received", "spread", "lost"),
)
