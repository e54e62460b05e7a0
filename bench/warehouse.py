"""What the warehouse costs, on the histories of real documents, beside its peers.

    python -m bench.warehouse [PART ...] [--json]

diff     trees, matching and delta of neighbouring versions, beside xmldiff on those that it can compare in time; its
         deltas lead one way only, without old values
chains   bytes of all versions as a chain of frames, beside git after `repack`
dictionary
         bytes and time of the first versions of pages of documentation, with a dictionary and without
conformance
         W3C's suite for XML 1.0 (`bench/conformance.py`)
crawl    pages per CPU-second of a crawl that keeps versions, and an index of them
want     what `--want xml` costs the shard of a made-up crawl (`bench/crawl_shard.py`) in which 2 % of the pages are XML

The C++ program XyDiff is no peer here: no package registry has it.

The documents are the registries of Khronos (gl.xml, vk.xml and smaller ones) in the releases of the PyPI package glad2,
which it fetches."""

import os
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import msgspec
from lxml import etree
from xxhash import xxh3_64_intdigest

from bench.conformance import conformance
from bench.crawl_pages import timed_crawl
from bench.crawl_server import CACHE, NotToBeHad, documentation, documentation_tree
from bench.crawl_shard import SETTINGS, MadeUp
from bench.figure import Figure
from bench.report import Benchmarks, run_parts
from centime.crawl.engine.opening import open_writer
from centime.model.kernel import compile_at_once
from centime.store.versions.chain import KEY_EVERY, Dictionary, packed, unpacked
from centime.store.versions.dictionary import SAMPLES, trained
from centime.warehouse.comparison import Document, tree_change

PACKAGE, RELEASES = "glad2", [f"2.0.{number}" for number in range(9)]
LARGE, SMALL = ("gl.xml", "vk.xml"), ("egl.xml", "glx.xml", "wgl.xml")
XML = "text/xml"
MOST_FOR_A_PEER = 200_000  # bytes of a document that xmldiff compares in seconds
REPEATS = 3
KEY_FRAMES = 2_000  # pages that are compressed with a dictionary of others
PAGE_SIZES = (0, 1 << 12, 1 << 14, 1 << 15, 1 << 16)
MOST_PAGES = 1_000_000
WANTED_AMONG, WANTED_VISITS = 100_000, 4_000
FOLLOWING = b"centime.crawl.search.following"


def histories() -> dict[str, list[bytes]]:
    """The different versions of each document, oldest first."""
    folder = CACHE / PACKAGE
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[bytes]] = {}
    for release in RELEASES:
        if not list(folder.glob(f"{PACKAGE}-{release}-*.whl")):
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
            try:
                subprocess.run([*command, "--dest", str(folder), f"{PACKAGE}=={release}"], check=True, timeout=300)
            except (OSError, subprocess.SubprocessError) as error:
                raise NotToBeHad(f"{PACKAGE} {release} could not be had: {error}") from error
        with zipfile.ZipFile(next(folder.glob(f"{PACKAGE}-{release}-*.whl"))) as wheel:
            for path in wheel.namelist():
                name = Path(path).name
                if name in (*LARGE, *SMALL):
                    versions = found.setdefault(name, [])
                    versions += [] if versions and versions[-1] == wheel.read(path) else [wheel.read(path)]
    return found


def diff() -> Iterator[Figure]:
    """Deltas of neighbouring versions."""
    compile_at_once()
    for name, versions in histories().items():
        pairs = list(pairwise(versions))
        if not pairs:
            continue
        _deltas(pairs)
        seconds, size = min(_deltas(pairs) for _ in range(REPEATS))
        total = sum(len(old) + len(new) for old, new in pairs) / 1e6
        yield Figure(
            f"{name}, {len(pairs)} deltas", total / seconds, "MB/CPU-s", "at least", 20.0 if name in LARGE else None
        )
        yield Figure("  bytes of a delta as JSON", size / len(pairs), "bytes")
        if max(map(len, versions)) <= MOST_FOR_A_PEER:
            theirs, size_of_theirs = _by_xmldiff(pairs)
            yield Figure("  CPU time of xmldiff over ours", theirs / seconds, "times", "at least", 10.0)
            yield Figure("  our bytes over those of xmldiff", size / max(1, size_of_theirs), "times")


def _deltas(pairs: Sequence[tuple[bytes, bytes]]) -> tuple[float, int]:
    """CPU seconds for all deltas, parsing included, and their bytes."""
    began = time.process_time()
    deltas = [tree_change([Document(old, XML), Document(new, XML)], 0, 1).delta for old, new in pairs]
    seconds = time.process_time() - began
    return seconds, sum(len(msgspec.json.encode(delta)) for delta in deltas)


def _by_xmldiff(pairs: Sequence[tuple[bytes, bytes]]) -> tuple[float, int]:
    try:
        from xmldiff import formatting, main
    except ImportError as error:
        raise NotToBeHad("xmldiff is not installed: make bench-warehouse installs it") from error
    began = time.process_time()
    written = [
        main.diff_trees(etree.fromstring(old), etree.fromstring(new), formatter=formatting.DiffFormatter())
        for old, new in pairs
    ]
    return time.process_time() - began, sum(map(len, written))


def chains() -> Iterator[Figure]:
    """All versions, written and restored."""
    for name, versions in histories().items():
        began = time.process_time()
        frames = [packed(body, versions[at - 1] if at % KEY_EVERY else None) for at, body in enumerate(versions)]
        writing = time.process_time() - began
        began, before = time.process_time(), None
        for frame, body in zip(frames, versions, strict=True):
            before = unpacked(frame, before, len(body))
            assert before == body
        reading = time.process_time() - began
        size = sum(map(len, frames))
        yield Figure(f"{name}, {len(versions)} versions", size / len(versions), "bytes each")
        yield Figure("  over git's", size / _git_bytes(versions), "times", "at most", 1.5)
        yield Figure("  written", sum(map(len, versions)) / 1e6 / writing, "MB/CPU-s")
        yield Figure("  the last restored from the first", 1e3 * reading, "ms", "at most", 50.0)


def _git_bytes(versions: Sequence[bytes]) -> int:
    """The bytes of git's objects for these versions of a file."""
    with tempfile.TemporaryDirectory() as folder:
        git = ["git", "-C", folder]
        subprocess.run([*git, "init", "--quiet"], check=True, capture_output=True)
        stream = b"".join(
            b"commit refs/heads/main\ncommitter a <a@b> %d +0000\ndata 0\nM 100644 inline f\ndata %d\n%b\n"
            % (number, len(body), body)
            for number, body in enumerate(versions)
        )
        subprocess.run([*git, "fast-import", "--quiet"], input=stream, check=True, capture_output=True)
        subprocess.run([*git, "repack", "-adfq", "--depth=50", "--window=20"], check=True, capture_output=True)
        return sum(path.stat().st_size for path in Path(folder, ".git/objects").rglob("*") if path.is_file())


def dictionary() -> Iterator[Figure]:
    """Key frames of pages, with a dictionary that is trained on others."""
    paths = sorted(documentation_tree().rglob("*.html"), key=lambda path: xxh3_64_intdigest(bytes(path)))
    bodies = [path.read_bytes() for path in paths[: SAMPLES + KEY_FRAMES]]
    began = time.process_time()
    made = trained(bodies[:SAMPLES])
    training = time.process_time() - began
    for first, last in pairwise(PAGE_SIZES):
        pages = [body for body in bodies[SAMPLES:] if first < len(body) <= last]
        alone, ours = _key_frames(pages, None), _key_frames(pages, Dictionary(made.content, last) if made else None)
        name = f"{len(pages)} pages of {first >> 10} to {last >> 10} KiB"
        yield Figure(f"{name}: bytes with a dictionary over those alone", ours[0] / alone[0], "times")
        yield Figure("  CPU time of compressing", ours[1] / alone[1], "times")
    yield Figure("training, once", training, "CPU-s")


def _key_frames(pages: Sequence[bytes], dictionary: Dictionary | None) -> tuple[int, float]:
    """Bytes of the key frames of pages, and the least CPU time of making them."""
    size, least = 0, float("inf")
    for _ in range(REPEATS):
        began = time.process_time()
        size = sum(len(packed(body, None, dictionary)) for body in pages)
        least = min(least, time.process_time() - began)
    return size, least


class Spent:
    """CPU seconds of the processes that keep indexes, by process."""

    def __init__(self) -> None:
        self.by_process: dict[str, float] = {}

    @property
    def seconds(self) -> float:
        """Of all of them."""
        return sum(self.by_process.values())

    def look(self) -> None:
        """Notes what they have used until now, with the processes that they have ended."""
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if FOLLOWING in (path / "cmdline").read_bytes():
                    fields = (path / "stat").read_text().rpartition(")")[2].split()
                    self.by_process[path.name] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def cpu_of_indexers() -> Iterator[Spent]:
    """Watches the processes that keep indexes while the block runs."""
    spent, is_over = Spent(), threading.Event()

    def watch() -> None:
        while not is_over.wait(0.02):
            spent.look()

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield spent
    finally:
        is_over.set()
        watching.join()


def crawl() -> Iterator[Figure]:
    """Crawls of real documentation with and without versions, in turn; the least CPU time of each."""
    ways = {
        "none": (),
        "versions": ("--keep", "versions"),
        "index": ("--keep", "versions", "--index"),
        "all": ("--keep", "all"),
    }
    with documentation() as served:
        runs: dict[str, list[float]] = {way: [] for way in ways}
        indexing: list[float] = []
        for number in range(1 + REPEATS):  # the first one compiles
            for way, options in ways.items():
                with cpu_of_indexers() as spent:
                    run = timed_crawl(served.seeds(2), "host", 1, MOST_PAGES if number else 200, float, *options)
                if number:
                    runs[way].append((run.cpu - spent.seconds) / run.pages)
                    indexing += [spent.seconds / run.pages] if way == "index" else []
    least = {way: min(found) for way, found in runs.items()}
    yield Figure("CPU time of a page without bodies", 1e6 * least["none"], "us")
    yield Figure(
        "  pages per CPU-second with --keep versions", least["none"] / least["versions"], "times", "at least", 0.75
    )
    share = least["none"] / least["index"]
    yield Figure("  pages per CPU-second with --index, its process apart", share, "times", "at least", 0.75)
    yield Figure("  CPU time of that process for a page", 1e6 * min(indexing), "us")
    yield Figure("  pages per CPU-second with --keep all (WARC)", least["none"] / least["all"], "times")


def want() -> Iterator[Figure]:
    """Visits of a crawl that wants XML beside one that wants all pages alike, in turn; the best rate of each."""
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        made = {}
        for name, given in (("all", {}), ("xml", {"want": "xml"})):
            opened = stack.enter_context(
                open_writer(Path(folder) / name, ["https://www.host0.example/"], SETTINGS | given)
            )
            made[name] = MadeUp(opened, xml_every=50)
            made[name].grow(WANTED_AMONG)
        for _ in range(REPEATS):
            for name, one in made.items():
                best[name] = max(best.get(name, 0.0), one.crawl(WANTED_VISITS))
    yield Figure(f"shard, {WANTED_AMONG} pages known: CPU time of a visit", 1e6 / best["all"], "us")
    yield Figure("  the same with --want xml", 1e6 / best["xml"], "us")


PARTS: Benchmarks = {
    "diff": diff,
    "chains": chains,
    "dictionary": dictionary,
    "conformance": conformance,
    "crawl": crawl,
    "want": want,
}
ABOUT = {
    "diff": "deltas of trees beside xmldiff",
    "chains": "all versions of a document beside git",
    "dictionary": "first versions of pages with a dictionary",
    "conformance": "W3C's tests of XML parsers",
    "crawl": "crawls of real documentation that keep versions, beside those that keep nothing and WARC files",
    "want": "what --want costs a shard",
}

if __name__ == "__main__":
    sys.exit(run_parts("bench.warehouse", "What versions of real documents cost", PARTS, ABOUT))
