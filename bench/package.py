"""Builds what people install, and installs it as they do: `make package`, or python -m bench.package.

The wheel and the source distribution are built in build/package from this tree, checked by twine, and installed one
after the other into a clean environment with the versions of program.lock. There the program says its version, ranks a
graph, and has its manual page. The wheel is also installed as people do, with its extras and the newest versions of
everything that its metadata allow: there all modules are imported, and a simulated web is crawled and searched.
"""

import shutil
import subprocess
import sys
import venv
from pathlib import Path

PROJECT = Path(__file__).parent.parent
PLACE = PROJECT / "build" / "package"
NEWEST = """
import importlib, pkgutil, centime
from centime.testing import webbox
for module in pkgutil.walk_packages(centime.__path__, "centime."):
    if not module.name.endswith(("__main__", "testing.fixtures")):  # the latter is for those who have pytest
        importlib.import_module(module.name)
with webbox(pages=30) as web, centime.Crawl("newest", web.seed_url, keep="all", **web.settings) as crawl:
    crawl.run()
with centime.open_crawl("newest") as crawl:
    crawl.update_index()
    assert crawl.search("honey", most=1) and not crawl.check(), crawl.check()
    print(len(crawl.pages), "pages crawled and searched")
"""
INSTALL = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
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
    environment = clean_environment()
    python, program = environment / "bin/python", environment / "bin/centime"
    run(python, *INSTALL, "--require-hashes", "-r", PROJECT / "program.lock")
    run(python, *INSTALL, "--no-deps", "--no-build-isolation", distribution)
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


def try_newest(wheel: Path) -> None:
    """Installs the wheel with its extras and the newest of what they need, and uses it."""
    python = clean_environment() / "bin/python"
    run(python, *INSTALL, f"{wheel}[all]")
    shutil.rmtree(PLACE / "newest", ignore_errors=True)
    print(f"{wheel.name} with the newest versions: {run(python, '-c', NEWEST).splitlines()[-1]}")


def clean_environment() -> Path:
    """A new environment with pip alone."""
    environment = PLACE / "environment"
    venv.create(environment, clear=True, with_pip=True)
    return environment


def main() -> None:
    """Builds and tries all distributions."""
    made = build()
    for distribution in made:
        try_out(distribution)
    try_newest(next(one for one in made if one.suffix == ".whl"))


if __name__ == "__main__":
    main()
