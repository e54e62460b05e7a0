from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crawl.report.conftest import small_folder
from tests.crawl.served import Routes, crawled, html, text
from tests.serve.asking import Asker

__all__ = ["small_folder"]

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl with kept copies of pages that want to run scripts."""
    folder = tmp_path_factory.mktemp("kept") / "crawl"
    body = f"<title>{SCRIPT}</title><p>The museum opens.</p>{SCRIPT}<a href='/x%22%3E%3Cscript%3E'>x</a>"
    routes: Routes = {
        "/": text(body, "text/html; charset=utf-8"),
        "/x%22%3E%3Cscript%3E": html(),
        "/plain": text("<b>plain</b>", "text/plain"),
        "/data": text("\x00\x01", "application/pdf"),
    }
    crawled(folder, routes, "/", "/plain", "/data", given={"keep": "versions"})
    return folder


@pytest.fixture(scope="module")
def small(small_folder: Path) -> Iterator[Asker]:
    """The window over the crawl that is made by hand."""
    asker = Asker({"museum": small_folder})
    yield asker
    asker.close()


@pytest.fixture(scope="module")
def copies(kept: Path) -> Iterator[Asker]:
    """The window over the crawl with copies."""
    asker = Asker({"kept": kept})
    yield asker
    asker.close()
