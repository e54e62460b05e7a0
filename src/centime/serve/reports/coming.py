"""The pages that would be read now and why, by level; and why another page would not be read."""

from typing import Annotated

import msgspec

from centime.crawl.report.page import find_page, next_visit
from centime.crawl.report.planning.freshness import refresh_facts
from centime.crawl.report.refused import Words
from centime.discover.canonical import canonical
from centime.model.errors import BadInput, UnknownPage
from centime.model.ids import HostId
from centime.serve.glance import Glance, PartGlance
from centime.serve.resource import Parameters, Report, Resource


class NextWanted(Parameters, frozen=True, kw_only=True):
    """How many pages; `url` asks why this page is not among them."""

    url: str = ""
    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 50


def coming(glance: Glance, wanted: NextWanted) -> Report:
    """The pages that would be read now, the first one first."""
    found = glance.parts.top(wanted.most, "worth", now=glance.now)
    levels: dict[str, int] = {}
    for row in found["top"]:
        levels[row["level"]] = levels.get(row["level"], 0) + 1
    why = why_not(glance.owner(wanted.url), wanted.url) if wanted.url else None
    return {
        "waiting": sum(len(reader.shard.placement.frontier) for reader in glance.parts.readers),
        "levels": levels,
        "why_not": why,
        "rows": found["top"],
        "next": None,
    }


def why_not(glance: PartGlance, url: str) -> Report:
    """When and why a page is read next, or why never, also of URLs that the crawl does not know."""
    shard = glance.reader.shard
    try:
        page, name = find_page(glance.reader, url)
    except UnknownPage as unknown:
        return _not_known(glance, canonical(url) or url, str(unknown))
    except BadInput as trouble:
        return {"url": url, "known": False, "why": str(trouble), "option": None}
    last = shard.pages.last(page)
    host = HostId(int(shard.pages.origin(page)["host"]))
    fresh = refresh_facts(glance.reader, page, host, glance.now)
    facts = next_visit(glance.reader, page, last, glance.waiting, glance.now, fresh.get("due", ""))
    chosen = ("worth", "worth_needed", "due", "probably_fresh", "changes_per_day")
    return {
        "url": name,
        "known": True,
        **facts,
        **{key: fresh[key] for key in chosen if key in fresh},
        "importance": float(glance.importance[page]),
        "host": shard.hosts[host].name,
        "host_trouble": shard.hosts[host].trouble or None,
    }


def _not_known(glance: PartGlance, url: str, unknown: str) -> Report:
    """Why a URL is not known: refused, out of scope, or never linked."""
    for one in glance.reader.shard.refusals.listed():
        if one.url == url:
            row = Words(glance.reader).row(one)
            return {"url": url, "known": False, "why": row["why"], "option": row["option"]}
    refusal = glance.reader.settings.scope_rules().refusal(url)
    why = f"it is out of scope: {refusal}" if refusal else f"no page that was read links to it: {unknown}"
    return {"url": url, "known": False, "why": why, "option": None if refusal else "centime publish"}


NEXT = Resource(
    name="next",
    title="Next",
    summary="What would be read now, and why; with url=, why not this page.",
    parameters=NextWanted,
    report=coming,
    columns=("rank", "level", "importance", "worth", "host_ready", "why", "url"),
)
