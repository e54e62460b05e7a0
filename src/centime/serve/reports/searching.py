"""Full-text search over the kept copies, by BM25 times importance."""

from typing import Annotated

import msgspec

from centime.crawl.search.finding import found_facts
from centime.serve.glance import Glance
from centime.serve.resource import Parameters, Report, Resource


class SearchWanted(Parameters, frozen=True, kw_only=True):
    """Which words, as `centime search` takes them."""

    words: str
    site: str = ""
    kind: str = ""
    most: Annotated[int, msgspec.Meta(ge=1, le=100)] = 20


def search(glance: Glance, wanted: SearchWanted) -> Report:
    """The best pages that contain all the words."""
    pages = glance.search.find(wanted.words, site=wanted.site, since=None, kind=wanted.kind, most=wanted.most)
    rows = [found_facts(page) for page in pages]
    for row in rows:
        row.pop("html")
    return {"words": wanted.words, "rows": rows, "next": None}


SEARCH = Resource(
    name="search",
    title="Search",
    summary="Pages that contain all words, by BM25 times importance.",
    parameters=SearchWanted,
    report=search,
    columns=("url", "title", "score", "importance", "kind", "language", "time", "snippet", "marks"),
)
