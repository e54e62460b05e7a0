"""The figures of a divided ledger: payments, bytes and time, beside one ledger for the whole graph."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import process_time

import numpy as np

from bench.cluster.divided import BATCH_BYTES, Divided
from bench.crawl_shard import SETTINGS, MadeUp
from bench.figure import Figure
from bench.settling import settle_cold
from centime.crawl.engine.opening import open_writer
from centime.crawl.engine.writer import CrawlWriter
from centime.lab.synthetic.graphs import graph_named
from centime.ledger.partial import PartialLedger
from centime.ledger.payment import RECEIVED
from centime.model.graph import Graph
from centime.rank.power import power_iteration
from centime.shard.transfers.batch import MOST_ENTRIES, pack_entries, unpack_entries
from centime.store.url_table import UrlTable

ERROR = 1e-6
PARTITIONS = 16
# the share of its pages that a partition pays in a turn, after how many of them it tells the others, what is promised
TURNS = {"whole turns": (1.0, 1, 1.6), "short turns": (0.1, 3, 1.3)}
PAGES = {"weblike": 300_000, "power-law": 100_000, "poisson": 100_000}
RATE_PAGES, RATE_VISITS, RATE_ROUNDS = 50_000, 640, 30  # the machine is never quiet: the best of many rounds
RATE_SEED = "http://h0.example/"


def graphs(path: Path | None) -> Iterator[tuple[str, Graph]]:
    """The graphs by name: models of webs, and the one of a file."""
    for name, pages in PAGES.items():
        yield name, graph_named(name, pages, 0)
    if path is not None:
        yield path.stem, graph_named(str(path), 0, 0)


def levels(path: Path | None) -> Iterator[Figure]:
    """What a constant level costs one ledger: payments to the same error, over those with a floating level."""
    for name, web in graphs(path):
        floating = settle_cold(web)
        constant = PartialLedger()
        constant.join(web.pages)
        constant.explore(web, web.pages, "cycle")
        constant.settle(error=ERROR)
        yield Figure(f"{name}: payments to {ERROR:g} with a floating level", floating.payments / web.pages, "a page")
        yield Figure("  with a constant level", constant.payments / floating.payments, "times")


def transfers(path: Path | None) -> Iterator[Figure]:
    """16 partitions beside one ledger, to the same certified error."""
    for name, web in graphs(path):
        if name in ("power-law", "poisson"):
            continue  # they have no hosts: a page links to any other
        one = settle_cold(web).payments
        exact = power_iteration(web, error=1e-13).scores
        for title, (turn, every, limit) in TURNS.items():
            divided = Divided(web, PARTITIONS, is_model=name in PAGES)
            effort = divided.settle(ERROR, turn, every)
            true = float(np.abs(divided.importance() - exact).sum() / web.pages)
            certificate = divided.certificate()
            divided.check()
            what = f"{name}, {PARTITIONS} partitions, {title}: payments over those of one ledger"
            yield Figure(what, effort.payments / one, "times", "at most", limit)
            yield Figure("  certified error", certificate.error, "", "at most", ERROR)
            yield Figure("  true error of what partitions show", true, "", "at most", certificate.shown)
            size = effort.entry_bytes + BATCH_BYTES * effort.batches
            yield Figure("  bytes a payment", size / effort.payments, "", "at most", 2.0)
            yield Figure("  bytes an entry", size / effort.entries, "", "at most", 6.0)
            yield Figure("  CPU of an entry in such small batches", 1e9 * effort.seconds / effort.entries, "ns")
            yield Figure("  proxies a page", effort.proxies / web.pages, "")
            yield Figure("  turns", float(effort.turns), "")


def entries() -> Iterator[Figure]:
    """The CPU of an entry in full batches: closed, packed, unpacked and applied."""
    count, random = 1 << 20, np.random.default_rng(1)
    sender, receiver = PartialLedger(), PartialLedger()
    receiver.join(2 * count)
    sender.join_proxies(count)
    members = np.arange(count, dtype=np.int32)
    pages = random.permutation(2 * count)[:count]
    best = float("inf")
    for _ in range(5):
        sender._accounts.proxy_money()[:, RECEIVED] += random.integers(-(1 << 24), 1 << 24, count)
        began, size, sent, after = process_time(), 0, 0, 0
        while True:
            places, amounts, after = sender.take_unsent(members, 1 << 20, MOST_ENTRIES, after)
            packed = pack_entries(places, amounts)
            places, amounts = unpack_entries(packed, count)
            receiver.arrive(pages[places], amounts)
            size, sent = size + len(packed), sent + len(places)
            if not after:
                break
        best = min(best, (process_time() - began) / sent)
    yield Figure(f"an entry in batches of {MOST_ENTRIES}, all of its CPU", 1e9 * best, "ns", "at most", 100.0)
    yield Figure("  bytes", size / sent, "", "at most", 6.0)


def memory() -> Iterator[Figure]:
    """Bytes of a proxy at its sender, with the space that is reserved; and at its receiver."""
    count = 1_000_000
    ledger, table = PartialLedger(), UrlTable()
    ledger.join(1)
    before = ledger.nbytes
    ledger.join_proxies(count)
    random = np.random.default_rng(1)
    for _ in range(0, count, 10_000):
        table.find_or_add(random.integers(1, 2**63, 10_000).astype(np.uint64))
    own = (ledger.nbytes - before + table.nbytes) / count
    yield Figure("a proxy at its sender", own + 4 * 9 / 8, "bytes", "at most", 45.0)
    yield Figure("  at its receiver", 4 * 9 / 8, "bytes")


def rate() -> Iterator[Figure]:
    """The shard of a partition beside that of a crawl of its own, both with as many pages: visits of 64 links that it
    leases and records in a second of its CPU. About half of the links of pages that it has found lead elsewhere.
    """
    with ExitStack() as stack:
        room = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        both = []
        for partitions in (1, 2):
            given = SETTINGS | {"partitions": partitions}
            opened = stack.enter_context(open_writer(room / f"{partitions}", [RATE_SEED], given, where="cluster"))
            both.append(MadeUp(opened))
            both[-1].grow(RATE_PAGES)
        best = [0.0, 0.0]
        for _ in range(RATE_ROUNDS):
            for place, made in enumerate(both):
                best[place] = max(best[place], made.crawl(RATE_VISITS))
        before = _journal_bytes(opened)
        both[-1].crawl(RATE_VISITS)
        size = (_journal_bytes(opened) - before) / RATE_VISITS
    yield Figure("a crawl of its own", best[0], "visits/s")
    yield Figure("  a partition, over that", best[1] / best[0], "times", "at least", 0.95)
    yield Figure("  journal of a partition, which a replica is sent", size, "bytes a visit")


def _journal_bytes(opened: CrawlWriter) -> int:
    opened.shard.journal.flush()
    return sum(path.stat().st_size for path in opened.folder.journal.iterdir())
