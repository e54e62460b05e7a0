"""The error of estimated change rates by the number of observations: the paper's formulas, their corrections, and ours.

Pages and reads are those of `rates_seen`; an observation is an interval between two reads. The graph of the experiment
gives only the number of pages. Compared are the four formulas of `refresh/learning/rates.py`, a finite form of one of
them, and our belief (`rates_belief`) from change observations alone and with dates. After 10 observations, the
posterior under the true law of all rates (`rates_known`) is also compared, on at most 20 000 pages: no estimate with
less knowledge is expected to be better. Measured for each, over pages:

    median_error_percent    the median of |estimate - truth| / truth median_bias_percent     the median of estimate /
    truth, minus 1: the bias of a typical page mean_log_bias_percent   exp(mean log(estimate / truth)) - 1, over the
    pages whose estimate is neither 0 nor infinite total_bias_percent      mean(estimate) / mean(truth) - 1: the bias of
                                                                           the whole web's changes, which depends mostly
                                                                           on
                            the few fastest pages
    without_percent         pages with an estimate of 0 or of infinity

In a second part, the rate of a page jumps five-fold, up or down, after 10, 50 or 200 observations of the same mean
interval (one over its old rate). Measured is the number of further observations until the mean of the belief is within
a factor of 2 of the new rate, with and without the fading of old evidence.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from centime.lab.experiment import Experiment, Findings, Row, Step
from centime.lab.picture import Look, name_lines, new_picture, plain_ticks
from centime.lab.rates_belief import believed, fold_in
from centime.lab.rates_known import known_rates
from centime.lab.rates_seen import (
    LONGEST,
    PAGES_A_HOST,
    SHORTEST,
    Law,
    Pages,
    Reading,
    Seen,
    Vector,
    make_pages,
    observe,
    read_pages,
)
from centime.model.graph import Graph
from centime.refresh.learning.rates import estimates

OBSERVATIONS = (1, 2, 3, 5, 10, 20, 50)
PROMISED = 10
READINGS: tuple[Reading, ...] = ("same interval", "paper's rule")
LAWS: tuple[Law, ...] = ("uniform", "exponential")
SHOWN: tuple[Reading, Law] = ("same interval", "uniform")
OURS = {False: "ours, changes only", True: "ours, with dates"}
KNOWN = {False: "law known, changes only", True: "law known, with dates"}
KNOWN_PAGES = 20_000

JUMP, NEAR = 5.0, 2.0
HISTORIES = (10, 50, 200)
JUMPING_PAGES, LONGEST_WAIT = 500, 600

LOOKS = {
    "Eq. 9 printed": Look("#999999", "v", ":"),
    "Eq. 9 product": Look("#e08e00", "^"),
    "Eq. 9 product, finite": Look("#8c564b", "s"),
    "Eq. 10 printed": Look("#d62728", "x", ":"),
    "Eq. 10 corrected": Look("#cc5599", "o"),
    OURS[False]: Look("#0072b2", "D"),
    OURS[True]: Look("#009e73", "X"),
}


def run(web: Graph, seed: int, step: Step) -> Findings:
    """Measures the errors of all estimators by number of observations, and how fast our belief follows a jump."""
    rows: list[Row] = []
    for reading in READINGS:
        for law in LAWS:
            chance = np.random.default_rng(seed)
            pages = make_pages(chance, web.pages)
            seen = read_pages(chance, pages.rates, OBSERVATIONS[-1], reading, law)
            for name, reads, rates in _all_estimates(pages, seen):
                measured = _measure(rates, pages.rates[: len(rates)])
                rows.append(
                    {"reading": reading, "intervals": law, "estimator": name, "observations": reads, **measured}
                )
            step(0.24)
    shown = [row for row in rows if (row["reading"], row["intervals"]) == SHOWN]
    jumps = _jumps(seed)
    step(0.04)
    return Findings(
        rows,
        f"median relative error, percent, by number of observations ({SHOWN[0]}, {SHOWN[1]})",
        _by_observations(shown, "median_error_percent"),
        facts={
            f"median bias, percent, by number of observations ({SHOWN[0]}, {SHOWN[1]})": _by_observations(
                shown, "median_bias_percent"
            ),
            f"after {PROMISED} observations": [
                {
                    name: _rounded(value)
                    for name, value in row.items()
                    if name not in ("observations", "without_percent")
                }
                for row in rows
                if row["observations"] == PROMISED and row["estimator"] in (*OURS.values(), *KNOWN.values())
            ],
            "observations until a five-fold jump is followed": jumps,
        },
        settings={"pages_a_host": PAGES_A_HOST, "uniform_intervals": f"{SHORTEST}..{LONGEST}"},
    )


def _all_estimates(pages: Pages, seen: Seen) -> Iterator[tuple[str, int, Vector]]:
    for reads in OBSERVATIONS:
        for name, rates in estimates(seen.intervals[:, :reads], seen.changed[:, :reads], seen.since[:, :reads]).items():
            yield name, reads, rates
    for with_dates, name in OURS.items():
        for reads, rates in believed(pages, seen, with_dates, OBSERVATIONS):
            yield name, reads, rates
    for with_dates, name in KNOWN.items():
        few = Seen(
            seen.intervals[:KNOWN_PAGES, :PROMISED],
            seen.changed[:KNOWN_PAGES, :PROMISED],
            seen.since[:KNOWN_PAGES, :PROMISED],
        )
        rates = np.empty(len(few.intervals))
        known_rates(*few, pages.host_rates[:KNOWN_PAGES], with_dates, rates)
        yield name, PROMISED, rates


def _measure(estimate: Vector, truth: Vector) -> Row:
    ratio = estimate / truth
    some = (ratio > 0) & np.isfinite(ratio)
    numbers = {
        "median_error_percent": 100 * float(np.median(np.abs(ratio - 1))),
        "median_bias_percent": 100 * float(np.median(ratio) - 1),
        "mean_log_bias_percent": 100 * math.expm1(float(np.log(ratio[some]).mean())) if some.any() else math.nan,
        "total_bias_percent": 100 * float(estimate.mean() / truth.mean() - 1),
        "without_percent": 100 * float(1 - some.mean()),
    }
    return {name: number if math.isfinite(number) else None for name, number in numbers.items()}


def _by_observations(rows: Sequence[Row], column: str) -> list[Row]:
    return [
        {
            "estimator": name,
            **{str(row["observations"]): _rounded(row[column]) for row in rows if row["estimator"] == name},
        }
        for name in LOOKS
    ]


def _rounded(value: object) -> object:
    return round(value, 1) if isinstance(value, float) else value


def _jumps(seed: int) -> list[Row]:
    """For each history and direction, the median number of observations until the belief follows, with and without
    fading.
    """
    table: list[Row] = []
    for direction, factor in (("up", JUMP), ("down", 1 / JUMP)):
        for history in HISTORIES:
            row: dict[str, object] = {"jump": direction, "observations_before": history}
            for with_dates, name in OURS.items():
                for fading, habit in ((True, "fading"), (False, "not fading")):
                    waits = _waits(np.random.default_rng(seed), factor, history, with_dates, fading)
                    row[f"{name.removeprefix('ours, ')}, {habit}"] = (
                        int(np.median(waits)) if np.median(waits) < LONGEST_WAIT else None
                    )
            table.append(row)
    return table


def _waits(chance: np.random.Generator, factor: float, history: int, with_dates: bool, fading: bool) -> Vector:
    """For each page, the observations after the jump until its belief is within the factor NEAR of the new rate."""
    count = JUMPING_PAGES
    s, b, means = np.zeros(count), np.zeros(count), np.ones(count)
    waits = np.full(count, float(LONGEST_WAIT))
    for number in range(history + LONGEST_WAIT):
        rate = 1.0 if number < history else factor
        seen = observe(chance, np.full(count, rate), chance.uniform(SHORTEST, LONGEST, (count, 1)))
        fold_in(s, b, 1.0, means, seen.intervals[:, 0], seen.changed[:, 0], seen.since[:, 0], with_dates, fading)
        if number >= history:
            mean = (1.0 + s) / (1.0 + b)
            near = (mean > factor / NEAR) & (mean < factor * NEAR)
            waits[near] = np.minimum(waits[near], number - history + 1)
            if (waits < LONGEST_WAIT).all():
                break
    return waits


def draw(findings: Findings) -> Figure:
    """Draws the median error and the median of estimate / truth over the number of observations."""
    rows = [row for row in findings.rows if (row["reading"], row["intervals"]) == SHOWN]
    ours = {row["estimator"]: row for row in rows if row["observations"] == PROMISED}
    said = ", ".join(
        f"{name} {ours[name]['median_error_percent']:.1f} %"
        for name in (*OURS.values(), "Eq. 9 printed", "Eq. 10 printed")
    )
    figure, panels = new_picture(f"Median error of the change rate after {PROMISED} observations:\n{said}", panels=2)
    error, bias = panels
    for name in LOOKS:
        own = [row for row in rows if row["estimator"] == name]
        _draw(error, name, own, [row["median_error_percent"] for row in own])
        _draw(
            bias,
            name,
            own,
            [None if row["median_bias_percent"] is None else 1 + row["median_bias_percent"] / 100 for row in own],
        )
    error.set(xscale="log", yscale="log", ylim=(10, 200), ylabel="median of |estimate - truth| / truth, percent")
    bias.set(xscale="log", yscale="log", ylim=(0.05, 5), ylabel="median of estimate / truth")
    bias.axhline(1, color="#222222", linewidth=0.8)
    error.set_yticks([10, 20, 35, 50, 100, 200])
    bias.set_yticks([0.05, 0.1, 0.2, 0.5, 1, 2, 5])
    for axes in panels:
        axes.set(xlim=(OBSERVATIONS[0], OBSERVATIONS[-1]), xlabel="observations (irregular intervals between reads)")
        axes.set_xticks(OBSERVATIONS)
        axes.minorticks_off()
        plain_ticks(axes.xaxis)
        plain_ticks(axes.yaxis)
        name_lines(axes)
    return figure


def _draw(axes: Axes, name: str, rows: Sequence[Row], heights: Sequence[float | None]) -> None:
    """Draws the line of an estimator, without values that a logarithmic axis cannot show."""
    style = LOOKS[name]
    points = [
        (row["observations"], height)
        for row, height in zip(rows, heights, strict=True)
        if height is not None and height > 0
    ]
    axes.plot(
        [x for x, _ in points],
        [y for _, y in points],
        label=name,
        color=style.colour,
        linestyle=style.dashes,
        marker=style.marker,
        markersize=5.5,
        linewidth=1.6,
    )


EXPERIMENTS = {"rates": Experiment(run, draw)}
