"""The documents say what is there, all of it, and nothing of the machine they were written on."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

import pytest
import typer.core
import typer.main
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from centime.cli import main
from centime.cli.main import app

PROJECT = Path(__file__).parents[1]
SOURCES = PROJECT / "src/centime"
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
PROGRAM: Any = typer.main.get_command(app)  # made once: it takes longer than to parse a command line


@dataclass(frozen=True)
class Command:
    """One command of the program: what one types for it, its help, its options."""

    name: str
    help: str
    options: tuple[str, ...]


def commands() -> Iterator[Command]:
    waiting = [("centime", PROGRAM)]
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
    """What stands under each heading of a document, up to the next heading."""
    parts = re.split(r"^##+ (.+)$", without_code(document.read_text()), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def without_code(text: str) -> str:
    """A document without its blocks of code, in which a comment looks like a heading."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as code hosting sites and the website make them."""
    headings = re.findall(r"^#+ (.+)$", without_code(document.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def shell_commands(lines: str) -> Iterator[list[str]]:
    """The simple commands of shell lines, without comments and redirections."""
    for line in lines.replace("\\\n", " ").splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        command: list[str] = []
        for word in [*words, ";"]:
            if word and set(word) <= set("();<>|&"):
                if command:
                    yield command
                command = ["redirected to"] if set(word) <= set("<>") else []
            else:
                command.append(word)


def typed_commands(document: Path) -> Iterator[list[str]]:
    """The shell commands that a document shows."""
    for block in re.findall(r"^```console\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL):
        yield from shell_commands("\n".join(re.findall(r"^\$ ((?:.*\\\n)*.*)$", block, re.MULTILINE)))


def parse(words: list[str]) -> None:
    """Parses a command line of the program as the program does, without running it; raises what is wrong with it."""
    if "--install-completion" in words or "--help" in words:
        return  # they act while they are parsed
    context = PROGRAM.make_context("centime", list(words))
    name, command, rest = PROGRAM.resolve_command(context, [*context._protected_args, *context.args])
    command.make_context(name, rest, parent=context)


@pytest.mark.parametrize("command", COMMANDS, ids=by_name)
def test_every_command_and_each_of_its_options_is_described(command: Command) -> None:
    described = sections(PROJECT / "docs/cli.md").get(command.name, "")
    assert [option for option in command.options if f"`{option}" not in described] == []


@pytest.mark.parametrize("command", COMMANDS, ids=by_name)
def test_every_command_shows_examples_in_its_help(command: Command) -> None:
    _, _, examples = command.help.partition("Examples:")
    assert command.name in examples


def test_the_command_line_document_has_the_groups_and_commands_of_help_in_their_order() -> None:
    headings = [heading for heading in sections(PROJECT / "docs/cli.md") if heading != "Shell completion"]
    expected = ["centime"]
    for folder, names in main.COMMANDS.items():
        expected += [main.HEADINGS[folder], *(f"centime {name}" for name in names)]
    assert headings == expected
    listed = re.findall(
        r"\[[a-z]+\]\(#centime-([a-z]+)\)", (PROJECT / "docs/cli.md").read_text().partition("All commands")[0]
    )
    assert listed == [name for names in main.COMMANDS.values() for name in names], "the table at its beginning"


@pytest.mark.parametrize("command", COMMANDS, ids=by_name)
def test_the_examples_in_help_are_valid(command: Command) -> None:
    _, _, examples = command.help.partition("Examples:")
    for words in shell_commands(examples.replace("\b", "")):
        if words[0] == "centime":
            parse(words[1:])


@pytest.mark.parametrize("document", DOCUMENTS, ids=by_name)
def test_the_commands_in_documents_are_valid(document: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    for words in typed_commands(document):
        if Path(words[0]).name == "centime":
            parse(words[1:])
        elif words[0] == "make":
            assert set(words[1:]) <= set(targets)


@pytest.mark.parametrize("document", DOCUMENTS, ids=by_name)
def test_commands_and_options_named_in_passing_exist(document: Path) -> None:
    options = {command.name: {*command.options, "-h"} for command in COMMANDS}
    for name, rest in re.findall(r"`centime(?: ([a-z]+))?((?: [^`]*)?)`", without_code(document.read_text())):
        command = f"centime {name}".strip()
        assert command in options
        assert set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest)) - options[command] - options["centime"] == set()


def test_every_make_target_is_explained() -> None:
    targets = re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    explained = (PROJECT / "README.md").read_text() + (PROJECT / "CONTRIBUTING.md").read_text()
    assert [target for target in targets if f"make {target}" not in explained] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=by_name)
def test_every_relative_link_leads_to_a_file_and_to_a_heading_of_it(document: Path) -> None:
    for link, anchor in re.findall(r"\]\(([^)\s#]*)#?([^)\s]*)\)", without_code(document.read_text())):
        if "://" not in link:
            target = document.parent / link if link else document
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), f"{link}#{anchor}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=by_name)
def test_every_example_in_python_runs_and_prints_what_stands_below_it(
    document: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for example, printed in re.findall(
        r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", document.read_text(), re.MULTILINE | re.DOTALL
    ):
        exec(example, {})
        said = capsys.readouterr().out
        assert not printed or said == printed


@pytest.mark.parametrize("document", DOCUMENTS, ids=by_name)
def test_prose_is_wrapped_at_100_columns(document: Path) -> None:
    prose = without_code(document.read_text()).splitlines()
    assert [line for line in prose if len(line) > 100 and not line.startswith(("|", "![", "["))] == []


def avoided_words() -> dict[str, str]:
    """The words that CONTRIBUTING.md lists as not used, each with what we write instead."""
    listed = sections(PROJECT / "CONTRIBUTING.md")["Words that we do not use"]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", listed, re.MULTILINE)[1:]  # without the heading
    return {words: instead for row, instead in rows for words in row.split(", ")}


AVOIDED = avoided_words()
AVOIDED_PATTERN = re.compile(r"\b(?:" + "|".join(AVOIDED).replace(" ", r"\s+") + r")\b", re.IGNORECASE)


def said_badly(text: str) -> list[str]:
    """The avoided words in a text, each with its place and what to write."""
    found = AVOIDED_PATTERN.finditer(text)
    words = [(" ".join(one[0].split()), text.count("\n", 0, one.start()) + 1) for one in found]
    return [f"line {line}: {word!r}; write: {AVOIDED[word.lower()]}" for word, line in words]


def test_the_list_of_words_is_read() -> None:
    assert said_badly("The server\nis\ntold twice.") == ["line 2: 'is told'; write: is notified, receives, is reported"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=by_name)
def test_documents_use_plain_words(document: Path) -> None:
    text = document.read_text()
    if document.name == "CONTRIBUTING.md":
        text = text.replace(sections(document)["Words that we do not use"], "")
    assert said_badly(re.sub(r"`[^`\n]*`", "", text)) == []


def test_docstrings_comments_and_messages_use_plain_words() -> None:
    """The whole text of each module counts, without the marks of comments, which may separate two words."""
    found = {}
    for path in SOURCES.rglob("*.py"):
        text = re.sub(r"^ *# ", "", path.read_text(), flags=re.MULTILINE)
        flat = " ".join(text.lower().split())
        if any(words in flat for words in AVOIDED):  # the expression takes far longer
            found[path.name] = said_badly(text)
    assert {name: words for name, words in found.items() if words} == {}


def test_help_texts_use_plain_words() -> None:
    assert said_badly((PROJECT / "docs/centime.1").read_text()) == []


def test_the_drawing_of_the_layers_is_the_contract() -> None:
    contract = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    drawing = re.search(
        r"^```text\n(cli .*?)^```$", (PROJECT / "ARCHITECTURE.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert drawing is not None
    drawn = [
        [folder for line in layer.splitlines() for folder in re.split(r" \| |  +", line.partition("   ")[0])]
        for layer in re.split(r"^-+\n", drawing[1], flags=re.MULTILINE)
    ]
    assert drawn == [re.findall(r"\w+", layer) for layer in contract["layers"]]


@pytest.mark.parametrize("document", DOCUMENTS, ids=by_name)
def test_every_module_that_a_document_names_by_its_path_exists(document: Path) -> None:
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", document.read_text())
    assert [path for path in named if not any((root / path).exists() for root in (PROJECT, SOURCES))] == []


def test_every_promise_names_a_test_that_exists() -> None:
    for document in (PROJECT / "SECURITY.md", PROJECT / "docs/robustness.md"):
        promises = re.findall(
            r"^\| promise \| proved by \|\n\|---\|---\|\n((?:\|.*\n)+)", document.read_text(), re.MULTILINE
        )
        assert len(promises) >= 4
        for row in "".join(promises).splitlines():
            tests = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", row.rpartition(" | ")[2])
            assert tests, row
            for file, name in tests:
                assert f"def {name}(" in (PROJECT / file).read_text(), f"{file}::{name}"


def test_the_architecture_describes_every_folder() -> None:
    described = (PROJECT / "ARCHITECTURE.md").read_text()
    folders = [path.name for path in SOURCES.iterdir() if (path / "__init__.py").exists()]
    assert [folder for folder in folders if f"| `{folder}/` |" not in described] == []


def test_no_file_names_a_place_of_one_machine() -> None:
    place = re.compile(rb"(?<![\w.])/(?:work|root|opt|home)/")
    assert [path for path in FILES if path.suffix != ".png" and place.search(path.read_bytes())] == []


@pytest.mark.parametrize("name", ["program.lock", "requirements.lock"])
def test_a_lock_pins_every_package_with_hashes_and_names_no_registry(name: str) -> None:
    lock = re.sub(r"^\s*#.*\n", "", (PROJECT / name).read_text(), flags=re.MULTILINE)
    entry = (
        r"[a-z0-9._-]+(?:\[[a-z0-9._,-]+\])?==[^\s;]+(?: ; [^\\\n]+)? \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+"
    )
    assert re.fullmatch(rf"\n*(?:{entry}\n*)+", lock)


def test_every_package_of_the_lock_works_with_the_oldest_python_that_the_readme_names() -> None:
    assert "Python 3.11 or newer" in (PROJECT / "README.md").read_text()
    names = _locked()
    needed = {name: str(metadata(name)["Requires-Python"] or "") for name in names if _is_installed(name)}
    assert len(needed) > 50
    assert {name: versions for name, versions in needed.items() if "3.11.0" not in SpecifierSet(versions)} == {}


def test_the_program_is_locked_to_the_versions_with_which_it_is_tested() -> None:
    pin = re.compile(r"^[a-z0-9._-]+(?:\[[^\]]+\])?==[^\s;]+", flags=re.MULTILINE)
    program, tested = (set(pin.findall((PROJECT / f"{name}.lock").read_text())) for name in ("program", "requirements"))
    assert program
    assert program <= tested


def test_what_a_package_needs_with_extras_is_locked_with_them() -> None:
    """Otherwise pip, told to require hashes, refuses the lock on the day on which a newer version comes out."""
    locked = _locked()
    lacking = []
    for name in filter(_is_installed, locked):
        for text in metadata(name).get_all("Requires-Dist") or ():
            need = Requirement(text)
            if need.extras and (need.marker is None or need.marker.evaluate({"extra": ""})):
                lacking += [text for extra in need.extras if extra not in locked.get(need.name, "")]
    assert lacking == []


def _locked() -> dict[str, str]:
    """The packages of the lock, each with its extras."""
    found = re.findall(
        r"^([a-z0-9._-]+)(?:\[([^\]]+)\])?==", (PROJECT / "requirements.lock").read_text(), flags=re.MULTILINE
    )
    return dict(found)


def _is_installed(name: str) -> bool:
    """Whether a package is here: some are only for other systems or versions of Python."""
    try:
        metadata(name)
    except PackageNotFoundError:
        return False
    return True
