"""Builds what people install, and installs it as they do: `make package`, or python -m bench.package.

The wheel and the source distribution are built in build/package from this tree, checked by twine, and installed one
after the other into a clean environment with the versions of program.lock. There the program says its version, ranks a
graph from standard input, and has its manual page.
"""

import subprocess
import sys
import venv
from pathlib import Path

PROJECT = Path(__file__).parent.parent
PLACE = PROJECT / "build" / "package"
LINKS = "home,news\nnews,home\nabout,home\n"


def run(*command: str | Path, given: str | None = None) -> str:
    """What a command writes; it ends the whole run if it fails."""
    done = subprocess.run(command, cwd=PLACE, input=given, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def build() -> list[Path]:
    """The distributions, built anew."""
    PLACE.mkdir(parents=True, exist_ok=True)
    for old in [*PLACE.glob("*.whl"), *PLACE.glob("*.tar.gz")]:
        old.unlink()
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", PLACE, PROJECT)
    made = sorted([*PLACE.glob("*.whl"), *PLACE.glob("*.tar.gz")])
    print(run(sys.executable, "-m", "twine", "check", "--strict", *made).strip())
    return made


def try_out(distribution: Path) -> None:
    """Installs a distribution into a clean environment and runs the program."""
    environment = PLACE / "environment"
    venv.create(environment, clear=True, with_pip=True)
    python, program = environment / "bin/python", environment / "bin/centime"
    quiet = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(python, *quiet, "--require-hashes", "-r", PROJECT / "program.lock")
    run(python, *quiet, "--no-deps", "--no-build-isolation", distribution)
    run(python, "-m", "pip", "check")
    links = PLACE / "links.csv"
    links.write_text(LINKS)
    said = run(program, "--version").strip()
    best = run(program, "rank", links, "--top", "1", "--csv").splitlines()
    assert "home" in best[1], best
    page = environment / "share/man/man1/centime.1"
    assert page.read_bytes() == (PROJECT / "docs/centime.1").read_bytes(), page
    size = sum(file.stat().st_size for file in environment.rglob("*") if file.is_file() and not file.is_symlink())
    print(f"{distribution.name}: {distribution.stat().st_size / 1e6:.2f} MB; {said}; environment {size / 1e6:.0f} MB")


def main() -> None:
    """Builds and tries all distributions."""
    for distribution in build():
        try_out(distribution)


if __name__ == "__main__":
    main()
