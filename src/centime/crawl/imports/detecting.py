"""Which format a file has, by its content; a person can say it instead (`--from`)."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from centime.crawl.imports.archived import WarcSource
from centime.crawl.imports.columnar import ColumnarSource
from centime.crawl.imports.crawl_log import LINE, CrawlLogSource
from centime.crawl.imports.finding import Reading, Source
from centime.crawl.imports.index_lines import IndexSource
from centime.crawl.imports.json_lines import JsonSource
from centime.crawl.imports.mirror import MirrorSource
from centime.crawl.imports.packed_members import BROKEN, DICTIONARY, GZIP, ZSTANDARD, packing_of
from centime.crawl.imports.sitemap_file import SitemapSource
from centime.crawl.imports.wacz import WaczSource
from centime.crawl.imports.warc_records import WarcRecord, WarcRecords
from centime.crawl.imports.web_graph import EDGE, VERTEX, WebGraphSource
from centime.discover.sitemap import is_sitemap
from centime.model.errors import BadInput

LOOK = 1 << 16
CRUMB = 16  # packed bytes that are lost before a damaged place, at most
FORMATS = ("warc", "wat", "wacz", "cdx", "parquet", "webgraph", "heritrix", "wget", "jsonl", "sitemap")
VERTICES, EDGES = "vertices", "edges"


def formats_of(paths: Sequence[Path], given: str) -> list[str]:
    """The format of each file; of a web graph, which of its two files it is; BadInput names the first that cannot be
    imported."""
    if given and given not in FORMATS:
        raise BadInput(f"--from is one of {', '.join(FORMATS)}, not {given!r}")
    forms = [given or _format_of(path) for path in paths]
    forms = [_half_of(path) if form == "webgraph" else form for path, form in zip(paths, forms, strict=True)]
    if forms.count(VERTICES) != (1 if EDGES in forms else 0):
        raise BadInput("a web graph is a file of vertices and one or more of edges; give them together")
    return forms


def sources_of(paths: Sequence[Path], given: str, reading: Reading) -> list[Source]:
    """The files to import, by their formats; BadInput names the first that cannot be."""
    sources: list[Source] = []
    halves: dict[str, list[Path]] = {VERTICES: [], EDGES: []}
    for path, form in zip(paths, formats_of(paths, given), strict=True):
        match form:
            case "warc" | "wat":
                sources.append(WarcSource(path, reading))
            case "wacz":
                sources.append(WaczSource(path, reading))
            case "cdx":
                sources.append(IndexSource(path))
            case "parquet":
                sources.append(ColumnarSource(path))
            case "heritrix":
                sources.append(CrawlLogSource(path))
            case "wget":
                sources.append(MirrorSource(path, reading))
            case "jsonl":
                sources.append(JsonSource(path))
            case "sitemap":
                sources.append(SitemapSource(path))
            case _:
                halves[form].append(path)
    return [*sources, *(WebGraphSource(halves[VERTICES][0], edges) for edges in halves[EDGES])]


def _format_of(path: Path) -> str:
    if path.is_dir():
        return "wget"
    with path.open("rb") as file:
        packed = file.read(LOOK)
    if packed.startswith(b"PK\x03\x04"):
        return "wacz"
    if packed.startswith(b"PAR1"):
        return "parquet"
    if packed.startswith(DICTIONARY):  # nothing else begins with it, and it may be longer than the bytes examined here
        return "warc"
    if not packed:
        raise BadInput(f"{path}: the file is empty")
    head = _unpacked(packed)
    lines = [line for line in head.split(b"\n", 4)[:4] if line.strip()]
    first = lines[0] if lines else b""
    if head.startswith(b"WARC/"):
        return "warc"
    if first.lstrip().startswith(b"CDX ") or first.startswith(b"!") or _is_index(first):
        return "cdx"
    if LINE.match(first):
        return "heritrix"
    if first.lstrip().startswith((b"{", b"[")):
        return "jsonl"
    if EDGE.match(first) or VERTEX.match(first):
        return "webgraph"
    if is_sitemap(f"http://a/sitemap{path.suffix}", head if b"\n" not in head else head[: head.rindex(b"\n")]):
        return "sitemap"
    if packed.startswith((GZIP, ZSTANDARD)) and _has_record(path):
        return "warc"
    if packed.startswith(ZSTANDARD) and not head:  # no other format is packed with it; its reader says why
        return "warc"
    what = "its format is not recognised" if head else "its beginning cannot be decompressed"
    raise BadInput(f"{path}: {what}; --from says its format: {', '.join(FORMATS)}")


def _half_of(path: Path) -> str:
    with path.open("rb") as file:
        first = _unpacked(file.read(LOOK)).split(b"\n")[0]
    return EDGES if EDGE.match(first) else VERTICES


def _is_index(line: bytes) -> bool:
    """Whether a line is one of CDXJ, or of CDX without a first line."""
    fields = line.split(b" ")
    digits = len(fields) > 2 and fields[1].isdigit() and 8 <= len(fields[1]) <= 17
    return digits and (fields[2].startswith(b"{") or len(fields) in (9, 10, 11))


def _unpacked(data: bytes) -> bytes:
    """The first bytes, without gzip or Zstandard, as far as they are whole."""
    packing = packing_of(data)
    if packing is None:
        return data
    stream, data, head = packing.stream(), data[packing.skipped(data) :], b""
    with suppress(*BROKEN):
        for at in range(0, len(data), CRUMB):
            if stream.eof or len(head) >= LOOK:
                break
            head += stream.decompress(data[at : at + CRUMB], LOOK)
    return head


def _has_record(path: Path) -> bool:
    """Whether a file has a whole record of WARC, maybe behind damaged ones."""
    with path.open("rb") as file:
        return any(isinstance(one, WarcRecord) for _, one in WarcRecords(file, path.stat().st_size).read(0))
