"""`centime watch` end to end: a page that changes, what is told, and what is kept."""

import json
import os
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from centime.cli.ending import run
from centime.cli.fresh import watch
from centime.cli.main import app
from centime.crawl.report.versions import Versions

HERE = ["--allow-network", "127.0.0.0/8", "--serve", "none"]


@pytest.mark.slow
def test_changes_of_the_selected_part_are_told_with_their_sentences_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "LEAST_SECONDS", 0.1)
    monkeypatch.chdir(tmp_path)
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/":
                asked.append(self.path)
            price = len(asked) // 3  # not at every read
            body = f"<main><p>It costs {price} euros.</p></main><footer>Visitor {len(asked)}.</footer>".encode()
            self.send_response(200 if self.path == "/" else 404)
            for name, value in (("Content-Type", "text/html"), ("Content-Length", str(len(body)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/"
    watching = threading.Thread(target=_stop_when_told, args=(tmp_path / "told.jsonl",), daemon=True)
    watching.start()
    words = [
        "watch",
        url,
        "--every",
        "1s",
        "--for",
        "200s",
        "--select",
        "css:main",
        "--to",
        "file:told.jsonl",
        "--json",
    ]
    assert run(app, [*words, *HERE]) == 0
    server.shutdown()
    thread.join()
    server.server_close()
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert told[0]["change"] == "new"
    changed = next(one for one in told if one["change"] == "changed")
    assert changed["url"] == url
    assert "euros" in changed["new"][0]
    assert len(told) < len(asked), "the footer alone is no change"
    assert len(Versions(tmp_path / "watched", url)) >= 2
    assert "changed" in (tmp_path / "told.jsonl").read_text()


def _stop_when_told(file: Path) -> None:
    """Presses Ctrl-C when a change was delivered."""
    for _ in range(1000):
        time.sleep(0.2)
        if file.exists() and '"changed"' in file.read_text():
            os.kill(os.getpid(), signal.SIGINT)
            return


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "give the URL"),
        (["https://a.example/", "--every", "1s"], "every 10 seconds"),
        (["https://a.example/", "--every", "nonsense"], "nonsense"),
        (["https://a.example/", "--every", "10000000d"], "--every is at most 11574d, not 10000000d"),
        (["https://a.example/", "--to", "command:cat >> x"], "without a shell, so >> would be an argument of cat"),
        (["https://a.example/", "--to", "nonsense"], "nonsense"),
        (["https://a.example/", "--select", "css:["], "CSS"),
    ],
)
def test_wrong_usage_is_told(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(app, ["watch", *words, "--serve", "none"]) == 2
    assert sentence in capsys.readouterr().err


def test_pages_that_cannot_be_read_are_named_once_and_a_watch_goes_on_without_urls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "LEAST_SECONDS", 0.1)
    monkeypatch.chdir(tmp_path)
    url = "http://127.0.0.1:9/"
    assert run(app, ["watch", url, "--every", "20s", "--for", "1s", "--serve", "none"]) == 0
    said = capsys.readouterr().err
    assert "watching 1 page every 20 s" in said
    assert said.count(f"{url}: cannot be read: refused address; --allow-network") == 1
    assert run(app, ["watch", "--for", "0.1s", "--serve", "none"]) == 0
    assert "watching 1 page every 20 s" in capsys.readouterr().err
