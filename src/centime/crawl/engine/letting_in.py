"""Admits URLs that were refused before, when a crawl is continued with settings that accept them.

The pages that link to them may never be read again, so a rule that is lifted would otherwise change nothing. Only URLs
of the list (`shard/limits/refusals.py`) can be admitted: the crawl has no text of the others. The engine decides here,
and a frame of the journal says which URLs they are, so that a replay needs no list of public suffixes.
"""

from collections import Counter

import numpy as np

from centime.discover.refusal import Reason
from centime.discover.scope import Scope
from centime.discover.traps import Traps
from centime.model.address import host_of
from centime.shard.limits.refusals import Refused
from centime.shard.message import Seeded
from centime.shard.shard import Shard
from centime.store.record import NO_PAGE

URLS_PER_FRAME = 10_000
NEVER = (Reason.NOT_HTTP, Reason.REDIRECTS)  # no option admits them


def let_in(shard: Shard, now: float) -> int:
    """Makes refused URLs known that the settings of the shard accept; returns how many."""
    scope = shard.settings.scope_rules()
    traps = Traps(shard.settings.trap_rules())
    taken: Counter[int] = Counter()  # URLs of each suspicious shape
    chosen = [one for one in shard.refusals.listed() if _is_accepted(shard, scope, traps, taken, one)]
    count = 0
    for begin in range(0, len(chosen), URLS_PER_FRAME):
        part = chosen[begin : begin + URLS_PER_FRAME]
        texts = "\n".join(one.url for one in part).encode()
        sources = np.array([one.source for one in part], dtype=np.int64)
        count += shard.seed(Seeded(now, texts, sources=sources.tobytes()))
    return count


def _is_accepted(shard: Shard, scope: Scope, traps: Traps, taken: Counter[int], one: Refused) -> bool:
    """Whether the settings accept a URL that was refused."""
    settings = shard.settings
    depth = 0 if one.source == NO_PAGE else int(shard.pages.origin(one.source)["depth"]) + 1
    if one.reason in NEVER or (settings.max_depth is not None and depth > settings.max_depth):
        return False
    if not one.url.startswith(("http://", "https://")) or scope.reason(one.url) is not None:
        return False
    match one.reason:
        case Reason.NOFOLLOW:
            return settings.follow_nofollow
        case Reason.PAGES_PER_HOST:
            return shard.limits.pages_of(host_of(one.url)) < settings.pages_per_host
        case Reason.MOST_PAGES:
            return not shard.bounds.is_near(shard.pages.count, len(shard.hosts), 1)
        case Reason.TRAP:
            suspicion = traps.suspect(one.url) if settings.traps != "off" else None
            if suspicion is None:
                return True
            taken[suspicion.key] += 1
            return taken[suspicion.key] <= shard.limits.room(host_of(one.url), suspicion.key)
        case _:
            return True
