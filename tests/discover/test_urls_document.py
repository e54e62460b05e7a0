"""The tables of docs/urls.md say what the code does."""

import re
from pathlib import Path

import pytest

from centime.discover.canonical import canonical
from centime.discover.exact import exact
from centime.discover.scope import Scope
from centime.discover.suffixes import SUFFIXES, suffix_of
from centime.discover.traps import Traps

TEXT = (Path(__file__).parents[2] / "docs" / "urls.md").read_text(encoding="utf-8")


def table(heading: str) -> list[list[str]]:
    """The rows of the table under a heading, code marks taken off."""
    section = TEXT.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


@pytest.mark.parametrize(("written", "expected"), table("Canonical form"))
def test_canonical_forms_are_as_documented(written: str, expected: str) -> None:
    assert (canonical(written, "https://example.org/a/b.html") or "none") == expected


@pytest.mark.parametrize(("kind", "seed", "url", "expected"), table("Scope"))
def test_scopes_are_as_documented(kind: str, seed: str, url: str, expected: str) -> None:
    assert Scope.of([seed], kind=kind).admits(url) == (expected == "yes")


@pytest.mark.parametrize(("path", "expected"), table("Suffixes"))
def test_suffixes_are_as_documented(path: str, expected: str) -> None:
    assert (suffix_of(f"https://example.org{path}") not in SUFFIXES) == (expected == "yes")


@pytest.mark.parametrize(("written", "expected"), table("Requisites"))
def test_exact_urls_of_requisites_are_as_documented(written: str, expected: str) -> None:
    assert (exact(written, "https://example.org/a/b.html") or "none") == expected


@pytest.mark.parametrize(("url", "expected"), table("Traps"))
def test_traps_are_as_documented(url: str, expected: str) -> None:
    found = Traps().suspect(url)
    assert bool(found and not found.kind.by_number) == (expected == "yes")


def test_no_table_is_empty() -> None:
    assert [len(table(heading)) > 5 for heading in ("Canonical form", "Scope", "Suffixes", "Traps")] == [True] * 4
