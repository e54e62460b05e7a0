"""A crawl of a host without an end, by its command: it stays within --most-pages and says what it left out."""

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import xxhash
from typer.testing import CliRunner

from centime.cli.main import app
from centime.crawl.check.check import check_crawl

MOST_PAGES = 2_000


class Maze(http.server.BaseHTTPRequestHandler):
    """Every page links to twenty new ones."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        links = (xxhash.xxh3_64_hexdigest(f"{self.path}{link}".encode()) for link in range(20))
        body = b"" if self.path == "/robots.txt" else "".join(f'<a href="/{link}">x</a>' for link in links).encode()
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *said: object) -> None:
        """Prints nothing."""


@contextmanager
def maze() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Maze) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def centime(*words: str) -> str:
    """What a command writes."""
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.long
@pytest.mark.compiled
def test_an_endless_host_stays_within_the_bound_and_the_crawl_says_what_it_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    options = ["--most-pages", str(MOST_PAGES), "--most-memory", "4GB", "--delay", "0", "--workers", "1", "--pages"]
    command = ["crawl", str(folder)]
    with maze() as url:
        facts = json.loads(centime(*command, url, *options, "300", "--allow-network", "127.0.0.0/8", "--json"))
        assert MOST_PAGES * 0.8 < facts["known"] <= MOST_PAGES == facts["most_pages"]
        assert facts["refused"]["most-pages"] > 2_000
        lower = json.loads(centime(*command, "--most-pages", "500", "--pages", "20", "--json"))
        assert (lower["known"], lower["most_pages"], lower["admitted"]) == (facts["known"], 500, "no URLs")
        assert lower["pages_dropped"] == facts["known"] - 500
        assert lower["visits_now"] == 20
    shown = centime("stats", str(folder))
    assert "most-pages" in shown
    assert "pages dropped" in shown
    assert not check_crawl(folder).problems
