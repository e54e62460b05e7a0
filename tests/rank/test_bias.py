from pathlib import Path

import numpy as np
import pytest

from centime.graphs.names import NamedGraph, PageNames
from centime.model.errors import BadInput
from centime.model.graph import graph_from_links
from centime.rank.bias import Bias, bias_vector

NUMBERED = NamedGraph(graph_from_links(3, [0], [1]))
NAMED = NamedGraph(graph_from_links(3, [0], [1]), PageNames.of(["a", "b c", "7"]))


@pytest.mark.parametrize(
    ("bias", "named", "expected"),
    [
        ([0, 2], NUMBERED, [1, 0, 1]),
        (["0", "2", "2"], NUMBERED, [1, 0, 1]),
        ({1: 2.5, "2": 1}, NUMBERED, [0, 2.5, 1]),
        (np.array([0, 3, 1]), NUMBERED, [0, 3, 1]),
        (["a", "7"], NAMED, [1, 0, 1]),
        ({"b c": 0.5, "a": 0}, NAMED, [0, 0.5, 0]),
        ([1], NAMED, [0, 1, 0]),
    ],
)
def test_pages_are_named_or_numbered_and_count_what_is_said(
    bias: Bias, named: NamedGraph, expected: list[float]
) -> None:
    assert bias_vector(bias, named).tolist() == expected


@pytest.mark.parametrize("packing", ["", ".gz"])
def test_a_file_has_a_page_a_line_and_perhaps_a_weight(packing: str, tmp_path: Path) -> None:
    import gzip

    path = tmp_path / f"pages.txt{packing}"
    text = "\ufeff# pages\r\n\r\nb c\t2.5\r\n7\n".encode()
    path.write_bytes(gzip.compress(text) if packing else text)
    for given in (path, str(path)):
        assert bias_vector(given, NAMED).tolist() == [0, 2.5, 1]


@pytest.mark.parametrize(
    ("bias", "sentence"),
    [
        ([5], "the graph has no page 5"),
        ([-1], "the graph has no page -1"),
        (["x"], "the graph has no page x"),
        ([], "the bias has no page with a weight above 0"),
        ({1: 0.0}, "the bias has no page"),
        ({1: -1.0}, "page 1 has the weight -1.0"),
        ({1: float("nan")}, "page 1 has the weight nan"),
        (np.ones(2), "a bias needs one number for each of the 3 pages"),
    ],
)
def test_a_page_that_is_not_there_or_counts_nothing_is_refused(bias: Bias, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        bias_vector(bias, NUMBERED)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"a\nnobody\n", ", line 2: the graph has no page nobody"),
        (b"a\theavy\n", ", line 1: 'heavy' after the tab is not a number"),
        (b"a\t-1\n", ", line 1: page a has the weight -1.0"),
        (b"# nothing\n", ": the bias has no page with a weight above 0"),
        (b"a\n\xff\n", ", byte 2: the file is not text in UTF-8"),
        (b"", ": the file is empty"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_its_line(text: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "pages").write_bytes(text)
    with pytest.raises(BadInput) as refused:
        bias_vector(tmp_path / "pages", NAMED)
    assert str(refused.value).startswith(f"{tmp_path / 'pages'}{sentence}")
