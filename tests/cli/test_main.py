import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from centime.cli.main import COMMANDS, HEADINGS, app
from centime.cli.man import manual

PROJECT = Path(__file__).parents[2]
VERSION = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
HEAVY = {"httptools", "matplotlib", "numba", "numpy", "pyarrow", "scipy"}
NAMES = [name for names in COMMANDS.values() for name in names]


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def centime(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "centime", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def help_of(*arguments: str) -> str:
    """What a terminal of 80 columns shows."""
    return CliRunner().invoke(app, arguments, prog_name="centime", terminal_width=80).output


def completions(shell: str, words: str) -> str:
    """What a shell is offered at the end of a line."""
    line = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")), "_TYPER_COMPLETE_ARGS": words}
    action = {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    return centime(_CENTIME_COMPLETE=f"complete_{shell}", **line, **action).stdout


def test_the_version_is_that_of_the_project() -> None:
    assert centime("--version").stdout == f"centime {VERSION}\n"


def test_the_command_alone_shows_its_help() -> None:
    alone = centime()
    assert alone.stdout == centime("--help").stdout
    assert alone.returncode == 0


def test_a_command_that_does_not_exist_is_wrong_usage() -> None:
    ended = centime("fly")
    assert (ended.returncode, ended.stdout, ended.stderr) == (
        2,
        "",
        "centime: No such command 'fly'; see centime --help\n",
    )


def test_help_and_version_load_nothing_heavy() -> None:
    lines = [["--help"], ["--version"], *([name, "--help"] for name in NAMES)]
    code = f"""
import json, sys
from centime.cli.ending import run
from centime.cli.main import app
for arguments in {lines!r}:
    run(app, arguments)
print()
print(json.dumps(sorted(sys.modules)))
"""
    loaded = set(json.loads(python(code).splitlines()[-1]))
    assert not (HEAVY | {"rich"}) & loaded


def test_completion_loads_nothing_heavy() -> None:
    code = """
import atexit, json, os, sys
os.environ.update(_CENTIME_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="centime top --")
atexit.register(lambda: print(json.dumps(sorted(sys.modules))))
from centime.cli.main import main
main()
"""
    *offered, modules = python(code).splitlines()
    assert "--count" in "".join(offered)
    assert not HEAVY & set(json.loads(modules))


def test_help_shows_every_command_under_the_heading_of_its_folder() -> None:
    _, *groups = re.split(r"^(\S.*):$", help_of("--help").partition("--help ")[2], flags=re.MULTILINE)
    shown = {
        heading: tuple(re.findall(r"^  ([a-z]+) ", text, re.MULTILINE))
        for heading, text in zip(groups[::2], groups[1::2], strict=True)
    }
    assert shown == {HEADINGS[folder]: names for folder, names in COMMANDS.items()}


def test_the_line_of_a_command_is_short_and_a_whole_sentence() -> None:
    lines = {command.name: command.short_help or "" for command in app.registered_commands}
    assert [name for name, line in lines.items() if not 0 < len(line) < 60] == []
    assert [name for name, line in lines.items() if not re.match(r"[A-Z][a-z]+s ", line)] == []  # Shows, Lists ...
    shown = help_of("--help").splitlines()
    assert [name for name, line in lines.items() if f"  {name:11}  {line}" not in shown] == []


def test_every_module_that_registers_a_command_is_in_the_list_of_its_folder() -> None:
    modules = {
        folder: {
            path.stem.removesuffix("_")  # of a name that is a word of Python
            for path in (PROJECT / "src/centime/cli" / folder).glob("*.py")
            if "def register(" in path.read_text()
        }
        for folder in HEADINGS
    }
    assert modules == {folder: set(names) for folder, names in COMMANDS.items()}


@pytest.mark.parametrize("name", ["", *NAMES])
def test_the_short_form_of_help_shows_the_same_help(name: str) -> None:
    shown = help_of(*name.split(), "-h")
    assert shown == help_of(*name.split(), "--help")
    assert shown.startswith(f"Usage: centime {name}")


@pytest.mark.parametrize("name", ["", *NAMES])
def test_no_help_is_cut_or_wider_than_80_columns(name: str) -> None:
    lines = help_of(*name.split(), "--help").splitlines()
    examples = {line for line in lines if line.startswith("    centime ")}  # to be copied, so never wrapped
    assert [line for line in lines if len(line) > 80 and line not in examples] == []
    assert [line for line in lines if line.endswith("...") and not line.startswith("Usage:")] == []


@pytest.mark.parametrize(("shell", "offered"), [("bash", "top\n"), ("zsh", '"top":"Shows '), ("fish", "top\tShows ")])
def test_a_shell_completes_commands(shell: str, offered: str) -> None:
    assert offered in completions(shell, "centime to")


def test_a_shell_completes_options() -> None:
    assert completions("bash", "centime top --co") == "--count\n"


def test_completion_is_installed_for_the_shell_that_asks_for_it(tmp_path: Path) -> None:
    script = f"'{sys.executable}' -m centime --install-completion && echo"  # not the last command: bash must stay
    subprocess.run(["bash", "-c", script], env={**os.environ, "HOME": str(tmp_path)}, check=True, capture_output=True)
    installed = tmp_path / ".bash_completions/centime.sh"
    assert "complete -o default -F _centime_completion centime" in installed.read_text()
    assert f"source '{installed}'" in (tmp_path / ".bashrc").read_text()


def test_importing_the_package_loads_nothing_heavy_and_names_are_loaded_when_used() -> None:
    code = """
import json, sys
import centime
before = sorted(sys.modules)
centime.Graph
print(json.dumps([before, centime.Graph.__name__, sorted(set(centime.__all__) - set(dir(centime)))]))
"""
    before, name, missing = json.loads(python(code))
    assert not HEAVY & set(before)
    assert (name, missing) == ("Graph", [])


def test_a_name_that_the_package_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Money'"):
        _ = importlib.import_module("centime").Money


def test_every_public_name_of_the_package_can_be_imported() -> None:
    python("from centime import *")


def test_the_manual_page_is_that_of_the_help_texts() -> None:
    committed = (Path(__file__).parents[2] / "docs/centime.1").read_text()
    assert committed == manual(), "run: .venv/bin/python -m centime.cli.man > docs/centime.1"
