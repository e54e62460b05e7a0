"""A seed without a scheme: https first, http if nothing answers there, and the person learns which it was."""

import socket
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from centime.cli.ending import run
from centime.cli.main import app
from centime.crawl.check.check import check_crawl
from tests.crawl.served import crawled, html, text

SAID = "without a scheme: http://127.0.0.1:"


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_http_is_tried_if_nothing_answers_with_https(tmp_path: Path) -> None:
    crawl = crawled(tmp_path / "c", {"/a": html("/b"), "/b": html()}, "SERVER/a", scheme="")
    assert crawl.paths == {"/a", "/b"}
    page = crawl.page(crawl.url.replace("http:", "https:") + "/a")
    assert page["leads_to"] == f"{crawl.url}/a"
    assert page["visits"][0]["detail"].startswith(SAID)
    assert crawl.statistics()["outcomes"] == {"moved_temporarily": 1, "read": 2}
    assert check_crawl(tmp_path / "c").problems == []


@pytest.mark.parametrize("scope", ["page", "host"])
def test_a_sitemap_stays_one_and_the_scope_is_that_of_the_seed(tmp_path: Path, scope: str) -> None:
    crawl = crawled(
        tmp_path / "c",
        lambda url: {"/list": text(f"{url}/1", "text/plain"), "/1": html("/2"), "/2": html()},
        "sitemap:SERVER/list",
        scheme="",
        given={"scope": scope},
    )
    assert crawl.paths == ({"/list", "/1"} if scope == "page" else {"/list", "/1", "/2"})


def test_a_seed_with_a_scheme_is_left_as_it_is(tmp_path: Path) -> None:
    crawl = crawled(tmp_path / "c", {"/": html()}, "SERVER/", scheme="https://")
    assert crawl.paths == set()
    assert crawl.statistics()["known"] == 1


def test_the_command_says_so_and_ends_with_1_if_neither_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--allow-network", "127.0.0.0/8", "--workers", "1", "--delay", "0", "--for", "20s", "--json"]
    with HTTPServer(("127.0.0.1", 0), Site) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        assert run(app, ["crawl", str(tmp_path / "c"), f"127.0.0.1:{server.server_port}", *options]) == 0
        server.shutdown()
    assert f"{SAID}{server.server_port}/ is fetched: no answer with https" in capsys.readouterr().err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        assert run(app, ["crawl", str(tmp_path / "d"), f"127.0.0.1:{port}", *options, "--pages", "2"]) == 1
    said = capsys.readouterr().err
    assert f"no page could be read: http://127.0.0.1:{port}/: no connection" in said
