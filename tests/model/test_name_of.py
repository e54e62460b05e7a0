import pytest

from centime.model.address import name_of


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("http://a.example", "a.example"),
        ("https://a.example:8443", "a.example"),
        ("http://me@a.example:80", "a.example"),
        ("http://[2001:db8::1]", "[2001:db8::1]"),
        ("http://[2001:db8::1]:80", "[2001:db8::1]"),
    ],
)
def test_the_name_of_a_host_has_no_scheme_no_account_and_no_port(host: str, name: str) -> None:
    assert name_of(host) == name
