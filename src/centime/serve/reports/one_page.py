"""One page: why it has its importance, its visits, when and why it is read next, and the versions that are kept."""

from contextlib import suppress

from centime.crawl.report.versions import Versions
from centime.model.errors import UnknownPage
from centime.serve.glance import Glance
from centime.serve.resource import Parameters, Report, Resource

MOST_VERSIONS = 200  # newest ones that are listed


class PageWanted(Parameters, frozen=True, kw_only=True):
    """Which page."""

    url: str


def one_page(glance: Glance, wanted: PageWanted) -> Report:
    """The facts of a page; UnknownPage names similar ones."""
    facts = glance.parts.page(wanted.url, now=glance.now)
    versions: list[dict[str, object]] = []
    with suppress(UnknownPage):
        versions = Versions(glance.owner(facts["url"]).reader.folder.path, facts["url"]).listed()
    return facts | {"versions": versions[-MOST_VERSIONS:][::-1], "versions_kept": len(versions)}


PAGE = Resource(
    name="page",
    title="Page",
    summary="Everything about one page.",
    parameters=PageWanted,
    report=one_page,
)
