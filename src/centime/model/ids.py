"""The numbers of pages and of hosts as types of their own, so that mypy refuses one where the other is expected.

At run time an id is a plain integer. Arrays of numbers stay arrays of integers: a number becomes an id where it
leaves an array, a table or a file, with `page_ids` or `host_ids` for many and `PageId(...)` or `HostId(...)` for one.
"""

from typing import Any, NewType

import numpy.typing as npt

PageId = NewType("PageId", int)
HostId = NewType("HostId", int)


def page_ids(pages: npt.NDArray[Any]) -> list[PageId]:
    """The pages of an array, as a list."""
    ids: list[PageId] = pages.tolist()
    return ids


def host_ids(hosts: npt.NDArray[Any]) -> list[HostId]:
    """The hosts of an array, as a list."""
    ids: list[HostId] = hosts.tolist()
    return ids
