"""`centime serve`: wrong usage, tokens, and a server in a process of its own that ends by a signal."""

import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from centime.cli.ending import run
from centime.cli.main import app
from centime.serve.access import Tokens


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "give the folder"),
        (["nothing"], "no such folder"),
        (["CRAWL", "--listen", "0.0.0.0:8400"], "token"),
        (["CRAWL", "--listen", "nonsense"], "HOST:PORT"),
        (["CRAWL", "--token-file", "nothing"], "nothing"),
        (["--new-token", "anna"], "--token-file"),
    ],
)
def test_wrong_usage_is_told_in_one_sentence(
    words: list[str], sentence: str, small_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(app, ["serve", *(str(small_folder) if word == "CRAWL" else word for word in words)])
    assert code == 2
    assert sentence in capsys.readouterr().err


def test_a_new_token_is_shown_once_and_stored_as_a_hash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(app, ["serve", "--token-file", str(tmp_path / "tokens"), "--new-token", "anna"]) == 0
    token = capsys.readouterr().out.strip()
    assert Tokens(tmp_path / "tokens").holder(token) == "anna"


def test_a_port_that_is_taken_is_told(small_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert run(app, ["serve", str(small_folder), "--listen", str(taken.getsockname()[1])]) == 2
    assert "cannot listen" in capsys.readouterr().err


@pytest.mark.slow
def test_it_serves_until_a_signal_and_ends_with_0(small_folder: Path) -> None:
    command = [sys.executable, "-m", "centime", "serve", str(small_folder), "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = process.stderr.readline().partition(" at ")[2].partition(" ")[0]
        with urllib.request.urlopen(f"{address}api/v1/crawls", timeout=60) as answered:
            assert answered.status == 200
        request = urllib.request.Request(address, headers={"Host": "evil.example"})
        with pytest.raises(urllib.error.HTTPError, match="421"):
            urllib.request.urlopen(request, timeout=60)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_no_other_command_imports_the_web_framework() -> None:
    program = (
        "import sys, centime.cli.main, centime.crawl.engine.loop, centime.api.crawl;"
        "print([name for name in ('starlette', 'uvicorn', 'jinja2', 'prometheus_client', 'apprise')"
        " if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ)
    assert said.stdout.strip() == "[]"
