import pytest

from centime.frontier.standing import DOMAINS, NO_DOMAIN
from centime.shard.limits.domain import domain_number, domain_of


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("http://example.com", "example.com"),
        ("https://a.b.example.com:8443", "example.com"),
        ("https://www.city.co.uk", "city.co.uk"),
        ("https://city.co.uk", "city.co.uk"),
        ("https://co.uk", "co.uk"),
        ("https://a.blog.github.io", "github.io"),
        ("http://intranet", "intranet"),
        ("http://192.0.2.7:80", "192.0.2.7"),
        ("http://[2001:db8::1]", "2001:db8::1"),
        ("http://localhost:8800", ""),
        ("http://site7.localhost:8800", ""),
        ("http://127.0.0.1", ""),
    ],
)
def test_the_domain_of_a_host_is_what_one_owner_registered(host: str, domain: str) -> None:
    assert domain_of(host) == domain


def test_the_numbers_of_domains_stay_because_replays_depend_on_them() -> None:
    assert domain_number("http://a.example.com") == domain_number("https://b.example.com:8443") == 2931
    assert domain_number("http://localhost") == NO_DOMAIN
    assert len({domain_number(f"http://h{n}.test") for n in range(1000)}) > 850
    assert all(0 <= domain_number(f"http://h{n}.test") < DOMAINS for n in range(1000))
