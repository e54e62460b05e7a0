"""The certified error of an exact ledger that is divided among partitions, from one report of each.

    |x - x*|_1 / N  <=  d/(1-d) * [ sum |rho| + sum |u| + sum over channels |A - B| + |V - L E| + 2 links ] / sum H

rho is what pages owe at the constant level L. u is the money that rows carry to proxies and that is not in a batch yet.
A and B are the absolute sums of all entries that the sender of a channel has closed and that its receiver has applied.
V, E and H are sums over all reports. x_i = (f*_i + (V/E) e_i) N / sum H, where f* is what all reported rows carry, and
x* is the exact PageRank of those rows; a link to a page that its owner's report does not know yet counts as one to the
virtual page.

Guarantee: the reports may be of different moments. Although no such cut of the cluster is consistent, every one
certifies, because f* is a function of H and the rows alone; `docs/decisions/cluster.md` has the proof. The figures that
a partition shows alone use the money that has arrived instead of f*: `shown` adds the money that is still in flight.

Trap: a report must be of a moment after which nothing can be lost: of durable frames.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from centime.ledger.accounts import Sums
from centime.model.errors import LedgerImbalance

FLOATING = 2.0**-50  # the error of phi's floating point, as a share of all money


@dataclass(frozen=True, slots=True)
class Report:
    """The report of one partition about its money at one moment. `sent` and `applied` have the cumulative absolute sums
    of the channels to and from each partition.
    """

    partition: int
    damping: float
    level: int
    sums: Sums
    links: int
    owed: int
    unsent: int
    sent: tuple[int, ...]
    applied: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Certificate:
    """Bounds of the error of all importance, as `error` of a ledger; and the sums by which it is scaled.

    `error` is that of the importance that follows from all reported rows, `shown` that of the figures that each
    partition shows.
    """

    error: float
    shown: float
    sums: Sums


def certified(reports: Sequence[Report]) -> Certificate:
    """The certificate of one report of each partition, at any moments; reports are in the order of the partitions."""
    if [report.partition for report in reports] != list(range(len(reports))):
        given = [report.partition for report in reports]
        raise LedgerImbalance(f"a certificate needs one report of each partition in their order, not of {given}")
    total = Sums()
    for report in reports:
        total = total.plus(report.sums)
    if not total.paid:
        return Certificate(0.0, 0.0, total)
    damping, level = reports[0].damping, reports[0].level
    unsent = sum(report.unsent for report in reports)
    flight = sum(
        abs(sender.sent[receiver.partition] - receiver.applied[sender.partition])
        for sender in reports
        for receiver in reports
    )
    owed = sum(report.owed for report in reports)
    rounding = 2 * sum(report.links for report in reports)
    apart = abs(total.virtual - level * total.emphasis)
    error = damping / (1 - damping) * ((owed + unsent + flight + apart + rounding) / total.paid + FLOATING)
    return Certificate(error, error + (unsent + flight + rounding) / total.paid + FLOATING, total)
