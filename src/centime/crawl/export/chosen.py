"""Some sites of a crawl for an export: their names from a file, and their records of an archive.

A line of the file is a host name or a URL of it, which selects this host under any scheme and port; or `*.` and a
domain, which selects it and all hosts below it. Empty lines, and those that begin with #, do not count.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from centime.discover.canonical import canonical
from centime.files.disk import naming
from centime.model.address import host_of, name_of
from centime.model.errors import BadInput
from centime.store.archives.captures import Capture, every_capture
from centime.store.archives.warc import warcinfo

FILE = "centime-chosen-00001"
ANY_BELOW = "*."


class Chosen:
    """Some sites, as a function of canonical URLs."""

    def __init__(self, hosts: frozenset[str], domains: frozenset[str]) -> None:
        self._hosts = hosts
        self._domains = domains

    def __call__(self, url: str) -> bool:
        """Whether a URL belongs to one of the sites."""
        name = name_of(host_of(url))
        if name in self._hosts:
            return True
        labels = name.split(".")
        return any(".".join(labels[place:]) in self._domains for place in range(len(labels)))


def every_url(url: str) -> bool:
    """True: without a choice every URL counts."""
    return True


def read_sites(path: Path) -> Chosen:
    """The sites that a file names; BadInput if there is none, or a line names no site."""
    try:
        lines = path.read_bytes().decode("utf-8-sig").splitlines()
    except OSError as problem:
        raise BadInput(f"{path}: the file cannot be read ({problem.strerror})") from problem
    except UnicodeDecodeError as problem:
        raise BadInput(f"{path}: this is not text in UTF-8 (byte {problem.start})") from problem
    hosts: set[str] = set()
    domains: set[str] = set()
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        bare = text.removeprefix(ANY_BELOW)
        url = canonical(bare if "://" in bare else f"http://{bare}")
        if url is None or any(mark in bare for mark in ",; \t"):
            raise BadInput(f"{path}, line {number}: this is no host name: {text!r}")
        (domains if text.startswith(ANY_BELOW) else hosts).add(name_of(host_of(url)))
    if not hosts and not domains:
        raise BadInput(f"{path}: there is no site in this file")
    return Chosen(frozenset(hosts), frozenset(domains))


@contextmanager
def chosen_records(folders: Sequence[Path], chosen: Chosen) -> Iterator[Path]:
    """A folder with the responses and revisits of the chosen URLs in one WARC file with its index, while the block
    runs. Requests are left out: an index names none.
    """
    with tempfile.TemporaryDirectory(prefix="centime-chosen-") as name:
        folder = Path(name)
        head, _ = warcinfo(f"{FILE}.warc.gz", "centime")
        lines = []
        with (folder / f"{FILE}.warc.gz").open("wb") as file:
            file.write(head)
            for source in folders:
                for capture in every_capture(source):
                    if chosen(capture.url):
                        moved = replace(capture, offset=file.tell(), filename=f"{FILE}.warc.gz")
                        lines.append(moved.line())
                        file.write(_record(source, capture))
        (folder / f"{FILE}.cdxj").write_bytes(b"".join(sorted(lines)))
        yield folder


def _record(folder: Path, capture: Capture) -> bytes:
    path = folder / capture.filename
    with naming(path), path.open("rb") as file:
        file.seek(capture.offset)
        return file.read(capture.length)
