"""Graphs for the tests of graph files, and how two of them are compared."""

from hypothesis import strategies as st

from centime.graphs.names import NamedGraph, PageNames
from centime.model.graph import Graph, graph_from_links

Link = tuple[int, int, float]

# Names that hold what the formats treat specially, but no line end and nothing that only a quote could keep.
PLAIN_NAMES = st.text(st.characters(exclude_categories=["C", "Z"]), max_size=6).map(lambda tail: f"p{tail}")


@st.composite
def graphs(draw: st.DrawFn, *, simple: bool = False, named: bool | None = None) -> NamedGraph:
    """Any small graph; a simple one has no weights and no link twice."""
    pages = draw(st.integers(1, 12))
    page = st.integers(0, pages - 1)
    ends = draw(st.lists(st.tuples(page, page), max_size=40, unique=simple))
    weights = None
    if not simple and draw(st.booleans()):
        weights = draw(st.lists(st.floats(0, allow_infinity=False), min_size=len(ends), max_size=len(ends)))
    names = None
    if draw(st.booleans()) if named is None else named:
        names = PageNames.of(draw(st.lists(PLAIN_NAMES, min_size=pages, max_size=pages, unique=True)))
    return NamedGraph(graph_from_links(pages, [a for a, _ in ends], [b for _, b in ends], weights), names)


def links_of(graph: Graph) -> list[Link]:
    """The links with their weights, row by row."""
    sources = [page for page in range(graph.pages) for _ in graph.row(page)]
    weights = [1.0] * graph.links if graph.weights is None else graph.weights.tolist()
    return list(zip(sources, graph.targets.tolist(), weights, strict=True))


def named_links(named: NamedGraph) -> list[tuple[str, str, float]]:
    """The links with the names of their pages, sorted."""
    names = [str(page) for page in range(named.graph.pages)] if named.names is None else list(named.names)
    return sorted((names[source], names[target], weight) for source, target, weight in links_of(named.graph))


def same(one: NamedGraph, other: NamedGraph) -> bool:
    """Whether two graphs have the same pages, names and links; named pages may have other numbers."""
    if (one.names is None) != (other.names is None):
        return False
    if one.names is None or other.names is None:
        return one.graph.pages == other.graph.pages and sorted(links_of(one.graph)) == sorted(links_of(other.graph))
    return sorted(one.names) == sorted(other.names) and named_links(one) == named_links(other)
