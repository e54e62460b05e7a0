"""`--log` of a crawl: what a run writes, also when it fails, when the disk is full and when the file is rotated."""

import io
import json
import os
import signal
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from centime.cli.ending import run
from centime.cli.log import log_settings, logged
from centime.cli.main import app

HERE = ["--allow-network", "127.0.0.0/8", "--workers", "1", "--delay", "0", "--scope", "page", "--json"]


class Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/" else 404)
        for name, value in (("Content-Type", "text/html"), ("Content-Length", "5")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"<p>Hi")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def seed() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def crawl(*arguments: object) -> int:
    return run(app, ["crawl", *map(str, arguments)])


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_run_logs_its_beginning_its_visits_its_orders_and_its_end(tmp_path: Path, seed: str) -> None:
    folder, log = tmp_path / "c", tmp_path / "log"
    assert crawl(folder, seed, *HERE, "--pages", 1) == 0
    assert run(app, ["set", str(folder), "rate=5/s"]) == 0
    options = ["--log", log, "--log-level", "debug", "--log-format", "json"]
    assert crawl(folder, "--refresh-after", "1s", "--pages", 1, *HERE, *options) == 0
    logged_lines = {line["event"]: line for line in lines(log) if line["from"] == "crawl"}
    assert list(logged_lines) == ["run began", "command applied", "visit", "run ended"]
    assert logged_lines["visit"]["url"] == seed
    assert logged_lines["visit"]["outcome"] in ("read", "unchanged")
    assert logged_lines["command applied"]["detail"] == "rate=5/s"
    assert logged_lines["run ended"]["visits_now"] == 1
    assert {line["crawl"] for line in logged_lines.values()} == {str(folder)}


def test_a_command_that_fails_logs_why(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert crawl(tmp_path / "c", "gopher://x.example/", "--log", log, "--log-format", "json") == 2
    (line,) = lines(log)
    assert line["level"] == "error"
    assert "cannot be a seed" in line["error"]


def test_a_full_disk_stops_the_log_and_not_the_crawl(
    tmp_path: Path, seed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert crawl(tmp_path / "c", seed, *HERE, "--pages", 1, "--log", "/dev/full") == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["read"] == 1
    assert "lines of the log could not be written" in said.err


def test_a_log_can_be_set_in_the_configuration(tmp_path: Path, seed: str) -> None:
    config = tmp_path / "c.toml"
    config.write_text(f'log = "{tmp_path / "log"}"\nlog_level = "warning"\nlog-format = "json"\n')
    assert crawl(tmp_path / "c", seed, *HERE, "--pages", 1, "--config", config) == 0
    assert (tmp_path / "log").read_text() == ""


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--log-level", "debug"], "give --log FILE too"),
        (["--log", "nowhere/log"], "cannot be written"),
        (["--log", "log", "--log-level", "loud"], "debug, info, warning, error"),
        (["--log", "log", "--log-format", "xml"], "text or json"),
    ],
)
@pytest.mark.parametrize("command", ["crawl", "serve", "watch"])
def test_wrong_options_are_one_sentence(
    command: str,
    options: list[str],
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    words = {"crawl": ["c", "http://a.example/"], "serve": ["c"], "watch": ["http://a.example/"]}[command]
    assert run(app, [command, *words, *options]) == 2
    assert sentence in capsys.readouterr().err


def test_sighup_opens_the_file_anew_and_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())  # at a terminal the signal ends the program
    before = signal.getsignal(signal.SIGHUP)
    with logged(log_settings(str(tmp_path / "log"), None, None)):
        os.kill(os.getpid(), signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is before
