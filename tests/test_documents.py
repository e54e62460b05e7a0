"""The documents say what is there, all of it, and nothing of the machine they were written on."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer.core
import typer.main

from centime.cli.main import app

PROJECT = Path(__file__).parents[1]
GENERATED = {
    PROJECT / name
    for name in [".git", *re.findall(r"^/([^/\n]+)/?$", (PROJECT / ".gitignore").read_text(), re.MULTILINE)]
}


def files(folder: Path) -> Iterator[Path]:
    """The files of the project that are written by people."""
    for path in sorted(folder.iterdir()):
        if path in GENERATED or path.name == "__pycache__" or path.suffix == ".egg-info":
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


FILES = list(files(PROJECT))
DOCUMENTS = [path for path in FILES if path.suffix == ".md"]


@dataclass(frozen=True)
class Command:
    """One command of the program: what one types for it, its help, its options."""

    name: str
    help: str
    options: tuple[str, ...]


def commands() -> Iterator[Command]:
    waiting = [("centime", typer.main.get_command(app))]
    while waiting:
        name, command = waiting.pop()
        options = [
            option for parameter in command.params if parameter.param_type_name == "option" for option in parameter.opts
        ]
        yield Command(name, command.help or "", ("--help", *options))
        if isinstance(command, typer.core.TyperGroup):
            waiting.extend((f"{name} {part}", inner) for part, inner in command.commands.items())


COMMANDS = list(commands())


def by_name(thing: Path | Command) -> str:
    return thing.name


def sections(document: Path) -> dict[str, str]:
    """What stands under each second heading of a document."""
    parts = re.split(r"^## (.+)$", document.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("command", COMMANDS, ids=by_name)
def test_every_command_and_each_of_its_options_is_described(command: Command) -> None:
    described = sections(PROJECT / "docs/cli.md").get(command.name, "")
    assert [option for option in command.options if f"`{option}" not in described] == []


@pytest.mark.parametrize("command", COMMANDS, ids=by_name)
def test_every_command_shows_examples_in_its_help(command: Command) -> None:
    _, _, examples = command.help.partition("Examples:")
    assert command.name in examples


def test_the_command_line_document_describes_no_command_that_is_gone() -> None:
    assert set(sections(PROJECT / "docs/cli.md")) == {command.name for command in COMMANDS}


def test_every_make_target_is_explained() -> None:
    targets = re.findall(r"^([a-z]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    explained = (PROJECT / "README.md").read_text() + (PROJECT / "CONTRIBUTING.md").read_text()
    assert [target for target in targets if f"make {target}" not in explained] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=by_name)
def test_every_relative_link_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)\s#]+)[^)]*\)", document.read_text())
    assert [link for link in links if "://" not in link and not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=by_name)
def test_every_example_prints_what_stands_below_it(document: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for example, printed in re.findall(
        r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL
    ):
        exec(example, {})
        assert capsys.readouterr().out == printed


def test_no_file_names_a_place_of_one_machine() -> None:
    place = re.compile(rb"(?<![\w.])/(?:work|root|opt|home)/")
    assert [path for path in FILES if path.suffix != ".png" and place.search(path.read_bytes())] == []


def test_the_lock_pins_every_package_with_hashes_and_names_no_registry() -> None:
    lock = re.sub(r"^\s*#.*\n", "", (PROJECT / "requirements.lock").read_text(), flags=re.MULTILINE)
    entry = r"[a-z0-9._-]+==[^\s;]+(?: ; [^\\\n]+)? \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+"
    assert re.fullmatch(rf"\n*(?:{entry}\n*)+", lock)
