"""The importance of a small graph by the definition, worked out with dense matrices: the verifier of the ledgers."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Row = Sequence[tuple[int, float]]


def dense_importance(
    pages: int, rows: Mapping[int, Row], damping: float = 0.85, emphasis: npt.NDArray[np.float64] | None = None
) -> npt.NDArray[np.float64]:
    """PageRank, mean 1, of the pages' known rows (target, weight); a page without a row pays the virtual page."""
    give = np.ones(pages) if emphasis is None else emphasis
    give = give / give.sum()
    matrix = np.zeros((pages, pages))
    for page in range(pages):
        row = [(target, weight) for target, weight in rows.get(page, ()) if weight > 0]
        total = sum(weight for _, weight in row)
        for target, weight in row:
            matrix[target, page] += damping * weight / total
        matrix[:, page] += give * ((1 - damping) if row else 1.0)
    system = np.vstack([matrix - np.eye(pages), np.ones(pages)])
    solution = np.linalg.lstsq(system, np.append(np.zeros(pages), pages), rcond=None)[0]
    return np.asarray(solution, dtype=np.float64)


def exact_importance(
    rows: Mapping[int, Sequence[int | None]], damping: float, weights: Sequence[int]
) -> list[Fraction]:
    """The exact PageRank, of sum 1, of pages with these focus weights, in rational numbers; a link to None leads to the
    virtual page. PageRank is proportional to (I - dW)^-1 e.
    """
    pages, share = len(weights), Fraction(damping)
    system = [[Fraction(int(row == column)) for column in range(pages)] for row in range(pages)]
    for page, targets in rows.items():
        for target in targets:
            if target is not None:
                system[target][page] -= share / len(targets)
    solution = [Fraction(weight) for weight in weights]
    for pivot in range(pages):  # columns of I - dW are diagonally dominant: no pivot is 0
        for row in range(pages):
            factor = system[row][pivot] / system[pivot][pivot] if row != pivot else Fraction(0)
            if factor:
                system[row] = [one - factor * other for one, other in zip(system[row], system[pivot], strict=True)]
                solution[row] -= factor * solution[pivot]
    solution = [value / system[number][number] for number, value in enumerate(solution)]
    total = sum(solution)
    return [value / total for value in solution]
