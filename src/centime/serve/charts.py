"""Charts as SVG, drawn by the server: no script, no inline style; colours are classes of the style sheet.

Everything that is drawn is a number or is escaped.
"""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape

WIDTH, HEIGHT = 640, 180
LEFT, RIGHT, TOP, BOTTOM = 56, 8, 8, 22
TICKS = 4
MOST_POINTS = 400

Point = tuple[float, float]


def curve(
    points: Sequence[Point],
    title: str,
    *,
    share: bool = False,
    by_time: bool = True,
    logarithmic: bool = False,
    mark: float | None = None,
) -> str:
    """A curve over time, or over another quantity; `share` is from 0 to 100 %, `mark` a vertical line."""
    known = [(x, y) for x, y in points if math.isfinite(y)]
    known = known[:: 1 + len(known) // MOST_POINTS] + known[-1:] if len(known) > MOST_POINTS else known
    if len(known) < 2:
        return f'<p class="empty">{escape(title)}: there are no figures yet.</p>'
    xs = [math.log(max(x, 1e-300)) if logarithmic else x for x, _ in known]
    ys = [y for _, y in known]
    low_x, high_x = min(xs), max(xs)
    low_y, high_y = (0.0, 1.0) if share else (min(0.0, *ys), max(ys))
    high_y = high_y if high_y > low_y else low_y + 1.0

    def across(x: float) -> float:
        return LEFT + (x - low_x) / max(high_x - low_x, 1e-12) * (WIDTH - LEFT - RIGHT)

    def down(y: float) -> float:
        return TOP + (high_y - y) / (high_y - low_y) * (HEIGHT - TOP - BOTTOM)

    line = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in zip(xs, ys, strict=True))
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>"
    ]
    for tick in range(TICKS + 1):
        y = low_y + (high_y - low_y) * tick / TICKS
        label = f"{100 * y:.0f} %" if share else short(y)
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{down(y):.1f}" y2="{down(y):.1f}"/>'
            f'<text class="tick" x="{LEFT - 6}" y="{down(y) + 4:.1f}" text-anchor="end">{label}</text>'
        )
    for tick in range(TICKS + 1):
        x = low_x + (high_x - low_x) * tick / TICKS
        label = _moment(x, high_x - low_x) if by_time else short(math.exp(x) if logarithmic else x)
        anchor = "start" if tick == 0 else "end" if tick == TICKS else "middle"
        parts.append(f'<text class="tick" x="{across(x):.1f}" y="{HEIGHT - 6}" text-anchor="{anchor}">{label}</text>')
    if mark is not None:
        x = across(math.log(max(mark, 1e-300)) if logarithmic else mark)
        parts.append(f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
    parts.append(f'<polyline class="curve" points="{line}"/></svg>')
    return "".join(parts)


def short(value: float) -> str:
    """A number with three digits and the letter of its thousands."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g}"


def _moment(seconds: float, span: float) -> str:
    form = "%H:%M:%S" if span < 600 else "%H:%M" if span < 2 * 86_400 else "%m-%d"
    return datetime.fromtimestamp(max(seconds, 0.0), UTC).strftime(form)


BAND_WIDTH, BAND_HEIGHT, BLOCK, GAP = 640, 360, 12, 10


def bands(flows: Sequence[tuple[str, str, float]], title: str) -> str:
    """A Sankey diagram: the amount that each name on the left gives to each on the right, as bands of that width."""
    flows = [flow for flow in flows if flow[2] > 0.0]
    if not flows:
        return f'<p class="empty">{escape(title)}: nothing flows.</p>'
    ends = [[giver for giver, _, _ in flows], [receiver for _, receiver, _ in flows]]
    amounts = [amount for _, _, amount in flows]
    sides = [list(dict.fromkeys(names)) for names in ends]
    sums = [
        {name: sum(x for end, x in zip(names, amounts, strict=True) if end == name) for name in side}
        for names, side in zip(ends, sides, strict=True)
    ]
    room = BAND_HEIGHT - GAP * (max(map(len, sides)) + 1)
    scale = room / sum(amounts)
    tops: list[dict[str, float]] = []
    for side, names in enumerate(sides):
        at = float(GAP)
        top: dict[str, float] = {}
        for name in names:
            top[name] = at
            at += GAP + scale * sums[side][name]
        tops.append(top)
    left, right = 170.0, BAND_WIDTH - 170.0
    parts = [
        f'<svg class="chart" viewBox="0 0 {BAND_WIDTH} {BAND_HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>"
    ]
    for side, names in enumerate(sides):
        for number, name in enumerate(names):
            size = scale * sums[side][name]
            x, anchor, text = (left, "end", left - 6) if side == 0 else (right - BLOCK, "start", right + 6)
            colour = sides[0].index(name) % 8 if name in sides[0] else number % 8
            parts.append(
                f'<rect class="c{colour}" x="{x:.0f}" y="{tops[side][name]:.1f}" width="{BLOCK}" height="{size:.1f}"/>'
                f'<text class="tick" x="{text:.0f}" y="{tops[side][name] + size / 2 + 4:.1f}" '
                f'text-anchor="{anchor}">{escape(_short_name(name))}</text>'
            )
    here = [dict(tops[0]), dict(tops[1])]
    for giver, receiver, amount in flows:
        a, b, size = here[0][giver], here[1][receiver], scale * amount
        here[0][giver] += size
        here[1][receiver] += size
        x, y = left + BLOCK, right - BLOCK
        middle = (x + y) / 2
        parts.append(
            f'<path class="band c{sides[0].index(giver) % 8}" d="M{x:.0f},{a:.1f} C{middle:.0f},{a:.1f} '
            f"{middle:.0f},{b:.1f} {y:.0f},{b:.1f} L{y:.0f},{b + size:.1f} C{middle:.0f},{b + size:.1f} "
            f'{middle:.0f},{a + size:.1f} {x:.0f},{a + size:.1f} Z"><title>{escape(giver)} to {escape(receiver)}: '
            f"{amount:.4g}</title></path>"
        )
    return "".join([*parts, "</svg>"])


def _short_name(name: str) -> str:
    bare = name.partition("://")[2] or name
    return bare if len(bare) <= 26 else f"{bare[:12]}…{bare[-12:]}"
