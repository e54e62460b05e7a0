"""The weights of links by their kinds: the paper found links within a site, and those of dynamic pages, less useful
(Section 4.3, "Other Improvements").

    internal    within a host, or within a registrable domain if domains are ranked
    external    to another one
    dynamic     from a page whose URL has a query
    template    to a page that at least half of the pages of the same host link to, if at least LEAST_PAGES of them have
                links (`model/template.py`)
    nofollow    of a link that asks not to be followed (rel, or the robots directive of its page)

The weight of a link is the product of the weights of its kinds. A page divides its payment among its links by their
weights, so a weight of all links of a page, as `dynamic` is, changes nothing for pages; it counts where the links of
all pages of a site are added up. A page whose links all have weight 0 dangles.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from centime.model.errors import BadSetting

KINDS = ("internal", "external", "dynamic", "template", "nofollow")


@dataclass(frozen=True, slots=True)
class LinkWeights:
    """The weight of each kind of link; None for a kind that is not named."""

    internal: float | None = None
    external: float | None = None
    dynamic: float | None = None
    template: float | None = None
    nofollow: float | None = None

    def of(self, kind: str, usual: float = 1.0) -> float:
        """The weight of a kind."""
        weight: float | None = getattr(self, kind)
        return usual if weight is None else weight


def link_weights(given: str | Mapping[str, float]) -> LinkWeights:
    """The weights that a text such as `internal=0.3,external=1` or a mapping gives; BadSetting says what is wrong."""
    pairs: list[tuple[str, object]] = []
    if isinstance(given, str):
        for part in given.split(","):
            name, equals, text = part.partition("=")
            if not equals:
                raise BadSetting(f"a link weight is a kind and a number, such as internal=0.3, not {part.strip()!r}")
            pairs.append((name.strip(), text.strip()))
    else:
        pairs = list(given.items())
    made: dict[str, float] = {}
    for kind, number in pairs:
        if kind not in KINDS:
            raise BadSetting(f"unknown kind of link {kind!r}; the kinds are {', '.join(KINDS)}")
        if kind in made:
            raise BadSetting(f"the weight of {kind} links is given twice")
        made[kind] = _weight(kind, number)
    return LinkWeights(**made)


def _weight(kind: str, number: object) -> float:
    try:
        weight = float(number)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise BadSetting(f"the weight of {kind} links must be a number, not {number!r}") from None
    if not (isfinite(weight) and weight >= 0):
        raise BadSetting(f"the weight of {kind} links must be a finite number, zero or more, not {number}")
    return weight
