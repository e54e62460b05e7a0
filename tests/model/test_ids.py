"""The numbers of pages and hosts: types of their own for mypy, plain integers for everything else."""

import msgspec
import numpy as np
import pytest

from centime.model.ids import HostId, PageId, host_ids, page_ids


class Placed(msgspec.Struct, array_like=True):
    page: PageId
    host: HostId
    pages: list[PageId]
    counts: dict[PageId, tuple[str, HostId]]


class Plain(msgspec.Struct, array_like=True):
    page: int
    host: int
    pages: list[int]
    counts: dict[int, tuple[str, int]]


def test_ids_are_packed_and_unpacked_as_the_integers_that_they_are() -> None:
    packed = msgspec.msgpack.encode(Placed(PageId(7), HostId(2**31), [PageId(-1)], {PageId(300): ("a", HostId(0))}))
    assert packed == msgspec.msgpack.encode(Plain(7, 2**31, [-1], {300: ("a", 0)}))
    read = msgspec.msgpack.decode(packed, type=Placed)
    assert [type(number) for number in (read.page, read.host, *read.pages, *read.counts)] == [int] * 4
    with pytest.raises(msgspec.ValidationError, match=r"Expected `int`, got `str`"):
        msgspec.msgpack.decode(msgspec.msgpack.encode(["7", 1, [], {}]), type=Placed)


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint32])
def test_the_ids_of_an_array_are_plain_integers(kind: type[np.integer]) -> None:
    numbers = np.array([3, 0, 2**31 - 1], dtype=kind)
    for ids in (page_ids(numbers), host_ids(numbers)):
        assert ids == [3, 0, 2**31 - 1]
        assert {type(number) for number in ids} == {int}
