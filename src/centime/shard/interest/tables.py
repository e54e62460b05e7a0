"""The arrays of interest, for kernels: columns of pages and of groups of URLs.

`flow.py` and `evidence.py` say what the columns mean and which laws hold. A page takes 61 bytes, a group 48.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

WANTED, COUNTED, MATCHES = 1, 2, 4  # of `marks`

PAGE_COLUMNS = {
    "interest": np.float64,  # y
    "degree": np.int32,  # k: how many known rows link to the page
    "links": np.int32,  # how many pages its own row links to
    "marks": np.uint8,
    "parent": np.int32,  # number + 1 of the page whose children are evidence about it; 0 for none
    "group": np.int32,  # of its directory
    "expected": np.float64,  # the probability that it is wanted, as estimated before its first read
    "children": np.int32,  # how many pages have this one as their parent,
    "child_read": np.int32,  # how many of those were read,
    "child_wanted": np.int32,  # how many of those are wanted,
    "child_expected": np.float64,  # and how many were expected to be,
    "child_interest": np.float64,  # and the sum of y - e of them
}
GROUP_COLUMNS = {
    "above": np.int32,  # number + 1 of the larger group; 0 for none
    "prior": np.float64,  # the probability of a group without a larger one, before anything was read
    "read": np.int64,
    "wanted": np.int64,
    "sums": np.float64,  # of y - e
}


class Tables(NamedTuple):
    """Views of all columns, in the order above, and the sum of all y."""

    interest: npt.NDArray[np.float64]
    degree: npt.NDArray[np.int32]
    links: npt.NDArray[np.int32]
    marks: npt.NDArray[np.uint8]
    parent: npt.NDArray[np.int32]
    group: npt.NDArray[np.int32]
    expected: npt.NDArray[np.float64]
    children: npt.NDArray[np.int32]
    child_read: npt.NDArray[np.int32]
    child_wanted: npt.NDArray[np.int32]
    child_expected: npt.NDArray[np.float64]
    child_interest: npt.NDArray[np.float64]
    above: npt.NDArray[np.int32]
    prior: npt.NDArray[np.float64]
    read: npt.NDArray[np.int64]
    wanted: npt.NDArray[np.int64]
    sums: npt.NDArray[np.float64]
    total: npt.NDArray[np.float64]
