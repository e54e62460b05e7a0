"""A Sankey diagram of the energy that flows between communities.

The left side shows the supply of each community, |I| + E_in; the right side shows where it goes. The width of a band is
its energy:

    |I| + E_in = E (kept: the band to the same community) + E_out (bands to others) + E_dp (the band to dangling pages)

So each block on the left is as high as its bands together (Theorem 4.2), and a block on the right is E + E_in of its
community. Of the rest of the web, the diagram shows only its exchange with communities; all of it
would make the other bands too thin to see.

Trap: what a community receives is on the right, and is also part of its supply on the left: the diagram shows one turn
of a circuit.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from centime.analyse.flow import Flow

INK = "#222222"
FAINT = "#777777"
COLOURS = ("#0072b2", "#e08e00", "#009e73", "#cc5599", "#56b4e9", "#8c564b", "#a39200", "#332288", "#d62728", "#7f7fbf")
REST_COLOUR = "#b5b5b5"
DANGLING_COLOUR = "#555555"
DOTS_PER_INCH = 130
BLOCK_WIDTH = 0.018
MARGIN_INCHES = 1.5  # above and below the axes, together
LABEL_INCHES = 0.36  # two lines of text: added to the height of each block, so that labels never touch


@dataclass(slots=True)
class Block:
    """A community, the rest of the web or the dangling pages on one side; bands are attached from its top down."""

    name: str
    detail: str
    colour: str
    size: float
    top: float = 0.0
    next: float = 0.0


def draw_flow(flow: Flow, names: Sequence[str], title: str, small_print: str) -> bytes:
    """The diagram as the bytes of a PNG file; the community after the last named one is the rest of the web."""
    left, right = list(_givers(flow, names)), list(_receivers(flow, names))
    figure, axes = _page(title, small_print, len(right))
    room = LABEL_INCHES / (figure.get_figheight() - MARGIN_INCHES)
    scale = (1.0 - room * len(right)) / max(sum(block.size for block in right), 1e-300)
    for column in (left, right):
        height = 1.0
        for block in column:
            block.size *= scale
            block.top = block.next = height - room / 2
            height -= block.size + room
    for number, block in enumerate(left):
        for receiver, amount in _bands(flow, number, len(names)):
            _draw_band(axes, block, right[receiver], amount * scale, kept=receiver == number)
    _draw_blocks(axes, left, 0.0, -0.025, "right")
    _draw_blocks(axes, right, 1.0, 1.025 + BLOCK_WIDTH, "left")
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Description": small_print})
    return file.getvalue()


def _givers(flow: Flow, names: Sequence[str]) -> Iterator[Block]:
    for number, (name, pages, received) in enumerate(zip(names, flow.pages, flow.received, strict=False)):
        yield Block(
            name, f"{_figures(pages)} pages + {_figures(received)} received", _colour(number), float(pages + received)
        )
    if len(flow.pages) > len(names):
        given = float(flow.spread[len(names)])
        yield Block("rest of the web", f"gives {_figures(given)}", REST_COLOUR, given)


def _receivers(flow: Flow, names: Sequence[str]) -> Iterator[Block]:
    for number, (name, energy, received) in enumerate(zip(names, flow.energy, flow.received, strict=False)):
        yield Block(
            name, f"energy {_figures(energy)}, receives {_figures(received)}", _colour(number), float(energy + received)
        )
    if len(flow.pages) > len(names):
        taken = float(flow.received[len(names)])
        yield Block("rest of the web", f"receives {_figures(taken)}", REST_COLOUR, taken)
    lost = float(flow.lost[: len(names)].sum())
    yield Block("dangling pages", f"lose {_figures(lost)}", DANGLING_COLOUR, lost)


def _bands(flow: Flow, giver: int, named: int) -> Iterator[tuple[int, float]]:
    """The receivers on the right, from the top down, and what each receives from a block on the left."""
    amounts = {
        int(receiver): float(flow.amounts[place])
        for place, receiver in enumerate(flow.receivers)
        if flow.givers[place] == giver
    }
    if giver < named:
        amounts[giver] = float(flow.energy[giver])
        amounts[len(flow.pages)] = float(flow.lost[giver])
    yield from sorted((receiver, amount) for receiver, amount in amounts.items() if amount > 0.0)


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _figures(number: float) -> str:
    """A number with three significant digits, or with thousands separated."""
    return f"{number:,.0f}".replace(",", "\u202f") if abs(number) >= 100 else f"{number:.3g}"


def _page(title: str, small_print: str, blocks: int) -> tuple[Figure, Axes]:
    height = max(4.5, MARGIN_INCHES + 0.75 * blocks)
    figure = Figure(figsize=(9.8, height), dpi=DOTS_PER_INCH)
    figure.suptitle(
        title, x=0.02, y=1 - 0.12 / height, ha="left", va="top", fontsize=12.5, fontweight="bold", color=INK
    )
    figure.text(0.02, 0.1 / height, small_print, fontsize=7.5, color=FAINT, va="bottom")
    axes = figure.add_axes((0.25, 0.55 / height, 0.49, 1 - MARGIN_INCHES / height))
    axes.set_axis_off()
    axes.set_xlim(0, 1 + BLOCK_WIDTH)
    axes.set_ylim(0, 1)
    for x, side, text in ((BLOCK_WIDTH, "right", "supply of energy"), (1.0, "left", "what becomes of it")):
        axes.text(x, 1.0, text, ha=side, va="bottom", fontsize=9, color=FAINT)
    return figure, axes


def _draw_band(axes: Axes, source: Block, target: Block, width: float, *, kept: bool) -> None:
    start, end = source.next, target.next
    source.next, target.next = start - width, end - width
    near, far = BLOCK_WIDTH, 1.0
    upper = [(near, start), (0.5, start), (0.5, end), (far, end)]
    lower = [(far, end - width), (0.5, end - width), (0.5, start - width), (near, start - width)]
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    band = Path([*upper, *lower, (near, start)], codes)
    axes.add_patch(PathPatch(band, facecolor=source.colour, alpha=0.55 if kept else 0.33, linewidth=0))


def _draw_blocks(axes: Axes, blocks: Sequence[Block], edge: float, label: float, side: str) -> None:
    for block in blocks:
        middle = block.top - block.size / 2
        axes.add_patch(Rectangle((edge, block.top - block.size), BLOCK_WIDTH, block.size, color=block.colour))
        axes.text(label, middle, block.name, ha=side, va="bottom", fontsize=10, color=INK)
        axes.text(label, middle, block.detail, ha=side, va="top", fontsize=8, color=FAINT)
