from pathlib import Path

import numpy as np
import pytest

from centime.analyse.cluster import cluster
from centime.analyse.community import Community, Numbers, chosen_community, page_named
from centime.analyse.transition import Pages
from centime.lab.synthetic.graphs import weblike
from centime.model.errors import BadInput
from centime.model.graph import graph_from_links
from tests.analyse.dense import linked

URLS = ["http://www.a.org/", "http://a.org/x", "http://b.org/a.org", "http://nota.org/"]
HOSTS = ["www.a.org", "a.org", "b.org", "nota.org"]


class Listed:
    """Names in a list."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, page: int) -> str:
        return self.names[page]

    def find(self, name: str) -> int | None:
        return self.names.index(name) if name in self.names else None


def chosen(choice: str) -> Community:
    return chosen_community(
        choice, Listed(URLS), lambda: (np.arange(4), Listed(HOSTS)), lambda page: np.array([page, 0])
    )


@pytest.mark.parametrize(
    ("choice", "pages"),
    [
        ("A=host:a.org", [1]),
        ("A=host:WWW.A.org", [0]),
        ("A=domain:a.org", [0, 1]),
        (r"A=pattern:a\.org$", [2]),
        ("A=pattern:^http", [0, 1, 2, 3]),
        ("A=cluster:http://a.org/x", [0, 1]),
    ],
)
def test_a_community_is_chosen_by_host_domain_pattern_or_cluster(choice: str, pages: list[int]) -> None:
    found = chosen(choice)
    assert (found.name, found.pages.tolist()) == ("A", pages)


def test_a_community_is_chosen_by_a_file_of_names(tmp_path: Path) -> None:
    path = tmp_path / "pages=1.txt"
    path.write_text("# mine\n\n  http://b.org/a.org \nhttp://a.org/x\nhttp://a.org/x\n")
    assert chosen(f"Mine={path}").pages.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        ("a.org", "a community is NAME=FILE"),
        ("=host:a.org", "a community is NAME=FILE"),
        ("A=", "a community is NAME=FILE"),
        ("A=host:c.org", "community A: no page of the graph is in host:c.org"),
        ("A=pattern:(", "the pattern '\\(' is not a regular expression"),
        ("A=cluster:http://c.org/", "the graph has no page http://c.org/; its pages are named like http://www.a.org/"),
        ("A=missing.txt", "missing.txt: the file cannot be read \\(no such file or directory\\)"),
    ],
)
def test_a_community_that_cannot_be_chosen_is_refused_in_one_sentence(choice: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        chosen(choice)


def test_a_name_that_the_graph_does_not_have_is_refused_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "pages.txt"
    path.write_text("http://a.org/x\nhttp://c.org/\n")
    with pytest.raises(BadInput, match=r"line 2: the graph has no page http://c\.org/"):
        chosen(f"A={path}")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="not text in UTF-8"):
        chosen(f"A={path}")


def test_pages_without_names_are_called_by_their_numbers() -> None:
    names = Numbers(3)
    assert [names[page] for page in range(len(names))] == ["0", "1", "2"]
    assert [names.find(name) for name in ["0", "2", "3", "-1", "x", "1.5"]] == [0, 2, None, None, None, None]
    with pytest.raises(BadInput, match="no page 7; its pages are named like 0"):
        page_named("7", names)
    with pytest.raises(BadInput, match="the graph has no pages"):
        page_named("0", Numbers(0))


def clique(pages: Pages) -> list[tuple[int, int]]:
    return [(one, other) for one in pages.tolist() for other in pages.tolist() if one != other]


def test_the_cluster_around_a_page_is_what_is_linked_closely() -> None:
    links = clique(np.arange(0, 8)) + clique(np.arange(8, 30)) + [(0, 8), (20, 3)]
    graph = graph_from_links(30, [link[0] for link in links], [link[1] for link in links])
    assert cluster(graph, 2).tolist() == list(range(8))
    assert cluster(graph, 0).tolist() == list(range(8))


def test_the_cluster_around_a_page_without_links_is_the_page() -> None:
    assert cluster(linked(3, [(1, 2)]), 2).tolist() == [2]


def test_the_cluster_around_a_front_page_is_mostly_its_host() -> None:
    graph = weblike(5000, 3)
    found = cluster(graph, 0)
    assert 0 in found.tolist()
    assert 1 < len(found) < 2500
