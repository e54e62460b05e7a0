"""`centime crawl`: wrong input is one sentence and leaves nothing behind; settings come from options, a file and the
crawl's folder."""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from centime.cli.ending import run
from centime.cli.main import app
from centime.model.errors import BadSetting
from centime.settings.units import bytes_per_second, per_second, seconds

SEED = "http://nobody.invalid/"


def crawl(*arguments: object) -> int:
    return run(app, ["crawl", *map(str, arguments)])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "seed"),
        (["gopher://x.example/"], "cannot be a seed"),
        (["no-such-file.txt"], "cannot be a seed"),
        ([SEED, "--scope", "galaxy"], "scope is one of"),
        ([SEED, "--delay", "-1"], "a time is a number"),
        ([SEED, "--address-delay", "soon"], "a time is a number"),
        ([SEED, "--address-delay", "2d"], "address-delay is a number of seconds from 0 to 86400 or none, not '2d'"),
        ([SEED, "--for", "10y"], "a time is a number"),
        ([SEED, "--pages", "0"], "pages is a whole number from 1 on"),
        ([SEED, "--rate", "x"], "a rate is"),
        ([SEED, "--rate", "0"], "rate is a number per second from 1e-06 to 1000000000 or none, not '0'"),
        ([SEED, "--bandwidth", "2XB/day"], "a bandwidth is"),
        ([SEED, "--most-memory", "much"], "a size is a number of bytes, such as 4GB or 512MiB, not 'much'"),
        ([SEED, "--most-memory", "1KB"], "most-memory is a whole number of bytes from 1048576 to"),
        ([SEED, "--most-pages", "0"], "most-pages is a whole number from 1 to 2147483648 or none, not 0"),
        ([SEED, "--most-pages", "many"], "most-pages is a whole number from 1 to 2147483648 or none, not 'many'"),
        ([SEED, "--include", "("], "not a regular expression"),
        ([SEED, "--focus", "x"], "PATTERN=WEIGHT"),
        ([SEED, "--focus", "x=nan"], "multiple of 1/16"),
        ([SEED, "--focus", "x=0.1"], "multiple of 1/16"),
        ([SEED, "--ledger", "gold"], "ledger is one of"),
        ([SEED, "--damping", "1.5"], "damping is a number from 0 to 0.999999, not 1.5"),
        ([SEED, "--max-depth", "-1"], "max-depth is a whole number from 0 to 1000000 or none, not -1"),
        ([SEED, "--keep", "some"], "keep is one of"),
        ([SEED, "--workers", "1000"], "workers is a whole number from 0 to 64, not 1000"),
        ([SEED, "--user-agent", "\n"], "user_agent"),
        ([SEED, "--allow-network", "300.0.0.0/8"], "not a network"),
        ([SEED, "--resolve", "x"], "NAME=ADDRESS"),
        ([SEED, "--resolve", "x=y"], "not an address"),
        ([SEED, "--timeout", "0"], "timeout is a number of seconds from 0.1 to 86400, not '0'"),
        ([SEED, "--config", "no-such-file.toml"], "cannot be read"),
    ],
)
def test_wrong_input_is_one_sentence_and_nothing_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], sentence: str
) -> None:
    assert crawl(tmp_path / "c", *options) == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert said.err.count("\n") == 1
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("delya = 3", "did you mean 'delay'"),
        ("delay = 'soon'", "a time is a number"),
        ("delay = true", "delay is a number"),
        ("address-delay = 'soon'", "a time is a number"),
        ("scope = 3", "scope is one of page, host, domain, any, not 3"),
        ("include = 3", "include is a list"),
        ("pages = 'many'", "pages is a whole number from 1 on"),
        ("seeds = 'http://x.example/'", "seeds is a list"),
        ("= 3", "not TOML"),
    ],
)
def test_a_wrong_configuration_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, sentence: str
) -> None:
    config = tmp_path / "c.toml"
    config.write_text(text)
    assert crawl(tmp_path / "c", SEED, "--config", config) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "c").exists()


def test_a_folder_that_is_no_crawl_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "thesis.txt").write_text("mine")
    assert crawl(tmp_path / "c", SEED) == 2
    assert "neither empty nor a crawl" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["thesis.txt"]


def test_settings_come_from_the_file_and_options_override_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A crawl of an address that is not public: it ends at once and says so."""
    config = tmp_path / "c.toml"
    config.write_text(
        'seeds = ["http://127.0.0.1:9/"]\ndelay = 0\nmax-depth = 3\n'
        'user_agent = "thing/1 (me)"\nworkers = 1\nfor = "20s"\n'
    )
    assert crawl(tmp_path / "c", "--config", config, "--max-depth", "7", "--json") == 1
    printed = capsys.readouterr()
    said = json.loads(printed.out)
    assert said["outcomes"] == {"refused_address": 1}
    assert "--allow-network" in printed.err
    settings = json.loads((tmp_path / "c" / "centime.json").read_text())["settings"]
    assert (settings["max-depth"], settings["user-agent"], settings["delay"]) == (7, "thing/1 (me)", 0)
    assert crawl(tmp_path / "c", "--ledger", "opic") == 2
    assert "cannot change after its start" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "value"), [("90", 90), ("90s", 90), ("10m", 600), ("1.5h", 5400), ("2d", 172_800)])
def test_times_have_units(text: str, value: float) -> None:
    assert seconds(text) == value


class _Answer(BaseHTTPRequestHandler):
    """Answers every request with a status that a test changes."""

    status = 200

    def do_GET(self) -> None:
        self.send_response(404 if self.path == "/robots.txt" else type(self).status)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *args: object) -> None: ...


class _Disallowing(_Answer):
    """Answers every request with rules that disallow one page."""

    def do_GET(self) -> None:
        said = b"User-agent: *\nDisallow: /no\n" if self.path == "/robots.txt" else b"<a href=/no>x</a>"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain" if self.path == "/robots.txt" else "text/html")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)


def test_a_crawl_counts_what_robots_txt_disallows_among_what_it_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Disallowing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        seed = f"http://127.0.0.1:{server.server_port}/"
        assert crawl(tmp_path / "c", seed, "--allow-network", "127.0.0.0/8", "--workers", "1", "--json") == 0
        server.shutdown()
    said = json.loads(capsys.readouterr().out)
    assert said["refused"] == {"robots": 1}
    assert "1 URL that pages link to was refused: 1 robots" in said["ended"]


def test_a_crawl_whose_pages_are_all_gone_now_has_read_pages_and_succeeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--allow-network", "127.0.0.0/8", "--workers", "1", "--delay", "0", "--json"]
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        seed = f"http://127.0.0.1:{server.server_port}/"
        assert crawl(tmp_path / "c", seed, "--scope", "page", "--pages", "1", *given) == 0
        _Answer.status = 404
        capsys.readouterr()
        assert crawl(tmp_path / "c", "--refresh-after", "1s", "--pages", "1", *given) == 0
        server.shutdown()
    said = capsys.readouterr()
    assert json.loads(said.out)["outcomes"] == {"read": 1, "gone": 1}
    assert "no page could be read" not in said.err


def test_rates_have_units() -> None:
    assert per_second("50/s") == 50
    assert per_second("120/m") == 2
    assert bytes_per_second("86.4MB/day") == 1000
    assert bytes_per_second("2KiB/s") == 2048
    with pytest.raises(BadSetting):
        bytes_per_second("2KB/fortnight")


def test_a_crawl_that_could_read_nothing_says_why_and_is_a_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as closed:  # bound and not listening: connections are refused
        closed.bind(("127.0.0.1", 0))
        seed = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        assert crawl(tmp_path / "c", seed, "--allow-network", "127.0.0.0/8", "--workers", "1", "--json") == 1
    assert f"centime: no page could be read: {seed}: no connection" in capsys.readouterr().err
