"""The registered domain of a host: one owner has all hosts below it.

    http://a.b.example.com   ->   example.com
    https://www.city.co.uk   ->   city.co.uk

Leases in flight are bounded for each domain (`frontier/standing.py`), and a replay of the journal must grant the same
leases. So the rule is fixed here: the last two labels of the name, or three if the second to last is one under which
countries register domains. The list of public suffixes, which changes every month, would make replays differ. Names
under which a company gives away names (`github.io`) count as one domain: they lead to the same machines.

An address is a domain of its own. This machine (`localhost` and all names below it) has none, so no bound.
"""

from xxhash import xxh3_64_intdigest

from centime.fetch.guard import is_loopback, literal
from centime.frontier.standing import DOMAINS, NO_DOMAIN
from centime.model.address import name_of

_REGISTRIES = frozenset(
    ("ac", "co", "com", "edu", "gob", "gouv", "gov", "gub", "ltd", "mil", "ne", "net", "nom", "or", "org", "plc", "sch")
)


def domain_of(host: str) -> str:
    """The registered domain of a host with its scheme and port; empty for this machine.

    >>> domain_of("https://www.city.co.uk:8443"), domain_of("http://[2001:db8::1]:80"), domain_of("http://a.localhost")
    ('city.co.uk', '2001:db8::1', '')
    """
    name = name_of(host)
    address = literal(name)
    if address:
        return "" if is_loopback(address) else address
    labels = name.rstrip(".").split(".")
    if labels[-1] == "localhost":
        return ""
    by_country = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _REGISTRIES
    return ".".join(labels[-3 if by_country else -2 :])


def domain_number(host: str) -> int:
    """The number by which the leases of a host's domain are counted; NO_DOMAIN for this machine."""
    domain = domain_of(host)
    return xxh3_64_intdigest(domain.encode()) % DOMAINS if domain else NO_DOMAIN
