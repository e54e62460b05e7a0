"""Simulated librarians who mark the sites of a webbox, so that `centime select` can be tried where the truth is known.

    worth_s    =  z(log of the true importance of s) + VARIETY z(share of the pages of s that are not HTML)
    opinion    =  worth_s + bias_j + noise_js               bias and noise normal, with deviations BIAS and NOISE
    mark_js    =  1 to 4, by the shares SHARES of all sites with the smallest, ..., the largest worth

z has mean 0 and standard deviation 1 over all sites. So importance alone explains a part of the marks, another
criterion explains more, and nothing explains all. With these constants judges score 60 to 80 % against the rounded mean
of eight, as the librarians of the paper did (Section 4.3).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from centime.lab.webbox import WebBox
from centime.lab.webbox.layout import BARE, HTML, START
from centime.model.address import name_of
from centime.rank.scores import Vector

VARIETY = 0.8
BIAS, NOISE = 0.15, 0.45
SHARES = (0.3, 0.3, 0.25, 0.15)


class PlantedMark(NamedTuple):
    """A mark that a simulated judge gives to a site."""

    site: str
    judge: str
    mark: int


def planted_marks(box: WebBox, judges: int = 8, seed: int = 0) -> Iterator[PlantedMark]:
    """The marks of all sites of a web by `judges` judges; the same for the same seed."""
    begins = box.layout.sites[: box.hosts, START].astype(np.int64)
    importance = np.add.reduceat(box.importance(), begins)
    plain = np.add.reduceat(np.isin(box.forms(), (HTML, BARE)).astype(np.float64), begins)
    pages = np.diff(np.append(begins, box.pages))
    worth = _standard(np.log(importance)) + VARIETY * _standard(1 - plain / pages)
    chance = np.random.default_rng(seed)
    cuts = np.quantile(worth, np.cumsum(SHARES)[:-1])
    opinions = worth[:, None] + chance.normal(0, BIAS, judges) + chance.normal(0, NOISE, (box.hosts, judges))
    marks = 1 + np.searchsorted(cuts, opinions)
    for site, row in enumerate(marks.tolist()):
        for judge, mark in enumerate(row, 1):
            yield PlantedMark(name_of(box.origin(site)), f"judge {judge}", mark)


def _standard(values: Vector) -> Vector:
    spread = values.std()
    made: Vector = (values - values.mean()) / (spread if spread > 0 else 1.0)
    return made
