import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from publicsuffixlist import PublicSuffixList

from centime.graphs.names import NamedGraph, PageNames
from centime.model.errors import BadInput, BadSetting
from centime.model.graph import graph_from_links
from centime.rank.site import registrable_domain, site_graph, sites_of
from tests.graphs.drawn import named_links


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("http://example.org/", "example.org"),
        ("HTTPS://WWW.Example.ORG:8080/a//b?c=http://other/", "www.example.org"),
        ("https://user:secret@example.org/@x", "example.org"),
        ("//example.org?x", "example.org"),
        ("http://example.org.", "example.org"),
        ("http://example.org:/", "example.org"),
        ("example.org/a//b", "example.org"),
        ("example.org:80", "example.org"),
        ("http://[2001:db8::1]:80/", "[2001:db8::1]"),
        ("http://192.0.2.7/", "192.0.2.7"),
        ("http://example.org\\@other/", "example.org"),
        ("plain", "plain"),
        ("mailto:somebody", "mailto:somebody"),
        ("file:///etc", ""),
    ],
)
def test_the_host_of_a_name(name: str, host: str) -> None:
    site_of, sites = sites_of(PageNames.of([name]), "host")
    assert site_of.tolist() == [0]
    assert list(sites) == [host]


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.org", "example.org"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("co.uk", "co.uk"),
        ("localhost", "localhost"),
        ("192.0.2.7", "192.0.2.7"),
        ("[2001:db8::1]", "[2001:db8::1]"),
        ("www.ck", "www.ck"),
        ("", ""),
    ],
)
def test_the_registrable_domain_of_a_host(host: str, domain: str) -> None:
    assert registrable_domain(host, PublicSuffixList()) == domain


PAGES = PageNames.of(["http://a.x.org/1", "http://b.x.org/", "http://a.x.org/2", "http://y.org/", "http://a.x.org/3"])


def test_links_between_sites_are_counted_and_internal_ones_left_out() -> None:
    graph = NamedGraph(graph_from_links(5, [0, 0, 2, 1, 3, 4, 4], [1, 3, 3, 0, 3, 2, 3]), PAGES)
    by_host = site_graph(graph)
    assert named_links(by_host) == [("a.x.org", "b.x.org", 1.0), ("a.x.org", "y.org", 3.0), ("b.x.org", "a.x.org", 1.0)]
    by_domain = site_graph(graph, by="domain", internal=0.5)
    assert named_links(by_domain) == [("x.org", "x.org", 1.5), ("x.org", "y.org", 3.0), ("y.org", "y.org", 0.5)]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.floats(0, 100)), max_size=30),
    st.sampled_from(["host", "domain"]),
    st.sampled_from([0.0, 0.25, 1.0]),
)
def test_the_sums_are_those_of_a_plain_loop(links: list[tuple[int, int, float]], by: str, internal: float) -> None:
    sources, targets, weights = ([link[part] for link in links] for part in range(3))
    graph = NamedGraph(graph_from_links(5, sources, targets, weights), PAGES)
    joined = site_graph(graph, by, internal)
    site_of, sites = sites_of(PAGES, by)
    expected = np.zeros((len(sites), len(sites)))
    for source, target, weight in links:
        if site_of[source] != site_of[target]:
            expected[site_of[source], site_of[target]] += weight
        else:
            expected[site_of[source], site_of[target]] += internal * weight
    found = np.zeros_like(expected)
    for source_site in range(joined.graph.pages):
        row = joined.graph.row(source_site)
        assert np.all(np.diff(row) > 0)
        start = joined.graph.offsets[source_site]
        found[source_site, row] = (
            1.0 if joined.graph.weights is None else joined.graph.weights[start : start + len(row)]
        )
    np.testing.assert_allclose(found, expected)


def test_what_gives_no_sites_is_refused() -> None:
    graph = graph_from_links(5, [0], [1])
    with pytest.raises(BadInput, match="no names"):
        site_graph(NamedGraph(graph))
    with pytest.raises(BadSetting, match="by host or by domain, not by 'street'"):
        site_graph(NamedGraph(graph, PAGES), by="street")
    for factor in (-1.0, float("nan"), float("inf")):
        with pytest.raises(BadSetting, match="internal links must be a finite number"):
            site_graph(NamedGraph(graph, PAGES), internal=factor)
