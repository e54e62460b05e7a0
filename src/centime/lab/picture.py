"""Pictures of findings: one style for all pictures, and the same colour and marker for an algorithm everywhere.

Pictures are matplotlib `Figure` objects, drawn by Agg and never by pyplot, so they change no global state. The name of
a line is at its right end, in its colour, instead of in a legend.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

INK = "#222222"
FAINT = "#8a8a8a"
DOTS_PER_INCH = 100
LABEL_GAP = 0.042  # between two names, as a share of the height of the axes


@dataclass(frozen=True, slots=True)
class Look:
    """The colour, marker and dashes of one algorithm."""

    colour: str
    marker: str
    dashes: str = "-"


LOOKS: Mapping[str, Look] = {
    "OPIC random": Look("#999999", "v"),
    "OPIC greedy": Look("#e08e00", "^"),
    "OPIC cycle": Look("#8c564b", "s"),
    "OPIC greedy, last crawl": Look("#e08e00", "2", ":"),
    "OPIC cycle, last crawl": Look("#8c564b", "x", ":"),
    "off-line": Look("#000000", "o", "--"),
    "exact greedy": Look("#0072b2", "D"),
    "exact cycle": Look("#56b4e9", "P"),
    "exact balanced": Look("#332288", "p"),
    "exact settled": Look("#009e73", "X"),
    "exact by worth": Look("#117733", "*"),
    "Variable 4": Look("#e5a3c8", "<"),
    "Variable 8": Look("#cc5599", "o"),
    "Variable 16": Look("#882255", ">"),
    "Fixed": Look("#a39200", "s"),
    "Improved Fixed": Look("#6b5a00", "P"),
    "Interpolation": Look("#d62728", "*"),
    "best first": Look("#0072b2", "D"),
    "interest": Look("#009e73", "d"),
    "importance": Look("#0072b2", "D"),
    "breadth first": Look("#7f7fbf", "h"),
    "random order": Look("#999999", "v"),
}


def new_picture(title: str, panels: int = 1) -> tuple[Figure, Sequence[Axes]]:
    """An empty picture with its title, and its axes from left to right."""
    width = 8.8 if panels == 1 else 0.6 + 5.4 * panels
    figure = Figure(figsize=(width, 5.4), dpi=DOTS_PER_INCH)
    figure.subplots_adjust(left=0.85 / width, right=1 - 2.05 / width, top=0.86, bottom=0.185, wspace=0.6)
    figure.suptitle(title, x=0.012, y=0.975, ha="left", va="top", fontsize=11.5, fontweight="bold", color=INK)
    axes = figure.subplots(1, panels, squeeze=False)[0]
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
        one.grid(True, which="major", color="#e3e3e3", linewidth=0.7)
        one.set_axisbelow(True)
        one.tick_params(colors=INK, labelsize=9)
    return figure, axes


Values = Sequence[float]


def draw_line(
    axes: Axes, algorithm: str, x: Values, y: Values, name: str | None = None, dashes: str | None = None
) -> None:
    """Draws the line of an algorithm; `name_lines` will label it with `name`, or else with the algorithm's name."""
    look = LOOKS[algorithm]
    axes.plot(
        x,
        y,
        label=name or algorithm,
        color=look.colour,
        linestyle=dashes or look.dashes,
        marker=look.marker,
        markersize=5.5 if len(x) < 40 else 0,
        linewidth=1.6,
        clip_on=False,
    )


def name_lines(axes: Axes) -> None:
    """Writes the name of each line at its right end and moves names that would overlap. Call it after scales and limits
    are set.
    """
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    to_share = axes.transData + axes.transAxes.inverted()
    ends = [to_share.transform(np.asarray(line.get_xydata())[-1]) for line in lines]
    heights = _spread([float(min(max(y, 0.0), 1.0)) for _, y in ends])
    for line, (x, y), height in zip(lines, ends, heights, strict=True):
        axes.annotate(
            str(line.get_label()),
            xy=(x, y),
            xytext=(1.035, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=9,
            color=line.get_color(),
            arrowprops={"arrowstyle": "-", "color": line.get_color(), "linewidth": 0.5, "shrinkA": 1, "shrinkB": 3},
            annotation_clip=False,
        )


def _spread(heights: list[float]) -> list[float]:
    """The nearest heights, in the same order, that keep LABEL_GAP between names."""
    rising = sorted(range(len(heights)), key=heights.__getitem__)
    placed: list[list[float]] = []  # groups of adjacent names: centre, number
    for index in rising:
        placed.append([heights[index], 1])
        while len(placed) > 1 and placed[-1][0] - placed[-2][0] < LABEL_GAP * (placed[-1][1] + placed[-2][1]) / 2:
            centre, number = placed.pop()
            below = placed[-1]
            below[0] = (below[0] * below[1] + centre * number) / (below[1] + number)
            below[1] += number
    spread = [centre + LABEL_GAP * (k - (number - 1) / 2) for centre, number in placed for k in range(int(number))]
    spread = [height - max(0.0, spread[-1] - 1) for height in spread]
    result = [0.0] * len(heights)
    for index, height in zip(rising, spread, strict=True):
        result[index] = height
    return result


def grouped(number: float) -> str:
    """A number in plain decimal digits, with thin spaces between the thousands."""
    return f"{number:,.10g}".replace(",", "\u202f")


def say(number: float) -> str:
    """A number with two significant digits, in plain decimal digits if that is short."""
    rounded = float(f"{number:.2g}")
    return f"{rounded:.0e}" if 0 < abs(rounded) < 1e-4 else grouped(rounded)


def whole_decades(axes: Axes, values: Values) -> None:
    """Makes the vertical axis logarithmic, from a power of ten to a power of ten."""
    seen = [value for value in values if value > 0] or [1.0]  # a logarithmic axis cannot show an error of 0
    axes.set(yscale="log", ylim=(10 ** np.floor(np.log10(min(seen))), 10 ** np.ceil(np.log10(max(seen)))))


def plain_ticks(axis: Axis) -> None:
    """Writes the ticks of an axis as plain numbers, 0.1 and 100 000, instead of powers of ten."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: grouped(value)))


def png(figure: Figure, small_print: str, about: str) -> bytes:
    """The picture as a PNG file that contains its settings: `small_print` at its foot, `about` in a text field."""
    figure.text(0.012, 0.012, small_print, fontsize=7, color=FAINT, va="bottom", linespacing=1.4)
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Description": about})
    return file.getvalue()
