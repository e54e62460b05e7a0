"""An experiment: a web goes in, findings and a picture come out.

The module of an experiment has a mapping EXPERIMENTS from its name to an `Experiment`. `carry_out` grows or reads the
web, runs the experiment and gives back its `Record`, which says all that is needed to get the same numbers again.
"""

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from typing import Any

import matplotlib
import numba
import numpy as np
from matplotlib.figure import Figure

from centime.lab.catalogue import CATALOGUE
from centime.lab.picture import grouped
from centime.lab.synthetic.graphs import graph_named
from centime.model.errors import BadInput
from centime.model.graph import Graph

Row = Mapping[str, Any]  # of what JSON knows: text and numbers
Step = Callable[[float], None]  # to be called with the share of the work that was done since the last call

FEWEST_PAGES = 100
DAMPING = 0.85


@dataclass(frozen=True, slots=True)
class Findings:
    """What an experiment found."""

    rows: Sequence[Row]  # tidy: one measurement each, all with the same columns
    heading: str  # what the table shows, with its unit
    table: Sequence[Row]  # the main result, for people
    facts: Row = field(default_factory=dict)  # single numbers
    settings: Row = field(default_factory=dict)  # what the experiment itself has fixed


@dataclass(frozen=True, slots=True)
class Record:
    """Findings with all that is needed to get them again."""

    name: str
    settings: Row
    versions: Mapping[str, str]
    findings: Findings
    seconds: float

    def as_object(self) -> dict[str, object]:
        """The record as one object of JSON."""
        return {
            "experiment": self.name,
            "settings": dict(self.settings),
            "versions": dict(self.versions),
            "seconds": round(self.seconds, 3),
            "table": list(self.findings.table),
            "facts": dict(self.findings.facts),
            "results": list(self.findings.rows),
        }

    def small_print(self) -> str:
        """The settings in two lines, for the foot of a picture."""
        given = self.settings
        first = f"{given['graph']} graph of {grouped(given['pages'])} pages and {grouped(given['links'])} links, seed {given['seed']}"
        own = [f"{name.replace('_', ' ')} {value}" for name, value in self.findings.settings.items()]
        made = f"centime {self.versions['centime']}, centime lab {self.name} --graph {given['graph']} --pages {given['pages']}"
        return f"{', '.join([first, *own])}\n{made} --seed {given['seed']}"


@dataclass(frozen=True, slots=True)
class Experiment:
    """How findings come about and what they look like."""

    run: Callable[[Graph, int, Step], Findings]
    draw: Callable[[Findings], Figure]


def experiment_named(name: str) -> Experiment:
    """The experiment of that name in the catalogue."""
    module = import_module(f"centime.lab.{CATALOGUE[name].module}")
    found: Experiment = module.EXPERIMENTS[name]
    return found


def carry_out(name: str, pages: int, seed: int, graph: str | None = None, step: Step = lambda share: None) -> Record:
    """The record of one experiment on the web of that model or file, or on the one that suits the experiment."""
    graph = graph or CATALOGUE[name].graph
    if pages < FEWEST_PAGES:
        raise BadInput(f"an experiment needs {FEWEST_PAGES} pages or more, not {pages}")
    if not 0 <= seed < 2**32:
        raise BadInput(f"the seed is a whole number from 0 to {2**32 - 1}, not {seed}")
    started = time.perf_counter()
    web = graph_named(graph, pages, seed)
    if web.pages < FEWEST_PAGES:
        raise BadInput(f"{graph}: an experiment needs {FEWEST_PAGES} pages or more, this graph has {web.pages}")
    findings = experiment_named(name).run(web, seed, step)
    settings = {
        "graph": graph,
        "pages": web.pages,
        "links": web.links,
        "seed": seed,
        "damping": DAMPING,
        **findings.settings,
    }
    return Record(name, settings, versions(), findings, time.perf_counter() - started)


def versions() -> dict[str, str]:
    """The versions of all that had a part in the numbers."""
    return {
        "centime": version("centime"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "matplotlib": matplotlib.__version__,
    }
