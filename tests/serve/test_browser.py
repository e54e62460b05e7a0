"""The window in a real browser: Debian's Chromium, which `CHROMIUM` names, the path has, or the first test fetches.

Where it cannot be had, these tests are left out with one line that says so; in CI they fail.
"""

import os
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec
import pytest

from bench.crawl_server import NotToBeHad
from bench.replay_browser import Browser, chromium
from centime.cluster.status import ClusterStatus, PartitionStatus, write_status
from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.crawl.report.truth import TruePage, Truth, write_truth
from centime.crawl.search.updating import update_index
from centime.lab.webbox import WebBox, serve_in_process
from centime.serve import events
from centime.serve.access import Access
from centime.serve.listening import WindowServer, address_of, bound, served_crawls
from centime.store.lock import lock_file, unlock_file
from tests.cluster.crawled import Crawled
from tests.crawl.report.made import hand_made, refreshed
from tests.fetch.hostile import HERE

PAGES = ("overview", "pages", "hosts", "next", "changes", "plan", "communities", "orders", "figures", "cluster")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first may fetch a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with ExitStack() as kept:
        try:
            found = kept.enter_context(chromium())
        except NotToBeHad as trouble:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"the tests of the window in a browser are left out: {trouble}; CHROMIUM=PROGRAM names one")
        yield found


@pytest.fixture(scope="module")
def place(kept: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a server of two crawls, and the folder of the one that is still written."""
    folder = tmp_path_factory.mktemp("live") / "museum"
    with hand_made(folder, **{"refresh-after": 1000.0}) as opened:
        write_truth(folder, TRUTH)
        made = bound("127.0.0.1", 0)
        server = WindowServer(served_crawls([folder, kept]), Access(None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [made]})
        thread.start()
        LIVE.append(opened)
        yield address_of(made), folder
        server.should_exit = True
        thread.join()


LIVE: list[object] = []
TRUTH = Truth(
    time=1.0,
    known=3,
    true_pages=777,
    fresh_share=0.5,
    true_fresh_share=0.25,
    certified_error=0.1,
    true_error=0.05,
    top=[TruePage(f"http://a.example/{'long/' * 30}", 1.5, 1.25)],
)


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "dark", "scripts"), [(1200, False, True), (360, True, False)])
def test_every_page_fits_the_screen_and_breaks_no_policy(
    browser: Browser, place: tuple[str, Path], name: str, width: int, dark: bool, scripts: bool
) -> None:
    tab = browser.tab(f"{place[0]}c/museum/{name}", width=width, dark=dark, scripts=scripts)
    assert tab.ask("document.querySelector('h1').textContent.length") > 0
    assert tab.ask("document.documentElement.scrollWidth") <= width
    assert tab.complaints == []
    assert tab.ask(NO_LABEL) == []
    assert tab.ask(CONTRAST) >= 4.5
    tab.close()


NO_LABEL = """[...document.querySelectorAll('input:not([type=hidden]), select, textarea, button, a, iframe')]
    .filter(one => !(one.labels && one.labels.length) && !one.textContent.trim() && !one.getAttribute('aria-label')
                   && !one.title).map(one => one.outerHTML)"""
CONTRAST = """(() => {
    const light = (colour) => {
        const [r, g, b] = colour.match(/[0-9.]+/g).map(Number)
            .map(x => x / 255).map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const paper = light(getComputedStyle(document.body).backgroundColor);
    return Math.min(...[...document.querySelectorAll('p, a, td, th, dt, label, h1, h2, caption')].map(one => {
        const ink = light(getComputedStyle(one).color);
        return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    }));
})()"""


def test_the_overview_is_live(browser: Browser, place: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "EVERY", 0.1)
    tab = browser.tab(f"{place[0]}c/museum/overview")
    assert tab.wait_until("document.getElementById('live').textContent === 'Live.'")
    before = tab.ask("document.querySelector('[data-figure=visits]').textContent")
    assert tab.ask("document.querySelector('[data-figure=true_fresh_share]').textContent") == "25.0 %"
    write_truth(place[1], msgspec.structs.replace(TRUTH, true_fresh_share=0.875))
    assert tab.wait_until("document.querySelector('[data-figure=true_fresh_share]').textContent === '87.5 %'", 20.0)
    refreshed(LIVE[0])  # type: ignore[arg-type]
    assert tab.wait_until(f"document.querySelector('[data-figure=visits]').textContent !== '{before}'", 20.0)
    assert tab.wait_until("document.querySelector('#changes a') !== null")
    tab.close()


def test_the_cluster_page_is_live(
    browser: Browser, crawled: Crawled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "EVERY", 0.1)
    folder = tmp_path / "web"
    shutil.copytree(crawled.cluster, folder)
    write_status(folder, status("running"))
    handle, made = lock_file(folder), bound("127.0.0.1", 0)
    server = WindowServer(served_crawls([folder]), Access(None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [made]})
    thread.start()
    try:
        tab = browser.tab(f"{address_of(made)}c/web/cluster", width=360)
        assert tab.ask("document.documentElement.scrollWidth") <= 360
        assert tab.ask("document.querySelector('nav [aria-current]').textContent") == "Cluster"
        assert tab.wait_until("document.getElementById('live').textContent === 'Live.'")
        assert "frozen" not in tab.ask("document.querySelector('[data-again]').textContent")
        write_status(folder, status("frozen"))
        assert tab.wait_until("document.querySelector('[data-again]').textContent.includes('frozen')", 20.0)
        assert tab.complaints == []
        tab.close()
    finally:
        unlock_file(handle)
        server.should_exit = True
        thread.join()


def status(state: str) -> ClusterStatus:
    """Three partitions on two nodes, one of them in this state."""
    states = ("running", state, "running")
    return ClusterStatus(
        time=1.0,
        partitions=[
            PartitionStatus(partition=number, node=str(number % 2), state=one, process=7, incarnation=1, taken_over=0)
            for number, one in enumerate(states)
        ],
    )


def test_nothing_of_a_hostile_page_runs_in_the_frame_or_opened_alone(browser: Browser, place: tuple[str, Path]) -> None:
    tab = browser.tab(f"{place[0]}c/crawl/pages")
    front = tab.ask("[...document.querySelectorAll('td.url a')].map(a => a.textContent).find(t => t.endsWith('/'))")
    tab.go(f"{place[0]}c/crawl/page?url={quote(front, safe='')}")
    tab.ask("document.querySelector('details').open = true")
    assert tab.ask("document.querySelector('iframe').sandbox.length") == 0
    assert tab.ask("document.querySelector('iframe').contentDocument") is None, "another origin"
    assert tab.ask("document.querySelectorAll('script:not([src])').length") == 0
    tab.go(f"{place[0]}c/crawl/copy?url={quote(front, safe='')}")
    assert tab.ask("self.origin") == "null"
    assert "museum" in tab.ask("document.body.textContent")
    assert any(re.search("sandboxed|script", one) for one in tab.complaints)
    tab.close()


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[str]]]:
    """The address of a server of a crawl of the webbox's pages with scripts in all places, and their URLs."""
    folder = tmp_path_factory.mktemp("scripts") / "crawl"
    given = {"delay": 0.0, "allow-network": list(HERE), "keep": "versions", "include": ["/scripts"], "traps": "off"}
    with serve_in_process(WebBox(hosts=1, pages=10, hostile=True)) as box:
        seed = f"http://hostile.localhost:{box.port}/scripts"
        with open_writer(folder, [seed], given) as opened:
            Engine(opened, Limits(pages=20)).run()
            urls = list(opened.shard.pages.texts.every())
            update_index(opened)
    made = bound("127.0.0.1", 0)
    server = WindowServer(served_crawls([folder]), Access(None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [made]})
    thread.start()
    yield address_of(made), urls
    server.should_exit = True
    thread.join()


RAN = "document.documentElement.dataset.ran || ''"


def test_no_script_of_a_hostile_web_runs_in_any_page_of_the_window(
    browser: Browser, scripts: tuple[str, list[str]]
) -> None:
    address, urls = scripts
    assert len(urls) >= 6
    assert any("onerror" in unquote(url) for url in urls)
    views = [f"page?url={quote(url, safe='')}" for url in urls]
    tab = browser.tab(f"{address}c/crawl/overview")
    for view in [*PAGES, "search?words=beware", *views]:
        tab.go(f"{address}c/crawl/{view}")
        assert tab.ask(RAN) == "", view
        assert tab.ask("document.querySelectorAll('[onerror], [onload], script:not([src]), base').length") == 0, view
        assert tab.ask("[...document.links].filter(a => !/^https?:/.test(a.href)).length") == 0, view
    assert tab.complaints == []
    for url in urls:
        tab.go(f"{address}c/crawl/copy?url={quote(url, safe='')}")
        assert tab.ask(RAN) == "", url
    tab.close()


def test_an_order_is_given_by_keyboard_alone(browser: Browser, place: tuple[str, Path]) -> None:
    tab = browser.tab(f"{place[0]}c/museum/orders")
    tab.ask("document.getElementById('banned').focus()")
    tab.ask("document.getElementById('banned').value = 'spam.example'")
    tab.press("Tab")
    assert tab.ask("document.activeElement.textContent") == "Ban"
    tab.press("Enter")
    assert tab.wait_until("document.querySelector('.good') !== null")
    assert "https://spam.example" in tab.ask("document.body.textContent")
    tab.close()


def test_the_slider_foretells_another_budget(browser: Browser, place: tuple[str, Path]) -> None:
    tab = browser.tab(f"{place[0]}c/museum/plan")
    tab.ask(
        "(() => { const s = document.getElementById('times'); s.value = '2'; s.dispatchEvent(new Event('input'));"
        "s.dispatchEvent(new Event('change')); })()"
    )
    assert tab.wait_until("location.search.includes('times=4')")
    assert tab.wait_until("document.querySelectorAll('tbody tr').length >= 4")
    tab.close()


def test_why_not_this_page_is_told_without_scripts(browser: Browser, place: tuple[str, Path]) -> None:
    address = f"{place[0]}c/museum/next?url={quote('http://c.example/', safe='')}"
    tab = browser.tab(address, scripts=False)
    assert "does not know it" in tab.ask("document.querySelector('.answer').textContent")
    tab.close()
