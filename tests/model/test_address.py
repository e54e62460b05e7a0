"""Addresses: all URLs of a host share the bits of a fingerprint from which its partition follows."""

from hypothesis import given
from hypothesis import strategies as st

from centime.model.address import HOST_BITS, fingerprint, host_of, partition_of


@given(st.integers(0, 5000), st.integers(0, 9), st.integers(1, 1 << HOST_BITS))
def test_the_partition_of_a_page_follows_from_its_fingerprint_and_is_that_of_its_host(
    host: int, page: int, partitions: int
) -> None:
    url = f"https://h{host}.example/p{page}"
    partition = partition_of(url, partitions)
    assert 0 <= partition < partitions
    assert partition == partition_of(host_of(url) + "/", partitions)
    assert partition == (fingerprint(url) >> 64 - HOST_BITS) * partitions >> HOST_BITS


def test_every_partition_has_hosts() -> None:
    assert {partition_of(f"http://h{number}.example/", 16) for number in range(300)} == set(range(16))
