import hashlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.lab.webbox import WebBox
from centime.lab.webbox.layout import BARE, DEAD, DTD, HTML, MOVED, MOVED_TEMPORARILY, TEXT, XML
from centime.model.document import EMBEDDED, NOFOLLOW
from centime.model.errors import BadSetting, UnknownPage
from centime.model.graph import Graph

pytestmark = pytest.mark.compiled

SMALL = WebBox(hosts=7, pages=900, seed=3)


@st.composite
def boxes(draw: st.DrawFn) -> WebBox:
    hosts = draw(st.integers(1, 40))
    pages = draw(st.integers(hosts, 3_000))
    return WebBox(
        hosts=hosts, pages=pages, seed=draw(st.integers(0, 2**63 - 1)), port=draw(st.sampled_from([80, 8800, 65_535]))
    )


@given(boxes(), st.data())
def test_a_page_has_one_address_and_an_address_one_page(box: WebBox, data: st.DataObject) -> None:
    page = data.draw(st.integers(0, box.pages - 1))
    url = box.url(page)
    assert box.page(url) == page
    assert url.startswith(box.origin(box.site(page)) + "/")


def test_no_two_pages_have_the_same_address() -> None:
    assert len(set(SMALL.urls())) == SMALL.pages


@given(st.text(max_size=40), st.integers(0, 10))
def test_what_is_no_address_of_the_box_is_no_page(text: str, site: int) -> None:
    url = f"http://site{site}.localhost:8800/{text}"
    page = SMALL.page(url)
    assert page is None or SMALL.url(page) == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://site0.localhost/",
        "https://site0.localhost:8800/",
        "http://site00.localhost:8800/",
        "http://site7.localhost:8800/",
        "http://site-1.localhost:8800/",
        "http://site0.localhost:8800",
        "http://site0.localhost:8800/section-1",
        "http://site0.localhost:8800/section-01/",
        "http://site0.localhost:8800/section-1/page-999999.html",
        "http://site0.localhost:8800/section-1/page-1_5.html",
        "http://site².localhost:8800/",
    ],
)
def test_almost_an_address_is_none(url: str) -> None:
    assert SMALL.page(url) is None


def reached(graph: Graph) -> set[int]:
    seen, waiting = {0}, [0]
    while waiting:
        for target in graph.row(waiting.pop()).tolist():
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen


@given(boxes())
def test_every_page_can_be_reached_from_the_first(box: WebBox) -> None:
    assert len(reached(box.graph(without=NOFOLLOW | EMBEDDED))) == box.pages


def test_every_page_can_be_reached_after_years_of_change() -> None:
    graph = SMALL.graph(SMALL.start + 3e8)
    assert len(reached(graph)) == SMALL.pages
    assert not np.array_equal(graph.targets, SMALL.graph().targets)


@given(st.integers(0, SMALL.pages - 1), st.sampled_from([0, NOFOLLOW, NOFOLLOW | EMBEDDED]))
def test_the_graph_is_what_the_pages_link_to(page: int, without: int) -> None:
    time = SMALL.start + 1e7
    links = SMALL.links(page, SMALL.version(page, time))
    assert SMALL.graph(time, without=without).row(page).tolist() == links.targets[links.flags & without == 0].tolist()


@given(st.integers(0, SMALL.pages - 1))
def test_a_row_names_each_page_once_and_never_its_own(page: int) -> None:
    targets = SMALL.links(page).targets.tolist()
    assert len(set(targets)) == len(targets)
    assert page not in targets


def test_redirects_lead_on_and_never_round_and_the_dead_and_the_bare_lead_nowhere() -> None:
    forms, graph = SMALL.forms(), SMALL.graph()
    for page in np.flatnonzero(np.isin(forms, (MOVED, MOVED_TEMPORARILY))).tolist():
        assert len(graph.row(page)) == 1
        assert graph.row(page)[0] < page
    assert graph.out_degree[np.isin(forms, (DEAD, BARE, TEXT, DTD))].max() == 0


def test_most_pages_are_html_and_every_form_occurs() -> None:
    forms = WebBox().forms()
    shares = np.bincount(forms, minlength=8) / len(forms)
    assert 0.8 < shares[HTML] < 0.95
    assert 0.04 < shares[XML] < 0.07
    assert shares.min() > 0.001


def test_a_few_pages_have_most_of_the_links() -> None:
    degrees = np.sort(WebBox(hosts=100, pages=50_000).graph().in_degree)[::-1]
    assert degrees[0] > 100 * degrees.mean()
    # Above degree d there is a share of about d^-1.25 of the pages: the slope of the tail in logarithms.
    ranks = np.array([30, 1000])
    slope = -np.diff(np.log(ranks))[0] / np.diff(np.log(degrees[ranks]))[0]
    assert 0.8 < slope < 2.0


def test_importance_has_mean_one_and_the_first_site_leads() -> None:
    importance = SMALL.importance()
    assert importance.mean() == pytest.approx(1)
    assert importance.argmax() == 0


DIGEST = """
import hashlib
from centime.lab.webbox import WebBox
box = WebBox(hosts=7, pages=900, seed=3)
graph = box.graph(box.start + 1e7)
names = "".join(box.urls()).encode()
print(hashlib.sha256(graph.offsets.tobytes() + graph.targets.tobytes() + names + box.rates().tobytes()).hexdigest())
"""


def test_another_process_finds_the_same_web_and_another_seed_another() -> None:
    def digest(box: WebBox) -> str:
        graph = box.graph(box.start + 1e7)
        names = "".join(box.urls()).encode()
        return hashlib.sha256(
            graph.offsets.tobytes() + graph.targets.tobytes() + names + box.rates().tobytes()
        ).hexdigest()

    other = subprocess.run([sys.executable, "-c", DIGEST], capture_output=True, text=True, check=True).stdout.strip()
    assert digest(SMALL) == other
    assert digest(WebBox(hosts=7, pages=900, seed=4)) != other


def test_titles_are_words_and_the_number() -> None:
    assert SMALL.title(5).endswith(" 5")
    assert SMALL.title(5) != SMALL.title(6)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"hosts": 0}, "the number of hosts must be 1 to 1000000, not 0"),
        ({"hosts": 60, "pages": 50}, "the number of pages must be 60 "),
        ({"seed": -1}, "the seed must be a whole number from 0"),
        ({"speed": 0.0}, "the speed of the clock must be above 0"),
        ({"port": 70_000}, "the port must be a number from 0 to 65535"),
        ({"start": -1.0}, "a time in seconds since 1970"),
        ({"changes_per_day": 0.0}, "changes per day must be above 0"),
        ({"delay_seconds": -1.0}, "delays must be 0"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadSetting, match=sentence):
        WebBox(**settings)


def test_a_page_that_the_box_has_not_is_said() -> None:
    with pytest.raises(UnknownPage, match="the box has pages 0 to 899, not 900"):
        SMALL.url(900)
