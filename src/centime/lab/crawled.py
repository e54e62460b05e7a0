"""Compares a finished crawl of the webbox with the truth: the importance it found, and the order of its reads."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from centime.crawl.engine.state import CrawlState
from centime.lab.picture import FAINT, INK, LOOKS, new_picture, png
from centime.lab.webbox import WebBox

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Compared:
    """Estimated and true importance by the crawl's page numbers, and the true importance in the order of reads."""

    urls: list[str]
    estimated: Vector
    true: Vector  # 0 for pages that the webbox does not have
    true_as_read: Vector
    certified_error: float | None

    @property
    def error(self) -> float:
        """The relative distance from the truth: the sum of all errors divided by the sum of all importance."""
        return float(np.abs(self.estimated - self.true).sum() / self.true.sum())

    def top(self, count: int) -> list[dict[str, Any]]:
        """The `count` most important pages by their true importance, the best first."""
        best = np.argsort(-self.true, kind="stable")[:count].tolist()
        return [
            {"page": self.urls[page], "estimated": float(self.estimated[page]), "true": float(self.true[page])}
            for page in best
        ]


def compare(opened: CrawlState, box: WebBox, time: float) -> Compared:
    """Compares a crawl with the box as it was at `time` of the box's clock."""
    pages = opened.shard.pages
    urls = list(pages.texts.every())
    numbers = np.array([-1 if (number := box.page(url)) is None else number for url in urls], dtype=np.int64)
    truth = box.importance(time)
    true = np.where(numbers >= 0, truth[numbers], 0.0)
    first = np.flatnonzero(pages.records.record_at)
    as_read = first[np.argsort(pages.records.heads(first)["first_time"], kind="stable")]
    estimated = opened.shard.ledger.importance() * (box.pages / max(1, len(urls)))
    return Compared(urls, estimated, true, true[as_read], opened.statistics(time)["certified_error"])


def draw(compared: Compared) -> bytes:
    """A picture (PNG): estimated against true importance, and the share of importance read over the pages read."""
    figure, (left, right) = new_picture("A crawl of the webbox, best page first", panels=2)
    colour = LOOKS["best first"].colour
    shown = (compared.true > 0) & (compared.estimated > 0)
    left.loglog(compared.true[shown], compared.estimated[shown], ".", color=colour, markersize=3, alpha=0.5)
    ends = [compared.true[shown].min(), compared.true[shown].max()]
    left.loglog(ends, ends, color=FAINT, linewidth=0.8)
    left.set_xlabel("true importance", color=INK)
    left.set_ylabel("importance found by the crawl", color=INK)
    share = np.cumsum(compared.true_as_read) / compared.true.sum()
    read = np.arange(1, len(share) + 1) / len(share)
    right.plot(100 * read, 100 * share, color=colour, linewidth=1.6)
    right.plot([0, 100], [0, 100 * share[-1]], color=FAINT, linewidth=0.8, linestyle="--")
    half = int(np.searchsorted(share, share[-1] / 2))
    right.annotate(
        f"half of all importance\nafter {100 * read[half]:.0f} % of the pages",
        (100 * read[half], 50),
        (38, 30),
        color=colour,
        fontsize=9,
    )
    right.set_xlabel("pages read, %", color=INK)
    right.set_ylabel("importance read, %", color=INK)
    known = "" if compared.certified_error is None else f", certified error {compared.certified_error:.1g}"
    about = f"{len(compared.urls)} pages, distance from the truth {compared.error:.1g}{known}"
    return png(figure, about, f"Importance found by a crawl of the webbox compared with the truth: {about}")
