"""Messages between the coordinator of a cluster and the processes of its partitions. It also carries the messages
between partitions (`message.py`).

    Begin, then Opened or Failed            a process opens its partition
    Round, then Standing                    asked of all partitions; the next round begins when all have answered
    Command, then Carried                   a command of a person (`post.py`); the answer when it is in the journal
    AddressesWanted, then AddressesGranted  before addresses are contacted
    Stop, Close, then Ended                 no further pages; then, when all debts are paid, the end
"""

from typing import Any

import msgspec

from centime.cluster.message import Acknowledged, Sent
from centime.cluster.replicas.said import FromKeeper, ToKeeper
from centime.fetch.address_leases import AddressLease
from centime.ledger.accounts import Sums
from centime.ledger.certificate import Report

ANY = -1  # pages: no limit


class Begin(msgspec.Struct, array_like=True, frozen=True, kw_only=True, tag="begin"):
    """The first message to a process: its partition, and the options of this run."""

    folder: str
    partition: int
    partitions: int
    incarnation: int
    seeds: list[str]
    given: dict[str, Any]
    where: str = "options"
    ahead: float  # of the clock of the run (processes/clock.py)
    seconds: float | None = None
    pages: int = ANY  # that it may visit in this run
    replicated: bool = False  # whether another node keeps a replica
    trust: bool = False
    commands: list["Command"] = []  # carried out before the first page


class Opened(msgspec.Struct, array_like=True, frozen=True, tag="opened"):
    """The partition is open, and crawls. The notes are for a person."""

    notes: list[str]


class Failed(msgspec.Struct, array_like=True, frozen=True, tag="failed"):
    """The partition cannot continue: the name of the exception, and its sentence."""

    kind: str
    sentence: str


class Round(msgspec.Struct, array_like=True, frozen=True, kw_only=True, tag="round"):
    """Asks for the state of a partition, and says what it may do until the next round."""

    number: int
    pages: int  # as in `Begin`
    budget: dict[str, float | None] = {}  # what differs from its last answer
    threshold: int = 1  # of transfers: smaller ones wait
    error: float = 1.0  # of all importance, as certified in the round before
    shown: float | None = None  # the same for the figures that partitions show; None if nothing is certified yet
    report: bool = False  # with a report for the certificate
    facts: bool = False  # with facts for people, which cost a look at all pages


class PackedReport(msgspec.Struct, array_like=True, frozen=True):
    """A report for a certificate (`ledger/certificate.py`); its sums may have more than 64 bits."""

    partition: int
    damping: float
    numbers: list[str]
    sums: list[str]
    sent: list[str]
    applied: list[str]

    @classmethod
    def of(cls, report: Report) -> "PackedReport":
        """A report, packed."""
        numbers = report.level, report.links, report.owed, report.unsent
        return cls(
            report.partition,
            report.damping,
            *(list(map(str, some)) for some in (numbers, report.sums, report.sent, report.applied)),
        )

    def unpacked(self) -> Report:
        """The report."""
        level, links, owed, unsent = map(int, self.numbers)
        return Report(
            self.partition,
            self.damping,
            level,
            Sums(*map(int, self.sums)),
            links,
            owed,
            unsent,
            tuple(map(int, self.sent)),
            tuple(map(int, self.applied)),
        )


class Standing(msgspec.Struct, array_like=True, frozen=True, kw_only=True, tag="standing"):
    """The state of a partition in a round."""

    number: int
    time: float  # of the run, when it was reported
    visits: int
    under_way: int
    pages: int  # that it may visit: as the round said, or the number it has already used
    budget: dict[str, float | None]
    nothing_left: str
    closed: int  # batches, in all
    applied: int
    frame: int  # the next of its journal
    to_name: int  # pages and requisites of others that no batch has named yet
    settling: bool
    refreshes: bool
    known: int
    proxies: int
    lacks_bodies: bool = False  # of its replica
    facts: dict[str, Any] | None = None
    top: list[dict[str, Any]] = []
    facts_cpu: float = 0.0  # seconds that facts and the list cost
    report: PackedReport | None = None

    @property
    def used(self) -> int:
        """The pages that it has visited in this run or is visiting."""
        return self.visits + self.under_way


class Command(msgspec.Struct, array_like=True, frozen=True, tag="command"):
    """A command for this partition, packed as in the inbox of a crawl."""

    id: str
    packed: bytes


class Carried(msgspec.Struct, array_like=True, frozen=True, tag="carried"):
    """A command is in the journal and synced, or was refused for a reason."""

    id: str
    reason: str = ""


class Stop(msgspec.Struct, array_like=True, frozen=True, tag="stop"):
    """Ends the run cleanly, or without waiting for pages that are being fetched."""

    reason: str
    at_once: bool = False


class Close(msgspec.Struct, array_like=True, frozen=True, tag="close"):
    """All debts are paid as far as they will be: write the last snapshot."""


class Ended(msgspec.Struct, array_like=True, frozen=True, tag="ended"):
    """The partition is closed. The notes are for a person."""

    notes: list[str]


class AddressesWanted(msgspec.Struct, array_like=True, frozen=True, tag="addresses wanted"):
    """A fetcher of a partition requests addresses, with their delays (`addresses.py`)."""

    fetcher: int
    addresses: dict[str, float]


class AddressesGranted(msgspec.Struct, array_like=True, frozen=True, tag="addresses granted"):
    """When it may contact them."""

    fetcher: int
    leases: dict[str, AddressLease]


class Resume(msgspec.Struct, array_like=True, frozen=True, tag="resume"):
    """Another process keeps the replica from now on: ask it for its files. Or there is no replica any more, and nothing
    waits for one."""

    replicated: bool = True


Order = Round | Command | Stop | Close | Resume | AddressesGranted | Sent | Acknowledged | FromKeeper
Answer = Opened | Failed | Standing | Carried | Ended | AddressesWanted | Sent | Acknowledged | ToKeeper

pack = msgspec.msgpack.Encoder().encode
unpack_begin = msgspec.msgpack.Decoder(Begin).decode
unpack_order = msgspec.msgpack.Decoder(Order).decode
unpack_answer = msgspec.msgpack.Decoder(Answer).decode
