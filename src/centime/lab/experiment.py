"""An experiment: its input is a web, its output are findings and a picture.

The module of an experiment has a mapping EXPERIMENTS from its name to an `Experiment`. `carry_out` generates or reads
the web, runs the experiment and returns its `Record`, which holds everything needed to reproduce the numbers.
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

Row = Mapping[str, Any]  # values that JSON can hold: text and numbers
Step = Callable[[float], None]  # called with the share of the work done since the last call

FEWEST_PAGES = 100
DAMPING = 0.85


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of an experiment."""

    rows: Sequence[Row]  # tidy: one measurement each, all with the same columns
    heading: str  # what the table shows, with its unit
    table: Sequence[Row]  # the main result, for people
    facts: Row = field(default_factory=dict)  # single numbers
    settings: Row = field(default_factory=dict)  # constants of the experiment itself


@dataclass(frozen=True, slots=True)
class Record:
    """Findings with everything needed to reproduce them."""

    name: str
    settings: Row
    versions: Mapping[str, str]
    findings: Findings
    seconds: float

    def as_object(self) -> dict[str, object]:
        """The record as a JSON object."""
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
        size = f"{grouped(given['pages'])} pages and {grouped(given['links'])} links"
        first = f"{given['graph']} graph of {size}, seed {given['seed']}"
        own = [f"{name.replace('_', ' ')} {value}" for name, value in self.findings.settings.items()]
        command = f"centime lab {self.name} --graph {given['graph']} --pages {given['pages']} --seed {given['seed']}"
        return f"{', '.join([first, *own])}\ncentime {self.versions['centime']}, {command}"


@dataclass(frozen=True, slots=True)
class Experiment:
    """The two functions of an experiment: one computes its findings, one draws them."""

    run: Callable[[Graph, int, Step], Findings]
    draw: Callable[[Findings], Figure]


def experiment_named(name: str) -> Experiment:
    """The experiment of that name in the catalogue."""
    module = import_module(f"centime.lab.{CATALOGUE[name].module}")
    found: Experiment = module.EXPERIMENTS[name]
    return found


def carry_out(name: str, pages: int, seed: int, graph: str | None = None, step: Step = lambda share: None) -> Record:
    """Runs an experiment on the graph of a model or file, by default the one that suits it, and returns its record."""
    graph = graph or CATALOGUE[name].graph
    if pages < FEWEST_PAGES:
        raise BadInput(f"an experiment needs {FEWEST_PAGES} pages or more, not {pages}")
    if not 0 <= seed < 2**32:
        raise BadInput(f"the seed must be a whole number from 0 to {2**32 - 1}, not {seed}")
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
    """The versions of the software that the numbers depend on."""
    return {
        "centime": version("centime"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "matplotlib": matplotlib.__version__,
    }
