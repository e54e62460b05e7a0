"""The personalisation e of a bias as a file, for ranking in bounded memory: one 64-bit number per page, adding up to N.

Memory: the pages of the bias and a block, nothing for the other pages of the graph.
"""

from hashlib import blake2b
from pathlib import Path

import numpy as np

from centime.graphs.names import PageNames
from centime.rank.bias import chosen_pages

BLOCK_PAGES = 1 << 16


def write_bias(path: Path, bias: Path, names: PageNames | None, first: int, pages: int) -> str:
    """Writes the file and returns a digest that identifies the bias."""
    chosen = chosen_pages(bias, names, first, pages)
    order = np.argsort(np.fromiter(chosen, dtype=np.int64, count=len(chosen)))
    numbers = np.fromiter(chosen, dtype=np.int64, count=len(chosen))[order]
    counts = np.fromiter(chosen.values(), dtype=np.float64, count=len(chosen))[order]
    counts /= counts.max()
    counts *= pages / counts.sum()
    with path.open("wb") as file:
        for start in range(0, pages, BLOCK_PAGES):
            block = np.zeros(min(BLOCK_PAGES, pages - start))
            here = slice(*np.searchsorted(numbers, [start, start + len(block)]))
            block[numbers[here] - start] = counts[here]
            file.write(block.tobytes())
    return blake2b(numbers.tobytes() + counts.tobytes(), digest_size=16).hexdigest()
