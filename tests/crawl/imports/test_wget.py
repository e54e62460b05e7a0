"""What wget writes of a site is the same as an archive, as an index and as a mirror."""

import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from centime.crawl.engine.reader import read_crawl
from tests.crawl.imports.importer import imported
from tests.crawl.imports.written import html

pytestmark = [pytest.mark.long, pytest.mark.skipif(shutil.which("wget") is None, reason="wget is not installed")]


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder without a log."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """The URL of a small site."""
    (tmp_path / "site" / "rooms").mkdir(parents=True)
    (tmp_path / "site" / "index.html").write_bytes(html("home", ["a.html", "rooms/"]))
    (tmp_path / "site" / "a.html").write_bytes(html("a page", ["/", "rooms/list.html?page=2", "rooms/"]))
    (tmp_path / "site" / "rooms" / "index.html").write_bytes(html("rooms", ["../a.html"]))
    (tmp_path / "site" / "rooms" / "list.html").write_bytes(html("a list", ["/a.html"]))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "site"))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_an_archive_and_a_mirror_of_wget_give_the_same_graph(site: str, tmp_path: Path) -> None:
    written = ["--warc-file=w", "--warc-cdx", "-P", "mirror"]
    subprocess.run(["wget", "-q", "--mirror", "--no-config", *written, site], cwd=tmp_path, check=False, timeout=60)
    graphs = []
    for name, path in (("archive", "w.warc.gz"), ("mirror", "mirror"), ("index", "w.cdx")):
        report = imported(tmp_path / f"of-{name}", tmp_path / path, seed=site)
        assert (report.visits, report.trouble_count) == (4, 0)
        shard = read_crawl(tmp_path / f"of-{name}").shard
        pages = np.arange(shard.pages.count)
        importance = shard.ledger.importance(pages).round(6).tolist()
        graphs.append(dict(zip(shard.pages.texts.get_many(pages), importance, strict=True)))
    assert graphs[0] == graphs[1]
    assert graphs[2].keys() == graphs[0].keys()
