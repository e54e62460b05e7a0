import ipaddress

import ada_url
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.fetch.guard import Guard, is_loopback, literal

PUBLIC = [
    "8.8.8.8",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.0.1",
    "172.32.0.1",
    "2606:4700::1",
    "2a00:1450::1",
]
CLOSED = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.255",
    "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.0.1",
    "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1",
    "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00::1", "fec0::1", "ff02::1", "100::1",
    "2001:db8::1", "3fff::1", "5f00::1", "4000::1", "64:ff9b:1::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
    "::ffff:0:0", "::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "2002:7f00:1::", "2002:a00:1::1",
    "2001:0:7f00:1::", "2001:0:808:808::f5ff:fffe", "2001:10::1", "2001:2::1",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_may_be_asked(address: str) -> None:
    assert Guard().allows(address)


@pytest.mark.parametrize("address", [*CLOSED, "", "localhost", "1.2.3", "999.1.1.1", "8.8.8.8 "])
def test_other_addresses_may_not(address: str) -> None:
    assert not Guard().allows(address)


@pytest.mark.parametrize("form", ["::ffff:{}", "64:ff9b::{}"])
def test_an_address_that_carries_a_public_one_is_judged_by_it(form: str) -> None:
    assert Guard().allows(form.format("8.8.8.8"))


def test_what_is_allowed_is_allowed_in_every_form_and_nothing_else_is() -> None:
    guard = Guard(["10.1.0.0/16", "::1/128"])
    assert guard.allows("10.1.2.3")
    assert guard.allows("::ffff:10.1.2.3")
    assert guard.allows("::1")
    assert not guard.allows("10.2.0.1")
    assert not guard.allows("127.0.0.1")


@given(st.ip_addresses(v=4))
def test_mapping_an_address_changes_nothing(address: ipaddress.IPv4Address) -> None:
    guard = Guard()
    assert guard.allows(f"::ffff:{address}") == guard.allows(str(address))


@given(st.ip_addresses())
def test_what_the_standard_library_calls_not_global_is_never_asked(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    carried = isinstance(address, ipaddress.IPv6Address) and (
        address.ipv4_mapped or address in ipaddress.ip_network("64:ff9b::/96")
    )
    if Guard().allows(str(address)) and not carried:
        assert address.is_global


@pytest.mark.parametrize(
    "host",
    [
        "2130706433",
        "0x7f000001",
        "017700000001",
        "127.1",
        "0x7f.1",
        "0177.0.0.1",
        "127.0.0.1.",
        "\uff11\uff12\uff17.0.0.1",
        "[::ffff:7f00:1]",
    ],
)
def test_every_spelling_of_this_machine_is_seen_through(host: str) -> None:
    spelled = literal(ada_url.URL(f"http://{host}/").hostname)
    assert spelled
    assert not Guard().allows(spelled)
    assert is_loopback(spelled)


@pytest.mark.parametrize("host", ["example.com", "1.example", "a1", "localhost", "1e100.net", "xn--4ca.example2"])
def test_names_are_no_addresses(host: str) -> None:
    assert literal(host) == ""


def test_only_this_machine_is_loopback() -> None:
    assert is_loopback("127.8.8.8")
    assert is_loopback("::1")
    assert not is_loopback("8.8.8.8")
    assert not is_loopback("")
