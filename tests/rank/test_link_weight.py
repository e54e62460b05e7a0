import numpy as np
import pytest

from centime import pagerank
from centime.graphs.names import NamedGraph, PageNames
from centime.model.errors import BadInput, BadSetting
from centime.model.graph import graph_from_links
from centime.model.link_weight import LinkWeights, link_weights
from centime.model.template import LEAST_PAGES
from centime.rank.link_weight import weighed

PAGES = ["http://a.org/", "http://a.org/one?x=1", "http://b.org/", "http://www.b.org/two", "http://c.org/"]
LINKS = [(0, 1), (0, 2), (1, 0), (1, 4), (2, 3), (2, 4), (3, 0), (4, 2)]


@pytest.fixture(scope="module")
def web() -> NamedGraph:
    sources, targets = zip(*LINKS, strict=True)
    return NamedGraph(graph_from_links(len(PAGES), sources, targets), PageNames.of(PAGES))


def expected(weights: dict[tuple[int, int], float], pages: int) -> np.ndarray:
    """PageRank by its definition, with mean 1."""
    matrix = np.zeros((pages, pages))
    for (source, target), weight in weights.items():
        matrix[target, source] += weight
    sums = matrix.sum(axis=0)
    matrix = np.where(sums > 0, matrix / np.where(sums > 0, sums, 1), 1 / pages)
    return np.linalg.solve(np.eye(pages) - 0.85 * matrix, np.full(pages, 0.15))


def test_internal_and_external_links_of_pages_count_by_their_weights(web: NamedGraph) -> None:
    inside = {(0, 1), (1, 0)}
    truth = expected({link: 0.25 if link in inside else 2.0 for link in LINKS}, 5)
    found = pagerank(web, link_weight="internal=0.25,external=2", error=1e-12)
    assert found.scores == pytest.approx(truth)
    assert pagerank(web, link_weight={"internal": 0.125}, error=1e-12).scores == pytest.approx(truth)
    assert pagerank(web, link_weight="internal=1", error=1e-12).scores == pytest.approx(
        pagerank(web, error=1e-12).scores
    )


def test_links_of_dynamic_pages_count_less_when_sites_are_added_up(web: NamedGraph) -> None:
    # The sites by domain: a, b, c. Links within a site are left out unless they are named.
    truth = expected({(0, 1): 1, (0, 2): 0.5, (1, 2): 1, (1, 0): 1, (2, 1): 1}, 3)
    assert pagerank(web, by="domain", link_weight="dynamic=0.5", error=1e-12).scores == pytest.approx(truth)
    within = {(0, 0): 0.3 * (1 + 0.5), (1, 1): 0.3, (0, 1): 1, (0, 2): 0.5, (1, 2): 1, (1, 0): 1, (2, 1): 1}
    found = pagerank(web, by="domain", link_weight="dynamic=0.5,internal=0.3", error=1e-12)
    assert found.scores == pytest.approx(expected(within, 3))
    plain = pagerank(web, by="site", error=1e-12)
    assert pagerank(web, by="site", link_weight="external=1", error=1e-12).to_dict() == pytest.approx(plain.to_dict())


def test_the_weights_of_a_graph_are_multiplied(web: NamedGraph) -> None:
    sources, targets = np.array(LINKS).T
    own = NamedGraph(graph_from_links(5, sources, targets, np.arange(1.0, 9.0)), web.names)
    made = weighed(own, LinkWeights(internal=0.5)).graph
    assert made.weights is not None
    assert made.weights.tolist() == [0.5, 2, 1.5, 4, 5, 6, 7, 8]
    nothing = pagerank(web, link_weight="internal=0,external=0")
    assert nothing.dangling == 5


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("inner=1", "unknown kind of link 'inner'"),
        ("internal", "a kind and a number, such as internal=0.3, not 'internal'"),
        ("internal=x", "must be a number, not 'x'"),
        ("internal=-1", "zero or more, not -1"),
        ("internal=1,internal=2", "given twice"),
        ("dynamic=0.5", "changes nothing: dynamic counts with --by site"),
    ],
)
def test_weights_that_mean_nothing_are_refused_with_a_sentence(given: str, why: str, web: NamedGraph) -> None:
    with pytest.raises(BadSetting, match=why):
        pagerank(web, link_weight=given)


def test_template_links_are_those_that_half_of_the_pages_of_a_host_repeat() -> None:
    pages = [f"http://a.org/{number}" for number in range(LEAST_PAGES + 2)] + ["http://b.org/", "http://c.org/"]
    near, far, rare = LEAST_PAGES, LEAST_PAGES + 2, LEAST_PAGES + 3
    links = [(page, target) for page in range(LEAST_PAGES) for target in (near, (page + 1) % LEAST_PAGES)]
    links += [(page, far) for page in range(LEAST_PAGES // 2)] + [(page, rare) for page in range(LEAST_PAGES // 2 - 1)]
    links += [(0, rare), (near + 1, far), (near + 1, far)]  # page 0 links twice; one page more has links
    found = {}
    for left_out in (0, 1):
        sources, targets = zip(*links[: len(links) - 2 * left_out], strict=True)
        web = NamedGraph(graph_from_links(len(pages), sources, targets), PageNames.of(pages))
        made = weighed(web, link_weights("template=0.5")).graph
        assert made.weights is not None
        repeated = made.targets[made.weights < 1]
        found[left_out] = set(repeated.tolist())
    assert found == {0: {near, far}, 1: {near, far}}
    few = NamedGraph(graph_from_links(2, [0], [1]), PageNames.of(["http://a.org/", "http://a.org/x"]))
    assert weighed(few, link_weights("template=0.5")).graph.weights == pytest.approx([1.0])


def test_a_graph_without_names_has_no_internal_links(web: NamedGraph) -> None:
    with pytest.raises(BadInput, match="no names"):
        pagerank(web.graph, link_weight="internal=0.5")
    with pytest.raises(BadInput, match="unknown which links of this graph are nofollow"):
        pagerank(web, link_weight="nofollow=0")
    assert link_weights("external=2") == LinkWeights(external=2.0)
