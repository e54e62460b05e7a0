"""Nothing that a server, a file or a name contains can control the terminal of whoever looks at it."""

import ast
import json
import os
import pty
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import centime.cli
from centime.cli import main
from centime.cli.ending import run
from centime.cli.output import json_text
from centime.cli.visible import say_traceback, tell_bytes, visible, visible_lines
from tests.cli.hostile_texts import EVIL, hostile_site

UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@given(st.text(st.characters(exclude_categories=[])))
def test_text_is_visible_in_one_line_and_the_rest_of_it_stays(text: str) -> None:
    shown = visible(text)
    assert not UNSAFE.search(shown)
    assert not {"\n", "\t"} & set(shown)
    assert visible(shown) == shown
    assert not UNSAFE.search(visible_lines(text))
    assert visible_lines(text).count("\n") == text.count("\n")
    if text.isascii() and text.isprintable():
        assert shown == text


@given(st.dictionaries(st.text(), st.text(st.characters(exclude_categories=[]))))
def test_json_is_exact_and_has_no_control_characters(report: dict[str, object]) -> None:
    text = json_text(report)
    assert not UNSAFE.search(text)
    assert json.loads(text) == report


def test_a_body_is_exact_in_a_pipe_and_text_on_a_terminal(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    tell_bytes(b"a\x1b\xff\r\n\tb")
    assert capfdbinary.readouterr().out == b"a\x1b\xff\r\n\tb"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    tell_bytes(b"a\x1b\xff\r\n\tb")
    assert capfdbinary.readouterr().out == "a\\x1b\ufffd\\r\n\tb\n".encode()


def test_a_traceback_is_visible_too(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError(EVIL)
    except ValueError as error:
        say_traceback(type(error), error, error.__traceback__)
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert not UNSAFE.search(said)


def test_only_one_module_writes_to_the_terminal() -> None:
    owners = {"visible.py", "output.py", "progress.py", "view.py", "changes.py"}
    package = Path(centime.cli.__file__).parent
    for path in package.rglob("*.py"):
        used = {ast.unparse(call.func) for call in ast.walk(ast.parse(path.read_text())) if isinstance(call, ast.Call)}
        writing = {
            name for name in used if re.search(r"(^print|echo|secho|Console|std(out|err)(\.buffer)?\.write.*)$", name)
        }
        assert not writing or path.name in owners, f"{path}: {writing}"


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The folder of a crawl of a server that sends control characters wherever it can, and its first page."""
    with hostile_site() as url:
        folder = tmp_path_factory.mktemp("hostile") / f"crawl{EVIL.replace('/', '')}"
        command = ["crawl", folder, url, "--allow-network", "127.0.0.0/8", "--delay", "0", "--keep", "all"]
        command += ["--workers", "1", "--pages", "20", "--user-agent", "name"]
        assert run(main.app, list(map(str, command))) == 0
        yield folder, url


def looked(seen: tuple[Path, str], tmp_path: Path) -> list[list[str]]:
    """Every command that shows something of a crawl or of a graph."""
    folder, url = str(seen[0]), seen[1]
    names = tmp_path / f"links{EVIL.replace('/', '')}.csv"
    names.write_text(
        "".join(f"{EVIL}{a},{EVIL}{b}\n" for a, b in [("a", "b"), ("b", "c"), ("c", "a"), ("c", "b")]),
        errors="surrogatepass",
    )
    graph = str(names)
    page = f"{url}page"
    return [
        ["page", folder, url],
        ["page", folder, page],
        ["page", folder, f"{url}error"],
        ["page", folder, f"{url}moved"],
        ["page", folder, f"{url}{EVIL}"],
        ["bodies", folder, page, "--list"],
        ["bodies", folder, f"{url}nothing{EVIL}"],
        ["text", folder, page],
        ["versions", folder, page],
        ["diff", folder, page, "--from", "1", "--to", "1"],
        ["diff", folder, page, "--from", "1", "--to", "1", "--html"],
        ["top", folder],
        ["top", folder, "--by", "errors"],
        ["hosts", folder],
        ["stats", folder],
        ["check", folder],
        ["repair", folder, "--dry-run"],
        ["changes", folder],
        ["changes", folder, "--atom"],
        ["subscribe", folder, "page", "--name", f"name{EVIL}", "--to", f"file:{tmp_path}/{EVIL}"],
        ["subscribe", folder, "--list"],
        ["publish", folder, f"{page}?{EVIL}", "--publisher", EVIL],
        ["plan", folder],
        ["set", folder, EVIL],
        ["crawl", folder, "--pages", "1", "--trust-folder"],
        ["crawl", folder, "--rate", EVIL],
        ["rank", graph],
        ["rank", folder],
        ["explain", graph, f"{EVIL}a"],
        ["explain", graph, f"{EVIL}nobody"],
        ["energy", graph],
        ["sensitivity", graph],
        ["promotion", graph],
        ["convert", graph, str(tmp_path / f"other{EVIL.replace('/', '')}.npz")],
        ["rank", str(tmp_path / f"missing{EVIL.replace('/', '')}.csv")],
        [EVIL],
        ["top", f"--{EVIL}"],
    ]


def test_no_command_shows_a_control_character_of_a_server_a_file_or_a_name(
    seen: tuple[Path, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shown = ""
    for command in looked(seen, tmp_path):
        for more in ([], ["--json"]) if command[0] in ("page", "bodies", "top", "changes", "explain") else ([],):
            run(main.app, [*command, *more])
            out, err = capfd.readouterr()
            assert not UNSAFE.search(out), command
            assert not UNSAFE.search(err), command
            assert "internal error" not in err, command
            shown += out
    assert r"\x1b]0;evil" in shown  # the texts were there
    assert r"\u202e" in shown


def test_a_terminal_gets_no_control_character_but_our_own(seen: tuple[Path, str], tmp_path: Path) -> None:
    commands = looked(seen, tmp_path)
    child, terminal = pty.fork()
    if not child:
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        for command in commands:
            run(main.app, command)
            sys.stdout.flush()
        os._exit(0)
    data = b""
    try:
        while piece := os.read(terminal, 1 << 16):
            data += piece
    except OSError:  # so ends a terminal
        pass
    assert os.waitpid(child, 0)[1] == 0
    os.close(terminal)
    ours = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")  # colours and the cursor of progress bars
    text = ours.sub("", data.decode()).replace("\r", "")
    assert r"\x1b]0;evil" in text
    assert not UNSAFE.search(text), UNSAFE.search(text)
    assert "\x1b[31m" not in data.decode()
