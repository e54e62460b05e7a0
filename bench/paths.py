"""What queries by XPath cost with the index of paths, beside BaseX.

    python -m bench.paths [PART ...] [--json]

documents   20 000 synthetic XML documents (feeds, catalogues, chapters) of a crawl, importance with a heavy tail:
            storing and indexing them, the size of both, and the time of a query for the ten most important pages,
            opening apart. BaseX (of Debian, in a JVM of Debian) loads the same documents with its indexes of names,
            texts and attributes, and answers the same XPaths, for the first ten results in any order
scan        the same queries without the index, on some of the documents

DOCUMENTS=100000 in the environment measures with another number of documents. The packages are fetched once, by
`apt-get download`; nothing is installed."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from xxhash import xxh3_128_digest

from bench.crawl_server import UNPACKED, NotToBeHad, unpack
from bench.figure import Figure
from bench.report import Benchmarks, run_parts
from centime.api.reader import Reader
from centime.crawl.engine.opening import open_writer
from centime.crawl.report.opening import look_at
from centime.crawl.search.paths import PathUpdate, update_paths
from centime.files.listing import files_below
from centime.model.address import fingerprint
from centime.model.document import Document
from centime.model.kernel import compile_at_once
from centime.model.outcome import Outcome, PageKind
from centime.model.response import Response
from centime.processes.collection import collect_rarely
from centime.shard.message import Visit, pack
from centime.store.versions.writer import VersionWriter

DOCUMENTS = int(os.environ.get("DOCUMENTS", "20000"))
SCANNED, HOSTS, VOCABULARY = 2_000, 1_000, 20_000
WARM = 600  # documents that are stored and indexed before anything is measured
GATHERED = 32  # versions that are written at once, as a fetcher does
NOW = 1_800_000_000.0
JAVA = "usr/lib/jvm/java-17-openjdk-amd64/bin/java"
BASEX = "usr/share/java/basex.jar"
QUERIES = [
    "//item[category = 'c7']/title",
    "/rss/channel/item[pubDate = 'day 17']",
    "//product[@sku = 's4242']",
    "//product[number(price) < 2]/name",
    "//product[price = 99]",
    "//chapter[title = 'chapter 31']/section/para",
    "/book/chapter/section[@id]",
    "//note[@kind = 'warning']",
    "//rare",
    "//chapter | //channel",
    "//*[local-name() = 'creator']",
    "//product[not(stock)]/name",
    "//item[contains(title, 'a')]/link",
    "//section[para and note]/title",
    "//nothing/at/all",
]


def documents() -> Iterator[Figure]:
    """The index of paths beside BaseX."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        compile_at_once()
        collect_rarely()  # as the processes do that store and index
        _indexed(work / "first", list(_bodies(WARM)))  # compiles, once on each machine
        bodies = list(_bodies(DOCUMENTS))
        size = sum(map(len, bodies)) / 1e6
        ours, indexing, update = _indexed(work / "crawl", bodies)
        stored = sum(path.stat().st_size for path in files_below(work / "crawl" / "versions"))
        yield Figure(f"{DOCUMENTS} documents, {size:.0f} MB, indexed", size / indexing, "MB/CPU-s")
        yield Figure("  stored and indexed", size / (ours + indexing), "MB/CPU-s")
        yield Figure("  bytes of the index over those of the documents", update.bytes / 1e6 / size, "times")
        yield Figure("  bytes of versions and index", (stored + update.bytes) / 1e6 / size, "times")
        spent = _asked(work / "crawl")
        yield Figure("the ten most important of a query, median", 1e3 * float(np.median(spent)), "ms")
        yield Figure("  slowest", 1e3 * max(spent), "ms", "at most", 50.0)
        try:
            yield from _beside(work, bodies, size, ours + indexing, stored + update.bytes)
        except NotToBeHad as error:
            yield Figure(f"left out: {error}", float("nan"), "")


def scan() -> Iterator[Figure]:
    """Queries without an index."""
    with tempfile.TemporaryDirectory() as name:
        bodies = list(_bodies(SCANNED))
        _crawled(Path(name) / "crawl", bodies)
        began = _cpu()
        with Reader(Path(name) / "crawl") as reader:
            assert reader.query("//nothing/at/all") == []
        size = sum(map(len, bodies)) / 1e6
        yield Figure(
            f"{SCANNED} documents, {size:.0f} MB, one query without index", size / (_cpu() - began), "MB/CPU-s"
        )


def _bodies(count: int) -> Iterator[bytes]:
    """Documents of three vocabularies."""
    draw = np.random.default_rng(1)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(draw.choice(letters, draw.integers(2, 11))) for _ in range(VOCABULARY)])

    def text(length: int) -> str:
        return " ".join(words[np.minimum((10 * draw.pareto(0.9, length)).astype(np.int64), VOCABULARY - 1)])

    for number in range(count):
        kind = number % 3
        if kind == 0:
            items = "".join(
                f"<item><title>{text(6)}</title><link>http://x.example/{number}/{at}</link>"
                f"<category>c{draw.integers(200)}</category><pubDate>day {draw.integers(3000)}</pubDate>"
                f"<description>{text(25)}</description></item>"
                for at in range(8)
            )
            yield f"<?xml version='1.0'?><rss><channel><title>{text(3)}</title>{items}</channel></rss>".encode()
        elif kind == 1:
            products = "".join(
                f"<product sku='s{draw.integers(10**6)}'><name>{text(4)}</name>"
                f"<price>{draw.integers(1, 10_000)}</price>"
                + (f"<stock>{draw.integers(50)}</stock>" if draw.random() < 0.9 else "")
                + f"<text>{text(12)}</text></product>"
                for _ in range(14)
            )
            yield f"<?xml version='1.0'?><catalogue year='{number % 30}'>{products}</catalogue>".encode()
        else:
            sections = "".join(
                f"<section id='i{at}'><title>{text(5)}</title><para>{text(60)}</para>"
                + (f"<note kind='warning'>{text(9)}</note>" if draw.random() < 0.02 else "")
                + "</section>"
                for at in range(5)
            )
            rare = "<rare/>" if number % 5_000 == 2 else ""
            head = f"<title>chapter {draw.integers(5_000)}</title><dc:creator>{text(2)}</dc:creator>{rare}"
            inside = f"<chapter>{head}{sections}</chapter>"
            yield f"<?xml version='1.0'?><book xmlns:dc='urn:dc'>{inside}</book>".encode()


def _indexed(folder: Path, bodies: list[bytes]) -> tuple[float, float, PathUpdate]:
    """Makes a crawl that has stored and indexed the documents; returns the CPU seconds of both, and the index."""
    storing = _crawled(folder, bodies)
    opened = look_at(folder)
    began = _cpu()
    update = update_paths(opened)
    indexing = _cpu() - began
    opened.close()
    return storing, indexing, update


def _crawled(folder: Path, bodies: list[bytes]) -> float:
    """Makes a crawl that has stored the documents; returns the CPU seconds of storing them."""
    urls = [f"http://h{number % HOSTS}.example/{number}.xml" for number in range(len(bodies))]
    draw = np.random.default_rng(2)
    targets = np.minimum(10 * draw.pareto(0.7, 3 * len(urls)), len(urls) - 1).astype(np.int64).reshape(-1, 3)
    place = {url: number for number, url in enumerate(urls)}
    seconds, left, now = 0.0, len(urls), NOW
    with open_writer(folder, urls, {"delay": 0.0, "scope": "host", "keep": "versions", "sitemaps": False}) as opened:
        writer = VersionWriter(folder / "versions", gathers=True)
        while left:
            now += 60.0
            leases = opened.shard.lease(now, 10_000)
            visits = []
            for at, lease in enumerate(leases):
                number = place[lease.url]
                body = bodies[number]
                digest = xxh3_128_digest(body)
                headers = (("content-type", "application/xml"),)
                response = Response(url=lease.url, outcome=Outcome.READ, status=200, headers=headers, body=body)
                began = time.process_time()
                writer.keep(response, Document(kind=PageKind.XML, digest=digest))
                if (at + 1) % GATHERED == 0 or at + 1 == len(leases):
                    writer.flush()
                seconds += time.process_time() - began
                links = np.array([fingerprint(urls[at]) for at in set(targets[number].tolist())], dtype=np.uint64)
                found = Visit(
                    page=lease.page,
                    outcome=Outcome.READ,
                    kind=PageKind.XML,
                    status=200,
                    signature=1 + number,
                    digest=digest,
                    links=links.tobytes(),
                    asked_at=now,
                )
                visits.append(pack(found))
            opened.shard.record(now, visits)
            left -= len(leases)
        writer.close()
        opened.close()
    return seconds


def _asked(folder: Path) -> list[float]:
    """The seconds of each query, by the clock; each runs once after one of another kind."""
    with Reader(folder) as reader:
        reader.query("//title")
        spent = []
        for xpath in QUERIES:
            began = time.perf_counter()
            reader.query(xpath)
            spent.append(time.perf_counter() - began)
    return spent


def _beside(work: Path, bodies: list[bytes], size: float, ours: float, our_bytes: int) -> Iterator[Figure]:
    """BaseX with the same documents."""
    unpack("basex", "openjdk-17-jre-headless")
    folder, home = work / "documents", work / "basex"
    home.mkdir()
    for number, body in enumerate(bodies):
        path = folder / str(number // 1000)
        path.mkdir(parents=True, exist_ok=True)
        (path / f"{number}.xml").write_bytes(body)
    java = [str(UNPACKED / JAVA), "-Xmx2g", f"-Dorg.basex.path={home}", "-cp", str(UNPACKED / BASEX), "org.basex.BaseX"]
    began = _cpu()
    subprocess.run([*java, "-c", f"CREATE DB d {folder}"], check=True, capture_output=True)
    loading = _cpu() - began
    its_bytes = sum(path.stat().st_size for path in files_below(home / "data"))
    yield Figure("BaseX loads", size / loading, "MB/CPU-s")
    yield Figure("  our storing and indexing over it, per CPU-second", loading / ours, "times", "at least", 2.0)
    yield Figure("  its bytes over those of the documents", its_bytes / 1e6 / size, "times")
    yield Figure("  our bytes over its", our_bytes / its_bytes, "times", "at most", 1 / 3)
    questions = ["//title", *QUERIES]
    names = "declare namespace dc='urn:dc';"
    given = [part for xpath in questions for part in ("-q", f"{names}({_from(xpath)})[position() <= 10]")]
    said = subprocess.run([*java, "-V", "-i", "d", *given], check=True, capture_output=True, text=True)
    lines = (said.stdout + said.stderr).splitlines()
    times = [float(line.split()[2]) for line in lines if line.startswith("Total Time:")][1:]
    yield Figure("  ten results of a query in its process, median", float(np.median(times)), "ms")
    yield Figure("  slowest", max(times), "ms")


def _from(xpath: str) -> str:
    """An XPath as BaseX knows it: numbers of texts must be asked for."""
    return xpath.replace("price = 99", "number(price) = 99").replace("number(price) < 2", "price/number(.) < 2")


def _cpu() -> float:
    """The CPU seconds of this process and of those that it has waited for."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


PARTS: Benchmarks = {"documents": documents, "scan": scan}
ABOUT = {"documents": "the index of paths beside BaseX", "scan": "queries without an index"}

if __name__ == "__main__":
    sys.exit(run_parts("bench.paths", "What queries by XPath cost beside BaseX", PARTS, ABOUT))
