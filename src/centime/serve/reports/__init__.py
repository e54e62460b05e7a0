"""The reports of the window, one module for each."""

from typing import Any

from centime.serve.reports.change_list import CHANGES
from centime.serve.reports.cluster import CLUSTER
from centime.serve.reports.coming import NEXT
from centime.serve.reports.communities import COMMUNITIES
from centime.serve.reports.difference import DIFFERENCE
from centime.serve.reports.host_list import HOST, HOSTS
from centime.serve.reports.one_page import PAGE
from centime.serve.reports.overview import FIGURES, OVERVIEW
from centime.serve.reports.page_list import PAGES
from centime.serve.reports.planning import PLAN
from centime.serve.reports.searching import SEARCH
from centime.serve.resource import Resource

ALL: tuple[Resource[Any], ...] = (
    OVERVIEW,
    PAGES,
    PAGE,
    DIFFERENCE,
    HOSTS,
    HOST,
    NEXT,
    CHANGES,
    PLAN,
    COMMUNITIES,
    SEARCH,
    FIGURES,
    CLUSTER,
)
RESOURCES = {resource.name: resource for resource in ALL}
