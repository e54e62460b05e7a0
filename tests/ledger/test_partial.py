"""Partial ledgers: money is exact to the unit over partitions, however late transfers are, and any cut certifies.

Over 400 lines: all cases share the partitions and the exact PageRank at the top.
"""

from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from centime.ledger.accounts import PROXY, Sums
from centime.ledger.certificate import Report, certified
from centime.ledger.exact import ExactLedger
from centime.ledger.memory_rows import MemoryRows
from centime.ledger.partial import LEVEL, OUTSIDE, PartialLedger
from centime.ledger.payment import RECEIVED
from centime.model.errors import LedgerImbalance
from centime.model.row_batch import NO_WEIGHTS, RowBatch
from tests.ledger.made import random_web
from tests.ledger.reference import exact_importance

DAMPING = 0.85
PARTS = 3
NAMES = 5  # pages of a partition at most
Name = tuple[int, int]  # partition and number


@dataclass
class Part:
    """One partition: its ledger, what it knows of pages by name, and its channels."""

    number: int
    ledger: PartialLedger = field(default_factory=lambda: PartialLedger(damping=DAMPING))
    pages: dict[Name, int] = field(default_factory=dict)
    proxies: dict[Name, int] = field(default_factory=dict)
    rows: dict[Name, list[Name]] = field(default_factory=dict)
    sent: list[int] = field(default_factory=lambda: [0] * PARTS)
    applied: list[int] = field(default_factory=lambda: [0] * PARTS)

    def account(self, name: Name) -> int:
        """The number of a page or proxy in a row; it joins if it is new."""
        if name[0] != self.number:
            if name not in self.proxies:
                self.proxies[name] = self.ledger.join_proxies(1)
            return PROXY + self.proxies[name]
        if name not in self.pages:
            self.pages[name] = self.ledger.join(focus=OUTSIDE if name[1] == NAMES - 1 else 0)
        return self.pages[name]

    def emphasis(self, name: Name) -> int:
        return 0 if name[1] == NAMES - 1 else 1


@dataclass
class Seen:
    """What a report rests on: the rows and H of a partition at that moment."""

    report: Report
    paid: dict[Name, int]
    received: dict[Name, int]
    rows: dict[Name, list[Name]]


def row_of(targets: list[int]) -> RowBatch:
    links = np.array(sorted(targets), dtype=np.int32)
    return RowBatch(np.zeros(1, np.int64), np.array([len(links)]), links, NO_WEIGHTS)


def seen(part: Part) -> Seen:
    accounts = part.ledger._accounts
    return Seen(
        part.ledger.report(part.number, tuple(part.sent), tuple(part.applied)),
        {name: int(accounts.paid([page])[0]) for name, page in part.pages.items()},
        {name: int(accounts.books.money[page, RECEIVED]) for name, page in part.pages.items()},
        {name: list(row) for name, row in part.rows.items()},
    )


def phi(paid: int, links: int) -> int:
    return int(paid * (DAMPING * (1.0 / links)))


def carried(cut: list[Seen]) -> dict[Name, int]:
    """What all rows of a cut carry to each page."""
    sums: dict[Name, int] = {}
    for one in cut:
        for name, row in one.rows.items():
            for target in row:
                sums[target] = sums.get(target, 0) + phi(one.paid[name], len(row))
    return sums


def true_errors(cut: list[Seen]) -> tuple[Fraction, Fraction]:
    """The exact errors of the importance that all rows of a cut give, and of what each partition shows by itself."""
    paid = {name: amount for one in cut for name, amount in one.paid.items()}
    received = {name: amount for one in cut for name, amount in one.received.items()}
    names = sorted(paid)
    numbers = {name: number for number, name in enumerate(names)}
    rows = {
        numbers[name]: [numbers.get(target) for target in row] for one in cut for name, row in one.rows.items() if row
    }
    weights = [0 if name[1] == NAMES - 1 else 1 for name in names]
    exact = exact_importance(rows, DAMPING, weights)
    full = carried(cut)
    total = sum(paid.values())
    level = Fraction(total - sum(full.get(name, 0) for name in names), sum(weights))
    sums = certified([one.report for one in cut]).sums
    shown_level = Fraction(sums.virtual, sums.emphasis)  # in units of focus
    errors = [Fraction(0), Fraction(0)]
    for name, weight, truth in zip(names, weights, exact, strict=True):
        errors[0] += abs((full.get(name, 0) + level * weight) / total - truth)
        errors[1] += abs((received[name] + shown_level * 16 * weight) / total - truth)
    return errors[0], errors[1]


class PartsMachine(RuleBasedStateMachine):
    """Pages are read, settled and told of in any order; batches arrive in the order of their channel, however late."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = [Part(number) for number in range(PARTS)]
        self.network: dict[tuple[int, int], deque[tuple[list[Name], list[int]]]] = {}
        self.reports: list[deque[Seen]] = [deque(maxlen=4) for _ in range(PARTS)]
        for part in self.parts:
            part.account((part.number, 0))
        self.look()

    @rule(part=st.integers(0, PARTS - 1), page=st.integers(0, 99), links=st.sets(st.integers(0, 99), max_size=5))
    def visit(self, part: int, page: int, links: set[int]) -> None:
        one = self.parts[part]
        name = sorted(one.pages)[page % len(one.pages)]
        row = sorted({(link // 10 % PARTS, link % NAMES) for link in links})
        targets = [one.account(target) for target in row]
        one.rows[name] = row
        one.ledger.visit_many([one.pages[name]], row_of(targets))

    @rule(part=st.integers(0, PARTS - 1), payments=st.integers(1, 8))
    def settle(self, part: int, payments: int) -> None:
        self.parts[part].ledger.settle(payments=payments)

    @rule(part=st.integers(0, PARTS - 1), to=st.integers(0, PARTS - 1), threshold=st.sampled_from([1, 1 << 20]))
    def tell(self, part: int, to: int, threshold: int) -> None:
        one = self.parts[part]
        names = [name for name in one.proxies if name[0] == to]
        members = np.array([one.proxies[name] for name in names], dtype=np.int32)
        places, amounts, _ = one.ledger.take_unsent(members, threshold, len(members))
        one.sent[to] += int(np.abs(amounts).sum())
        self.network.setdefault((part, to), deque()).append(([names[place] for place in places], amounts.tolist()))

    @rule(channel=st.integers(0, PARTS * PARTS - 1))
    def deliver(self, channel: int) -> None:
        sender, receiver = divmod(channel, PARTS)
        waiting = self.network.get((sender, receiver))
        if waiting:
            names, amounts = waiting.popleft()
            one = self.parts[receiver]
            pages = np.array([one.account(name) for name in names], dtype=np.int64)
            one.ledger.arrive(pages, np.array(amounts, dtype=np.int64))
            one.applied[sender] += sum(map(abs, amounts))

    @rule()
    def look(self) -> None:
        for part, reports in zip(self.parts, self.reports, strict=True):
            reports.append(seen(part))

    @rule(moments=st.lists(st.integers(0, 3), min_size=PARTS, max_size=PARTS))
    def any_cut_certifies(self, moments: list[int]) -> None:
        cut = [reports[moment % len(reports)] for reports, moment in zip(self.reports, moments, strict=True)]
        certificate = certified([one.report for one in cut])
        true, shown = true_errors(cut)
        assert true <= Fraction(certificate.error)
        assert shown <= Fraction(certificate.shown)

    @invariant()
    def every_unit_is_accounted_for(self) -> None:
        flight: dict[Name, int] = {}
        for part in self.parts:
            part.ledger.check()
            money = part.ledger._accounts.proxy_money()
            for name, proxy in part.proxies.items():
                told, carried_now = (int(amount) for amount in money[proxy])
                flight[name] = flight.get(name, 0) + carried_now - told
        for waiting in self.network.values():
            for names, amounts in waiting:
                for name, amount in zip(names, amounts, strict=True):
                    flight[name] = flight.get(name, 0) + amount
        now = [seen(part) for part in self.parts]
        full = carried(now)
        for one in now:
            for name, received in one.received.items():
                assert received >= 0
                assert received + flight.get(name, 0) == full.get(name, 0)


def test_money_is_exact_over_partitions_and_any_cut_certifies() -> None:
    run_state_machine_as_test(PartsMachine, settings=settings(max_examples=40, stateful_step_count=25))


def test_partitions_that_tell_each_other_everything_agree_with_one_ledger() -> None:
    parts = [Part(number) for number in range(PARTS)]
    web = random_web(PARTS * (NAMES - 1), 40, seed=5)
    names = [(number % PARTS, number // PARTS) for number in range(web.pages)]
    for part in parts:
        for number, name in enumerate(names):
            if name[0] == part.number:
                targets = [part.account(names[target]) for target in sorted(set(web.row(number).tolist()))]
                part.ledger.visit_many([part.account(name)], row_of(targets))
    for _ in range(200):
        for part in parts:
            part.ledger.settle(error=1e-9)
            for other in parts:
                proxies = [name for name in part.proxies if name[0] == other.number]
                members = np.array([part.proxies[name] for name in proxies], dtype=np.int32)
                places, amounts, _ = part.ledger.take_unsent(members, 1, len(members))
                part.sent[other.number] += int(np.abs(amounts).sum())
                other.applied[part.number] += int(np.abs(amounts).sum())
                if len(places):
                    other.ledger.arrive(np.array([other.account(proxies[place]) for place in places]), amounts)
    for part in parts:
        rest = [other.ledger.sums for other in parts if other is not part]
        part.ledger.receive_sums(rest[0].plus(rest[1]))
    certificate = certified([seen(part).report for part in parts])
    assert certificate.error < 1e-5
    one = ExactLedger(damping=DAMPING)
    one.join(web.pages)
    for number in range(web.pages):
        one.visit(number, sorted(set(web.row(number).tolist())))
    one.settle(error=1e-9)
    ours = [float(parts[name[0]].ledger.importance([parts[name[0]].pages[name]])[0]) for name in names]
    assert np.abs(np.array(ours) - one.importance()).sum() / web.pages <= certificate.shown
    assert ours == pytest.approx(one.importance(), abs=1e-5)


class Pair:
    """Two partitions: page a of the first links to b of the second, and all is settled; then it links to c instead."""

    def __init__(self) -> None:
        self.first, self.second = Part(0), Part(1)
        self.first.sent, self.first.applied = [0] * 2, [0] * 2
        self.second.sent, self.second.applied = [0] * 2, [0] * 2
        for name in ((1, 0), (1, 1), (1, 2)):
            self.second.account(name)
        self.read(self.second, (1, 0), [(1, 2)])
        self.link_to((1, 0))
        self.deliver(*self.tell())
        self.settle()
        self.link_to((1, 1))

    def read(self, part: Part, name: Name, row: list[Name]) -> None:
        part.rows[name] = row
        part.ledger.visit_many([part.account(name)], row_of([part.account(target) for target in row]))

    def link_to(self, target: Name) -> None:
        self.read(self.first, (0, 0), [target])

    def settle(self) -> None:
        for part in (self.first, self.second):
            while part.ledger.settle(payments=10).payments:
                pass

    def tell(self) -> tuple[list[Name], list[int]]:
        names = list(self.first.proxies)
        members = np.array(list(self.first.proxies.values()), dtype=np.int32)
        places, amounts, _ = self.first.ledger.take_unsent(members, 1, len(members))
        self.first.sent[1] += int(np.abs(amounts).sum())
        return [names[place] for place in places], amounts.tolist()

    def deliver(self, names: list[Name], amounts: list[int]) -> None:
        pages = np.array([self.second.account(name) for name in names])
        self.second.ledger.arrive(pages, np.array(amounts, dtype=np.int64))
        self.second.applied[0] += sum(map(abs, amounts))

    def certifies(self) -> None:
        cut = [seen(self.first), seen(self.second)]
        true, shown = true_errors(cut)
        certificate = certified([one.report for one in cut])
        assert 0.01 < true <= certificate.error
        assert 0.01 < shown <= certificate.shown


def test_money_that_is_unsent_in_flight_or_owed_is_in_the_certificate_where_nothing_else_is() -> None:
    pair = Pair()
    pair.certifies()
    batch = pair.tell()
    pair.certifies()
    pair.deliver(*batch)
    pair.certifies()
    pair.settle()
    assert certified([seen(pair.first).report, seen(pair.second).report]).error < 1e-6


def test_a_receiver_that_is_ahead_of_its_sender_s_report_is_in_the_certificate() -> None:
    pair, before = Pair(), Pair()
    pair.deliver(*pair.tell())
    pair.settle()
    before.link_to((1, 0))
    cut = [seen(before.first), seen(pair.second)]
    true, shown = true_errors(cut)
    certificate = certified([one.report for one in cut])
    assert 0.01 < true <= certificate.error
    assert 0.01 < shown <= certificate.shown


def test_a_watch_hears_of_pages_and_never_of_proxies() -> None:
    ledger = PartialLedger()
    ledger.join(3)
    heard: list[int] = []
    ledger.watch = lambda paid: heard.extend([] if paid is None else paid.tolist())
    ledger.join_proxies(2)
    ledger.visit_many([0], row_of([1, PROXY, PROXY + 1]))
    ledger.visit_many([0], row_of([2, PROXY]))
    ledger.arrive(np.array([2]), np.array([100]))
    assert heard == [1, 1, 2, 2]


def test_a_level_that_nobody_exchanges_is_reached_by_itself() -> None:
    ledger = PartialLedger()
    ledger.join(30)
    ledger.explore(random_web(30, 120, seed=2), 30 * 50, "cycle")
    ledger.settle(error=1e-6)
    report = ledger.report(0, (0,), (0,))
    assert abs(report.sums.virtual - LEVEL * report.sums.emphasis) < 1e-5 * report.sums.paid
    assert ledger.error() == pytest.approx(certified([report]).error)


@given(st.lists(st.integers(0, 40), max_size=8), st.booleans())
def test_a_restored_ledger_goes_on_as_the_original(joins: list[int], filed: bool) -> None:
    rows = MemoryRows()
    one = PartialLedger(rows=rows)
    one.join(3)
    for count in joins:
        one.join_proxies(count)
        one.visit_many([count % 3], row_of([(count + 1) % 3, *range(PROXY, PROXY + one.proxies)]))
    one.arrive(np.array([0, 1, 1]), np.array([5, 7, 11]) << 20)
    one.receive_sums(Sums(7, 1 << 40, 1 << 39, 112))
    if filed:
        one.settle(payments=2)
    facts, arrays = one.state()
    other = PartialLedger.from_state(facts, {name: array.copy() for name, array in arrays.items()})
    for ledger in (one, other):
        ledger.join_proxies(2)
        ledger.visit_many([2], row_of([0, 1, PROXY + ledger.proxies - 1]))
        ledger.settle(payments=7)
        ledger.join(2)
        ledger.settle(threshold=0.01)
        ledger.check()
    assert np.array_equal(one.importance(), other.importance())
    assert one.report(0, (), ()) == other.report(0, (), ())
    assert one.arrived == other.arrived == 23 << 20


def test_a_page_outside_keeps_its_money_and_gets_none_from_the_virtual_page() -> None:
    ledger = PartialLedger()
    ledger.join(1)
    outside = ledger.join(focus=OUTSIDE)
    ledger.visit(0, [outside])
    assert ledger.importance([outside])[0] > 0
    ledger.settle(error=1e-7)
    ledger.check()
    assert ledger.sums.emphasis == 16
    assert ledger.importance() == pytest.approx([1 / 1.85 * 2, 0.85 / 1.85 * 2], rel=1e-6)


def test_a_ledger_without_money_has_no_importance_and_no_error() -> None:
    ledger = PartialLedger()
    ledger.join(focus=OUTSIDE)
    assert (ledger.importance().tolist(), ledger.error(), ledger.least_error(), ledger.unit()) == ([0.0], 0.0, 0.0, 0.0)
    assert certified([ledger.report(0, (0,), (0,))]).error == 0.0


def test_a_certificate_needs_every_partition_once() -> None:
    report = PartialLedger().report(1, (0, 0), (0, 0))
    with pytest.raises(LedgerImbalance, match="one report of each partition"):
        certified([report])


def test_a_unit_that_is_carried_or_arrives_without_a_row_is_noticed() -> None:
    def made() -> PartialLedger:
        ledger = PartialLedger()
        ledger.join(2)
        ledger.join_proxies(1)
        ledger.visit_many([0], row_of([1, PROXY]))
        return ledger

    ledger = made()
    ledger._accounts.proxy_money()[0, RECEIVED] += 1
    with pytest.raises(LedgerImbalance, match="proxies"):
        ledger.check()
    ledger = made()
    ledger._accounts.books.money[1, RECEIVED] += 1
    with pytest.raises(LedgerImbalance, match="arrived"):
        ledger.check()
    ledger = made()
    ledger._accounts.books.money[1, RECEIVED] -= 1
    with pytest.raises(LedgerImbalance, match="receipts"):
        ledger.check()


def test_telling_stops_at_the_most_and_goes_on_from_there() -> None:
    ledger = PartialLedger()
    ledger.join(1)
    ledger.join_proxies(5)
    ledger.visit_many([0], row_of([PROXY + number for number in range(5)]))
    members = np.arange(5, dtype=np.int32)
    unsent = [ledger.largest_unsent(members), ledger.largest_unsent(members[:0])]
    places, amounts, after = ledger.take_unsent(members, 1, 3)
    assert unsent == [amounts.max(), 0]
    assert (places.tolist(), after) == ([0, 1, 2], 3)
    assert ledger.sent(members) == amounts.sum()
    places, _, after = ledger.take_unsent(members, 1, 3, after)
    assert (places.tolist(), after) == ([3, 4], 0)
    assert len(ledger.take_unsent(members, 1, 5)[0]) == 0
