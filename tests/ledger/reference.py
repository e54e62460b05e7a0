"""The importance of a small graph by the definition, worked out with dense matrices: the verifier of the ledgers."""

from collections.abc import Mapping, Sequence

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
