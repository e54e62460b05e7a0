import importlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
VERSION = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
HEAVY = {"matplotlib", "numba", "numpy", "scipy"}


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def centime(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "centime", *arguments], capture_output=True, text=True, check=False)


def test_the_version_is_that_of_the_project() -> None:
    assert centime("--version").stdout == f"centime {VERSION}\n"


def test_the_command_alone_shows_its_help() -> None:
    assert centime().stdout == centime("--help").stdout
    assert centime().returncode == 0


def test_a_command_that_does_not_exist_is_wrong_usage() -> None:
    ended = centime("fly")
    assert (ended.returncode, ended.stdout, ended.stderr) == (
        2,
        "",
        "centime: No such command 'fly'; see centime --help\n",
    )


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["lab", "--help"]])
def test_help_and_version_load_nothing_heavy(arguments: list[str]) -> None:
    code = f"""
import json, sys
from centime.cli.ending import run
from centime.cli.main import app
run(app, {arguments!r})
print()
print(json.dumps(sorted(sys.modules)))
"""
    loaded = set(json.loads(python(code).splitlines()[-1]))
    assert not HEAVY & loaded


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
