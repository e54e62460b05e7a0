import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import pytest
import typer

from centime.cli.ending import run
from centime.model.errors import BadSetting, CentimeError, DamagedFile


def ended(action: Callable[[], object], *arguments: str) -> int:
    """The exit code of a program with `--debug` and one command, `do [--pages N]`, that does the action."""
    app = typer.Typer(add_completion=False)

    @app.callback()
    def program(debug: bool = False) -> None: ...

    @app.command("do")
    def command(pages: Annotated[int, typer.Option(min=1)] = 1) -> None:
        action()

    return run(app, arguments or ["do"])


def raising(error: BaseException) -> Callable[[], object]:
    def action() -> None:
        raise error

    return action


def test_a_command_that_is_done_ends_with_0_and_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert ended(lambda: None) == 0
    assert capfd.readouterr() == ("", "")


def test_a_command_may_choose_its_exit_code(capfd: pytest.CaptureFixture[str]) -> None:
    assert ended(raising(typer.Exit(1))) == 1
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (BadSetting("damping must be below 1, not 2"), 2, "damping must be below 1, not 2"),
        (DamagedFile("a.ledger: wrong checksum"), 1, "a.ledger: wrong checksum"),
        (FileNotFoundError(2, "No such file or directory", "a.txt"), 1, "a.txt: No such file or directory"),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
        (OSError("nothing answers"), 1, "nothing answers"),
        (
            ZeroDivisionError("by zero"),
            1,
            "internal error: ZeroDivisionError: by zero (centime --debug ... shows the traceback)",
        ),
        (KeyboardInterrupt(), 130, "stopped"),
    ],
)
def test_an_error_is_one_sentence_on_standard_error_and_an_exit_code(
    error: BaseException, code: int, sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ended(raising(error)) == code
    assert capfd.readouterr() == ("", f"centime: {sentence}\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fly"], "No such command 'fly'; see centime --help"),
        (["do", "--shards", "2"], "No such option: --shards; see centime do --help"),
        (
            ["do", "--pages", "0"],
            "Invalid value for '--pages': 0 is not in the range x>=1; see centime do --help",
        ),
    ],
)
def test_wrong_usage_ends_with_2_and_names_the_help(
    arguments: list[str], sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ended(lambda: None, *arguments) == 2
    assert capfd.readouterr() == ("", f"centime: {sentence}\n")


@pytest.mark.parametrize("error", [CentimeError("ours"), ZeroDivisionError("not ours")])
def test_debug_lets_the_error_through_with_its_traceback(error: Exception) -> None:
    with pytest.raises(type(error), match="ours"):
        ended(raising(error), "--debug", "do")


def test_a_file_that_is_missing_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "none"
    assert ended(missing.read_bytes) == 1
    assert capfd.readouterr().err == f"centime: {missing}: No such file or directory\n"


@pytest.mark.parametrize(("package", "extra"), [("pyarrow", "arrow"), ("matplotlib", "plots")])
def test_a_missing_extra_is_named(package: str, extra: str, tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text("a,b\nb,a\n")
    command = {
        "pyarrow": ["rank", "links.csv", "-o", "scores.parquet"],
        "matplotlib": ["energy", "links.csv", "--by", "site", "--figure", "flow.png"],
    }[package]
    code = f"import sys; sys.modules[{package!r}] = None; from centime.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert f"pip install 'centime[{extra}]'" in done.stderr


def test_commands_that_need_no_extra_work_without_any(tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text("a,b\nb,a\nb,c\n")
    commands = [
        ["rank", "links.csv", "--json"],
        ["explain", "links.csv", "a", "--json"],
        ["convert", "links.csv", "links.npz"],
    ]
    code = (
        "import sys; sys.modules['pyarrow'] = sys.modules['matplotlib'] = None; "
        "from centime.cli.ending import run; from centime.cli.main import app; "
        f"sys.exit(any([run(app, command) for command in {commands}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "links.npz").exists()


def test_a_person_at_a_terminal_is_told_once_that_kernels_are_compiled(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = logging.getLogger("centime.compiling")

    def compiling() -> None:
        log.info("compiling one")
        log.info("compiling another")

    assert ended(compiling) == 0
    assert capsys.readouterr().err == ""  # nobody is there
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    try:
        assert ended(compiling) == 0
    finally:
        log.handlers.clear()
    assert capsys.readouterr().err.count("compiling what this command needs, once") == 1


LONG = """
from centime.cli import main
from centime.cli.output import Json, show

@main.app.command("long")
def long(as_json: Json = False) -> None:
    show({"rows": [{"number": number} for number in range(2000)]}, as_json=as_json)

main.main()
"""


def test_a_command_whose_output_nobody_reads_ends_with_141_and_says_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-c", LONG, "long"]
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(
    ("streams", "code", "said"),
    [("<&- >&-", 0, b""), (">/dev/full", 1, b"centime: No space left on device\n")],
)
def test_standard_streams_may_be_closed_or_full(streams: str, code: int, said: bytes) -> None:
    command = f'"$0" -c "$1" long {streams}'
    done = subprocess.run(["sh", "-c", command, sys.executable, LONG], stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (code, said)
