"""The words of a page as columns, one entry per word, in the order of the page."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The place and the content of each word, as hashes (`parse/words.py` makes them)."""

    places: Column
    blocks: Column
    words: Column
    begins: Column  # the byte at which each word begins
    signature: int  # hash of all words without their places, never 0

    def __len__(self) -> int:
        return len(self.places)
