"""A tree of files as `wget --mirror` makes it: HOST/PATH, each file the body of a page.

The visit was when the file was written (its change time); `wget` gives files the date of Last-Modified. The scheme is
not known unless the tree has it (`--protocol-directories`): it is https, or http where the crawl knows the host as
such. `index.html` is the folder; what `--adjust-extension` has added (`page?x=1.html`, `about.html` for `about`) cannot
be distinguished from the page's own name, and stays, unless a `?` is before it. `%2F` in a name is as `wget` writes it.
Where links were converted (`-k`) and the original was kept (`-K`), the original is read: its links are those of the
page. Files in no folder of a host (`-nH`) are left out: their URLs are not known.
"""

import os
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from urllib.parse import quote

from centime.crawl.imports.finding import Finding, Item, Place, Reading, Refused, Trouble
from centime.model.outcome import PageKind
from centime.parse.kind import kind_of

SCHEMES = ("http", "https")
INDEX = "index.html"
HOMELESS = Refused("in no folder of a host")
NOT_PAGES = frozenset((".orig", ".tmp"))


class MirrorSource:
    """The pages of a tree."""

    format = "wget"

    def __init__(self, path: Path, reading: Reading) -> None:
        self.name = str(path)
        self._path = path
        self._most_bytes = reading.most_bytes
        self._is_plain = reading.is_plain
        self._at = 0
        self.size = sum(len(files) for _, _, files in os.walk(path))

    def items(self, position: int) -> Iterator[tuple[int, Item]]:
        """The pages behind a position, which is a number of files."""
        self._at = 0
        for folder, folders, files in os.walk(self._path):
            folders.sort()
            for name in sorted(files):
                self._at += 1
                if self._at > position:
                    yield self._at, self._finding(Path(folder) / name)

    def place(self) -> int:
        """How many files were read."""
        return self._at

    def _finding(self, path: Path) -> Item:
        if path.suffix in NOT_PAGES or path.is_symlink() or not path.is_file():
            return None
        url = self._url(path)
        if not url:
            return HOMELESS
        original = path.with_name(f"{path.name}.orig")
        path = original if original.is_file() and not original.is_symlink() else path
        try:
            with path.open("rb") as file:
                body = file.read(self._most_bytes + 1)
                found = os.fstat(file.fileno())
        except OSError as wrong:
            return Trouble(f"{path}: {wrong.strerror}")
        kind = kind_of(body, "")
        types = {PageKind.HTML: "text/html", PageKind.XML: "application/xml"}
        headers = [("last-modified", formatdate(found.st_mtime, usegmt=True))]
        if kind in types:
            headers.append(("content-type", types[kind]))
        cut = len(body) > self._most_bytes
        time, place = max(found.st_ctime, found.st_mtime), Place(str(path.absolute()), is_record=False)
        return Finding(url, time, 200, tuple(headers), body[: self._most_bytes], cut, place=place)

    def _url(self, path: Path) -> str:
        """The URL of a file; empty if it is outside the folders of hosts."""
        parts = path.relative_to(self._path).parts
        scheme = ""
        if parts[0] in SCHEMES:
            scheme, parts = parts[0], parts[1:]
        if len(parts) < 2:
            return ""
        host, *names = parts
        if "." not in host and not host.startswith("localhost"):
            return ""
        last = names.pop()
        if "?" in last:
            last = last.removesuffix(".html")
        if last == INDEX:
            last = ""
        scheme = scheme or ("http" if self._is_plain(host) else "https")
        written = "/".join([*names, last])
        return f"{scheme}://{host}/{quote(os.fsencode(written), safe='/?%=&;:@+$,!~*()' + chr(39))}"
