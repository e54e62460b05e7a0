"""XML catalogs (OASIS XML Catalogs 1.1): files on this machine that replace the DTDs and entities of documents.

    public, system                      an identifier is a file
    rewriteSystem, systemSuffix         all identifiers that begin, or end, like this
    delegatePublic, delegateSystem      other catalogs for identifiers that begin like this
    nextCatalog, group                  further catalogs, and entries

The catalogs are read here, with a parser that loads nothing: libxml2's own catalogs would read files that a document
names. A document chooses among the files that catalogs of this machine list, and no others: a rewritten identifier
never leaves the folder to which it is rewritten, nor a relative one the folder of the file that names it.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from lxml import etree

from centime.model.errors import BadInput

USUAL = Path("/etc/xml/catalog")  # that of Debian, which names those of its packages
MOST_CATALOGS = 256
MOST_BYTES = 16 << 20  # of a catalog, and of a part
_NAMESPACE = "{urn:oasis:names:tc:entity:xmlns:xml:catalog}"
_BASE = "{http://www.w3.org/XML/1998/namespace}base"

Entry = tuple[str, str, str]  # the kind of an entry, its identifier, and the URL that it names


class XmlCatalogs:
    """Some catalogs, read when they are first needed."""

    def __init__(self, files: Iterable[Path] = ()) -> None:
        self._files = [*files]
        self._read: dict[str, list[Entry]] = {}
        self._folders: dict[str, Path] = {}  # by the folder of a URL, that of the file which was its answer

    def check(self) -> None:
        """Raises BadInput if one of the catalogs that a person named cannot be read."""
        for path in self._files:
            try:
                _entries(path)
            except (OSError, etree.LxmlError) as trouble:
                raise BadInput(f"{path}: this is not an XML catalog: {trouble}") from trouble

    def part(self, system: str, public: str = "") -> bytes | None:
        """The content of the file for an identifier; None if there is none."""
        path = self.find(system, public)
        if path is None:
            return None
        try:
            with path.open("rb") as file:
                found = file.read(MOST_BYTES + 1)
        except OSError:
            return None
        self._folders[urljoin(system, ".")] = path.parent
        return found if len(found) <= MOST_BYTES else None

    def find(self, system: str, public: str = "") -> Path | None:
        """The file for an identifier; None if there is none."""
        public = " ".join(public.split())
        usual = [USUAL] if USUAL.exists() else []
        for path in (*self._files, *usual):
            found = self._in(str(path), system, public, set())
            if found is not None and found.is_file():
                return found
        return self._beside(system)

    def _beside(self, system: str) -> Path | None:
        """The file of a part that is named relative to another part, beside that one's file."""
        for folder, place in self._folders.items():
            if folder and system.startswith(folder):
                path = _below(place, system[len(folder) :])
                if path is not None and path.is_file():
                    return path
        return None

    def _in(self, catalog: str, system: str, public: str, seen: set[str]) -> Path | None:
        if catalog in seen or len(seen) >= MOST_CATALOGS:
            return None
        seen.add(catalog)
        entries = self._entries_of(catalog)
        for kind, given, url in entries:
            if (kind == "system" and given == system) or (kind == "public" and public and given == public):
                return _file(url)
        if found := _longest(entries, "rewriteSystem", system):
            return _below(_file(found[2]), system[len(found[1]) :])
        if found := _longest(entries, "systemSuffix", system):
            return _file(found[2])
        for kind, given, url in sorted(entries, key=lambda entry: -len(entry[1])):
            delegated = kind == "delegateSystem" and system.startswith(given)
            delegated = delegated or (kind == "delegatePublic" and bool(public) and public.startswith(given))
            if (delegated or kind == "nextCatalog") and (path := _file(url)) is not None:
                answer = self._in(str(path), system, public, seen)
                if answer is not None:
                    return answer
        return None

    def _entries_of(self, catalog: str) -> list[Entry]:
        if catalog not in self._read:
            try:
                self._read[catalog] = _entries(Path(catalog))
            except (OSError, etree.LxmlError):  # of a package that was removed
                self._read[catalog] = []
        return self._read[catalog]


def _longest(entries: Iterable[Entry], wanted: str, system: str) -> Entry | None:
    """The entry whose beginning, or end, of an identifier is the longest that fits."""
    fits = system.startswith if wanted == "rewriteSystem" else system.endswith
    fitting = [entry for entry in entries if entry[0] == wanted and fits(entry[1])]
    return max(fitting, key=lambda entry: len(entry[1]), default=None)


def _entries(path: Path) -> list[Entry]:
    """The entries of a catalog, in its order."""
    with path.open("rb") as file:
        data = file.read(MOST_BYTES)
    parser = etree.XMLParser(load_dtd=False, resolve_entities=False, no_network=True, remove_comments=True)
    root = etree.fromstring(data, parser)
    if root.tag != f"{_NAMESPACE}catalog":
        raise etree.XMLSyntaxError(f"its root is {root.tag}, not a catalog", 0, 1, 1, str(path))
    return list(_below_element(root, path.absolute().as_uri()))


_FIELDS = {
    "public": ("publicId", "uri"),
    "system": ("systemId", "uri"),
    "rewriteSystem": ("systemIdStartString", "rewritePrefix"),
    "systemSuffix": ("systemIdSuffix", "uri"),
    "delegatePublic": ("publicIdStartString", "catalog"),
    "delegateSystem": ("systemIdStartString", "catalog"),
    "nextCatalog": ("", "catalog"),
}


def _below_element(element: Any, base: str) -> Iterable[Entry]:
    base = urljoin(base, element.get(_BASE, ""))
    for child in element.iterchildren(f"{_NAMESPACE}*"):
        kind = etree.QName(child).localname
        if kind == "group":
            yield from _below_element(child, base)
        elif kind in _FIELDS:
            given, names = _FIELDS[kind]
            identifier = child.get(given, "") if given else ""
            url = child.get(names)
            if url is not None and bool(identifier) == bool(given):
                is_public = kind in ("public", "delegatePublic")
                found = " ".join(identifier.split()) if is_public else identifier
                yield kind, found, urljoin(urljoin(base, child.get(_BASE, "")), url)


def _file(url: str) -> Path | None:
    """The file of a URL of this machine; None for any other."""
    parts = urlsplit(url)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path)
    return None if "\0" in path else Path(path)


def _below(folder: Path | None, rest: str) -> Path | None:
    """A file in a folder; None if the rest of its name leads out of it."""
    if folder is None or "\0" in rest:
        return None
    path = os.path.normpath(folder / unquote(rest).lstrip("/"))
    return Path(path) if Path(path).is_relative_to(os.path.normpath(folder)) else None
