"""Which URLs belong to a crawl.

The kind of a scope says how far it reaches from the seeds:

- `page`: the seeds alone;
- `host`: all pages of the seeds' hosts, with either scheme; the port must be the same;
- `domain`: all hosts under the seeds' registrable domains, by the public suffix list. `a.example.co.uk` and
  `b.example.co.uk` are in one domain, two sites of `github.io` are not; an address or a name without a public suffix is
  its own domain;
- `any`: everything.

In addition, the suffix of the path must not be refused (`discover/suffixes.py` lists those that are by default), the
URL must not be too long, an include pattern (if there is one) must match somewhere in the canonical URL, and no exclude
pattern may match. Seeds are exempt from all of this, because a person gave them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from publicsuffixlist import PublicSuffixList

from centime.discover.refusal import Reason
from centime.discover.suffixes import SUFFIXES, suffix_of
from centime.model.address import host_of
from centime.model.errors import BadSetting
from centime.model.pattern import Patterns, compiled

KINDS = ("page", "host", "domain", "any")
_NO_PATTERNS = compiled()
_MOST_HOSTS = 200_000  # in the cache of decisions


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The rules of one crawl; `admits` and `refusal` apply them to canonical URLs."""

    kind: str
    seeds: frozenset[str]
    include: Patterns = _NO_PATTERNS
    exclude: Patterns = _NO_PATTERNS
    suffixes: frozenset[str] = SUFFIXES  # that are refused
    longest_url: int | None = None
    places: frozenset[str] = frozenset()  # hosts or domains in scope
    _hosts: dict[str, bool] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        seeds: Iterable[str],
        *,
        kind: str = "host",
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        suffixes: frozenset[str] = SUFFIXES,
        longest_url: int | None = None,
    ) -> "Scope":
        """The scope of a crawl that starts from canonical seeds; BadSetting names the value that cannot be used."""
        if kind not in KINDS:
            raise BadSetting(f"the scope is {', '.join(KINDS[:-1])} or {KINDS[-1]}, not {kind!r}")
        known = frozenset(seeds)
        place = _domain if kind == "domain" else _name
        return cls(
            kind=kind,
            seeds=known,
            include=compiled(*include),
            exclude=compiled(*exclude),
            suffixes=suffixes,
            longest_url=longest_url,
            places=frozenset(place(host_of(seed)) for seed in known) if kind in ("host", "domain") else frozenset(),
        )

    def admits(self, url: str) -> bool:
        """Whether a canonical URL is in scope."""
        return not self.refusal(url)

    def reason(self, url: str) -> Reason | None:
        """Why a canonical URL is out of scope; None if it is in scope."""
        if url in self.seeds:
            return None
        if self._elsewhere(url):
            return Reason.SCOPE
        if self.longest_url is not None and len(url) > self.longest_url:
            return Reason.LONGEST_URL
        if suffix_of(url) in self.suffixes:
            return Reason.SUFFIX
        if self.exclude and self.exclude.search(url):
            return Reason.EXCLUDE
        if self.include and not self.include.search(url):
            return Reason.INCLUDE
        return None

    def refusal(self, url: str) -> str:
        """Why a canonical URL is out of scope, as a phrase; empty if it is in scope."""
        match self.reason(url):
            case None:
                return ""
            case Reason.SCOPE:
                return self._elsewhere(url)
            case Reason.LONGEST_URL:
                return f"it is longer than {self.longest_url} characters"
            case Reason.SUFFIX:
                return f"pages do not end in .{suffix_of(url)}"
            case Reason.EXCLUDE:
                return self.exclusion(url)
            case _:
                return "no include pattern matches it"

    def refusal_of_sitemap(self, url: str) -> str:
        """The same for a sitemap: only the pages that it lists must match an include pattern, and it may be packed."""
        return "" if url in self.seeds else self._elsewhere(url) or self.exclusion(url)

    def exclusion(self, url: str) -> str:
        """Which exclude pattern matches a canonical URL, as a phrase; empty if none does, or if the URL is a seed."""
        place = self.exclude.first(url) if self.exclude and url not in self.seeds else None
        return "" if place is None else f"it is excluded by {self.exclude.texts[place]!r}"

    def _elsewhere(self, url: str) -> str:
        """Why the host of a canonical URL is out of scope; empty if it is in scope."""
        if self.kind == "page":
            return "only the seeds themselves are in scope"
        return "" if self.kind == "any" or self._holds(host_of(url)) else f"its {self.kind} is not one of the seeds'"

    def _holds(self, host: str) -> bool:
        """Whether a host is in scope; cached, because the public suffix list is slow."""
        held = self._hosts.get(host)
        if held is None:
            if len(self._hosts) >= _MOST_HOSTS:
                self._hosts.clear()
            held = self._hosts[host] = (_domain if self.kind == "domain" else _name)(host) in self.places
        return held


def registrable_domain(name: str) -> str:
    """The registrable domain of a host name; the name itself for an address or a name without a public suffix."""
    if name.startswith("[") or name.replace(".", "").isdigit():
        return name
    return _suffix_list().privatesuffix(name) or name


@lru_cache(maxsize=1)
def _suffix_list() -> PublicSuffixList:
    """The public suffix list, loaded on first use."""
    return PublicSuffixList()


def _name(host: str) -> str:
    """A host without its scheme."""
    return host.partition("//")[2]


def _domain(host: str) -> str:
    """The registrable domain of a host, without its port."""
    name = _name(host)
    if not name.endswith("]"):
        before, colon, port = name.rpartition(":")
        name = before if colon and port.isdigit() else name
    return registrable_domain(name)
