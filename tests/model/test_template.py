import numpy as np
import numpy.typing as npt

from centime.model.template import LEAST_PAGES, NO_TEMPLATES, templates_of


def rows_of(links: list[list[int]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    return np.array([len(row) for row in links]), np.array([to for row in links for to in row], dtype=np.int32)


def test_pages_that_half_of_a_host_links_to_are_its_template() -> None:
    """Page 0 is linked from all pages of host 0, page 1 from half, page 2 from fewer; host 1 has too few pages."""
    links = [[0, *([1] if page % 2 else []), *([2, 2] if page % 4 == 1 else [])] for page in range(LEAST_PAGES)]
    links += [[0] for _ in range(LEAST_PAGES - 1)] + [[]]
    hosts = np.array([0] * LEAST_PAGES + [1] * LEAST_PAGES)
    found = templates_of(hosts, *rows_of(links))
    assert found.pairs.tolist() == [0, 1]
    targets = np.array([0, 1, 2, 0], dtype=np.int32)
    assert found.have(np.array([0, 0, 0, 1]), targets).tolist() == [True, True, False, False]
    assert found.without(np.array([0])).pairs.tolist() == []
    other = templates_of(hosts + 1, *rows_of(links))
    assert other.plus(found).pairs.tolist() == [0, 1, 1 << 32, 1 << 32 | 1]


def test_without_links_there_is_no_template() -> None:
    nothing = np.empty(0, dtype=np.int64)
    assert templates_of(nothing, nothing, np.empty(0, dtype=np.int32)) is NO_TEMPLATES
    assert NO_TEMPLATES.have(np.array([0]), np.array([1], dtype=np.int32)).tolist() == [False]
