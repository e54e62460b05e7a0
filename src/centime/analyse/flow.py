"""The energy that flows between communities.

Every page belongs to one community or to the rest of the web. For two different communities a and b,

    flow(a, b) = d/(1-d) * sum over p in a of x*_p * sum over links p->q with q in b of w_(q,p)

is what a gives to b. E_out of a is the sum of its row, E_in of b is the sum of its column, and Theorem 4.2 holds for
each of them:

    |a| + sum of flow(., a) = E_a + sum of flow(a, .) + E_dp of a

Guaranteed: one pass over the links, for any number of communities. Flows are sorted by giver.

Trap: flows are not defined for communities that overlap; `labels_of` refuses them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.analyse.community import Community
from centime.analyse.transition import Pages, Transition, Vector, check, sums
from centime.model.errors import BadInput
from centime.model.graph import Offsets, Targets, Weights
from centime.model.kernel import inlined, kernel


@dataclass(frozen=True, slots=True)
class Flow:
    """The energy of communities and the flows between them; the last community may be the rest of the web."""

    pages: Pages
    """The number of pages of each community, which is its default energy."""
    energy: Vector
    lost: Vector
    """What each community loses in its dangling pages."""
    givers: Pages
    receivers: Pages
    amounts: Vector
    """What each giver gives to each receiver; each pair occurs once, and no community gives to itself."""

    @property
    def received(self) -> Vector:
        """E_in of each community."""
        return sums(self.receivers, self.amounts, len(self.pages))

    @property
    def spread(self) -> Vector:
        """E_out of each community."""
        return sums(self.givers, self.amounts, len(self.pages))

    @property
    def residual(self) -> Vector:
        """The difference of the two sides of Theorem 4.2 for each community."""
        return self.energy - (self.pages + self.received - self.spread - self.lost)

    def merged(self, largest: int) -> tuple["Flow", Pages]:
        """The flow of the `largest` communities by energy, the others merged into a last one; and the numbers kept."""
        kept = np.sort(np.argsort(-self.energy, kind="stable")[:largest])
        number = np.full(len(self.pages), len(kept))
        number[kept] = np.arange(len(kept))
        count = len(kept) + 1
        key, place = np.unique(number[self.givers] * count + number[self.receivers], return_inverse=True)
        other = key // count != key % count
        return Flow(
            sums(number, self.pages.astype(np.float64), count).astype(np.int64),
            sums(number, self.energy, count),
            sums(number, self.lost, count),
            key[other] // count,
            key[other] % count,
            sums(place, self.amounts, len(key))[other],
        ), kept


def labels_of(communities: Sequence[Community], pages: int) -> Pages:
    """The number of the community of each page; a page in none has the number of communities."""
    labels = np.full(pages, len(communities), dtype=np.int64)
    for number, community in enumerate(communities):
        taken = labels[community.pages] < len(communities)
        if taken.any():
            other = communities[labels[community.pages[taken][0]]].name
            both = f"communities {other} and {community.name} share {int(taken.sum())} pages"
            raise BadInput(f"{both}; flows need communities without common pages")
        labels[community.pages] = number
    return labels


def flow(walk: Transition, scores: Vector, damping: float, labels: Pages, communities: int) -> Flow:
    """The flows between communities 0 to `communities` - 1; each page has the label of one."""
    check(walk, scores, damping)
    passed_on = damping / (1.0 - damping)
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(communities + 1))
    givers, receivers, amounts = _flow(
        walk.offsets, walk.targets, walk.weights, walk.share, scores * passed_on, labels, order, starts
    )
    lost = passed_on * sums(labels, np.where(walk.dangling, scores, 0.0), communities)
    return Flow(np.diff(starts), sums(labels, scores, communities), lost, givers, receivers, amounts)


@kernel
def _flow(
    offsets: Offsets,
    targets: Targets,
    weights: Weights,
    share: Vector,
    scores: Vector,
    labels: Pages,
    order: Pages,
    starts: Pages,
) -> tuple[Pages, Pages, Vector]:
    """Adds up the energy that the pages of each community give to each other community."""
    weighted = len(weights) > 0
    communities = len(starts) - 1
    total = np.zeros(communities)
    seen = np.full(communities, -1, dtype=np.int64)
    met = np.empty(communities, dtype=np.int64)
    givers, receivers = np.empty(1024, dtype=np.int64), np.empty(1024, dtype=np.int64)
    amounts = np.empty(1024)
    count = 0
    for giver in range(communities):
        found = 0
        for place in range(starts[giver], starts[giver + 1]):
            page = order[place]
            payment = scores[page] * share[page]
            for link in range(offsets[page], offsets[page + 1]):
                receiver = labels[targets[link]]
                if receiver != giver:
                    if seen[receiver] != giver:
                        seen[receiver] = giver
                        total[receiver] = 0.0
                        met[found] = receiver
                        found += 1
                    total[receiver] += payment * weights[link] if weighted else payment
        while count + found > len(amounts):
            room = 2 * len(amounts)
            givers, receivers, amounts = _longer(givers, room), _longer(receivers, room), _longer(amounts, room)
        for place in range(found):
            receiver = met[place]
            if total[receiver] > 0.0:
                givers[count], receivers[count], amounts[count] = giver, receiver, total[receiver]
                count += 1
    return givers[:count], receivers[:count], amounts[:count]


@inlined
def _longer(values: npt.NDArray[Any], room: int) -> npt.NDArray[Any]:
    """A copy of the values with length `room`."""
    longer = np.empty(room, dtype=values.dtype)
    for place in range(len(values)):
        longer[place] = values[place]
    return longer
