import json
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest
import typer

from centime.cli.ending import run
from centime.cli.lab import webbox

pytestmark = pytest.mark.compiled

PROGRAM = """
import sys, typer
from centime.cli.lab import webbox
from centime.cli.ending import run
app = typer.Typer(add_completion=False)
webbox.register(app)
app.callback()(lambda: None)
sys.exit(run(app, ["webbox", *sys.argv[1:]]))
"""


def started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_programs_are_told_the_port_and_at_the_end_what_was_asked(tmp_path: Path) -> None:
    log = tmp_path / "requests.tsv"
    with started("--port", "0", "--pages", "100", "--hosts", "3", "--hostile", "--log", str(log), "--json") as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert told["seed_url"] == f"http://site0.localhost:{told['port']}/"
        assert told["crawl_it"].startswith(f"centime crawl DIR {told['seed_url']} --allow-network 127.0.0.0/8")
        connection = HTTPConnection("127.0.0.1", told["port"])
        for host in ("site0.localhost", "site2.localhost", "hostile.localhost"):
            connection.request("GET", "/", headers={"Host": host})
            assert connection.getresponse().read()
        connection.close()
        process.send_signal(signal.SIGINT)
        statistics = json.loads(process.stdout.readline())
        assert (statistics["requests"], statistics["hosts_asked"], statistics["by_status"]) == (3, 3, {"200": 3})
        assert process.wait(20) == 0
    assert [line.split("\t")[1:] for line in log.read_text().splitlines()] == [
        ["site0.localhost", "/", "200"],
        ["site2.localhost", "/", "200"],
        ["hostile.localhost", "/", "200"],
    ]


def test_the_log_is_written_while_requests_come_so_that_a_kill_loses_none_of_the_earlier(tmp_path: Path) -> None:
    log = tmp_path / "requests.tsv"
    with started("--port", "0", "--pages", "100", "--hosts", "3", "--log", str(log), "--json") as process:
        assert process.stdout is not None
        connection = HTTPConnection("127.0.0.1", json.loads(process.stdout.readline())["port"])
        until = time.monotonic() + 20
        for count in (1, 2):  # the second comes after the first was written: it is no matter of the first alone
            connection.request("GET", "/", headers={"Host": "site1.localhost"})
            assert connection.getresponse().read()
            while log.read_text().count("\n") < count:
                assert time.monotonic() < until
                time.sleep(0.005)
        connection.close()
        process.kill()
    assert [line.split("\t")[1:] for line in log.read_text().splitlines()] == [["site1.localhost", "/", "200"]] * 2


def test_people_are_told_where_to_begin_and_what_to_type() -> None:
    with started("--port", "0", "--pages", "100", "--hosts", "3") as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith("seed url")
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        rest, wrong = process.stdout.read(), process.stderr.read()
    assert "centime crawl DIR http://site0.localhost:" in rest
    assert "by status         none" in rest
    assert wrong == ""
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--hosts", "60", "--pages", "50"], "the number of pages must be 60 (one per host) to 1000000000, not 50"),
        (["--port", "99999"], "the port must be a number from 0 to 65535, not 99999"),
        (["--speed", "0"], "the speed of the clock must be above 0 and at most 1e9, not 0"),
        (["--seed", "-1"], "the seed must be a whole number from 0 to"),
        (
            ["--log", "/missing/folder/log"],
            "/missing/folder/log: the file is not writable (No such file or directory)",
        ),
    ],
)
def test_wrong_input_is_one_sentence(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    app = typer.Typer(add_completion=False)
    webbox.register(app)
    assert run(app, arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"centime: {sentence}")
    assert said.err.count("\n") == 1


def test_a_port_in_use_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    app = typer.Typer(add_completion=False)
    webbox.register(app)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(app, ["--port", str(port), "--pages", "50"]) == 2
    assert (
        capsys.readouterr().err
        == f"centime: port {port} is already in use; choose another one, or 0 for any free one\n"
    )
