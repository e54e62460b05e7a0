"""Webs and ledgers made for the tests, and how to hold ledgers against each other."""

import json

import numpy as np
import numpy.typing as npt

from centime.ledger.history.window import FixedWindow, ImprovedFixedWindow, Interpolation, VariableWindow, Window
from centime.ledger.opic import OpicLedger
from centime.model.graph import Graph, graph_from_links

WINDOWS: list[Window | None] = [None, FixedWindow(2), ImprovedFixedWindow(2), VariableWindow(4), Interpolation(4)]


def random_web(pages: int, links: int, seed: int) -> Graph:
    """A web with links by chance."""
    chance = np.random.default_rng(seed)
    return graph_from_links(pages, chance.integers(0, pages, links), chance.integers(0, pages, links))


def held(ledger: OpicLedger) -> npt.NDArray[np.int64]:
    """The units of cash that each page holds."""
    return ledger._virtual.held()


def copy_of(ledger: OpicLedger) -> OpicLedger:
    """The ledger saved and made again, its facts by way of JSON."""
    facts, arrays = ledger.state()
    return OpicLedger.from_state(json.loads(json.dumps(facts)), arrays)


def same(one: OpicLedger, other: OpicLedger) -> bool:
    """Whether two ledgers are the same, bit for bit."""
    facts, arrays = one.state()
    other_facts, other_arrays = other.state()
    return facts == other_facts and all(
        array.tobytes() == other_arrays[name].tobytes() for name, array in arrays.items()
    )
