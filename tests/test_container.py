"""The Dockerfile, as far as it can be checked without Docker: what it copies is there, what it runs is what works."""

import json
import re
import shlex
import tomllib
from pathlib import Path

from packaging.specifiers import SpecifierSet

from tests.test_documents import parse

PROJECT = Path(__file__).parents[1]
STEPS = [
    (words[0], words[1].strip())
    for line in re.sub(r"\\\n", " ", (PROJECT / "Dockerfile").read_text()).splitlines()
    if line.strip() and not line.startswith("#") and (words := line.split(None, 1))
]
DESCRIPTION = tomllib.loads((PROJECT / "pyproject.toml").read_text())


def steps(name: str) -> list[str]:
    return [rest for step, rest in STEPS if step == name]


def copied() -> dict[str, str]:
    """Where each file or folder of the project is in the image."""
    found = {}
    for rest in steps("COPY"):
        *sources, place = shlex.split(rest)
        for source in sources:
            found[source] = place + source if place.endswith("/") else place
    return found


def runs() -> list[list[str]]:
    return [shlex.split(command) for rest in steps("RUN") for command in rest.split("&&")]


def test_everything_that_is_copied_exists_and_everything_that_the_build_needs_is_copied() -> None:
    assert all((PROJECT / source).exists() for source in copied())
    project = DESCRIPTION["project"]
    needed = {"pyproject.toml", "src", project["readme"], *project["license-files"]}
    assert needed <= copied().keys()
    assert {copied()[name] for name in needed} == {f"/src/{name}" for name in needed}


def test_nothing_that_is_copied_is_left_out_of_the_context() -> None:
    lines = (PROJECT / ".dockerignore").read_text().split()
    assert lines[0] == "*"
    assert {line.removeprefix("!") for line in lines if line.startswith("!")} == copied().keys()


def test_packages_come_from_the_lock_with_hashes_and_the_program_adds_none() -> None:
    installs = [words for words in runs() if words[1:4] == ["-m", "pip", "install"]]
    locked, own = installs
    assert "--require-hashes" in locked
    assert locked[locked.index("-r") + 1] == copied()["program.lock"]
    assert {"--no-deps", "--no-build-isolation"} <= set(own)
    assert own[-1] == "/src"
    backend = re.match(r"[\w-]+", DESCRIPTION["build-system"]["requires"][0])
    assert backend is not None
    assert re.search(rf"^{backend[0]}==", (PROJECT / "program.lock").read_text(), re.MULTILINE), (
        "it builds without network"
    )
    (image,) = steps("FROM")
    version = re.fullmatch(r"python:([\d.]+)-slim", image)
    assert version is not None
    assert SpecifierSet(DESCRIPTION["project"]["requires-python"]).contains(f"{version[1]}.0")


def test_it_runs_as_a_user_with_one_volume_that_the_user_owns_and_stops_in_good_order() -> None:
    (user,) = steps("USER")
    assert user not in ("root", "0")
    (volume,) = steps("VOLUME")
    assert steps("WORKDIR") == [volume]
    assert ["chown", user, volume] in runs()
    assert ["useradd", "--create-home", user] in runs()
    names = [name for name, _ in STEPS]
    assert names.index("USER") < names.index("VOLUME"), "a change of the volume after it is lost"
    assert steps("STOPSIGNAL") == ["SIGINT"]
    assert all(path.startswith(volume) for path in re.findall(r"=(/\S+)", " ".join(steps("ENV"))))


def test_what_it_runs_are_commands_of_the_program() -> None:
    assert json.loads(steps("ENTRYPOINT")[0]) == ["centime"]
    parse(json.loads(steps("CMD")[0]))
    (demo,) = (words for words in runs() if words[0] == "centime")
    parse(demo[1:])
