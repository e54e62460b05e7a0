import io
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from centime.crawl.export.chosen import FILE, chosen_records, read_sites
from centime.model.document import Document
from centime.model.errors import BadInput
from centime.model.outcome import Outcome, PageKind
from centime.model.response import Response
from centime.store.archives.archive import Archive
from centime.store.archives.captures import every_capture, read_body

URLS = [
    "http://a.example/",
    "http://a.example:8080/x",
    "http://b.example/",
    "http://www.b.example/y",
    "http://ab.example/",
]


@pytest.fixture(scope="module")
def bodies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with a body of each URL, which was seen twice."""
    folder = tmp_path_factory.mktemp("bodies")
    archive = Archive(folder, "made")
    for unchanged in (False, True):
        for number, url in enumerate(URLS):
            response = Response(
                url=url,
                outcome=Outcome.READ,
                status=200,
                headers=(("Content-Type", "text/plain"),),
                body=url.encode(),
                asked_at=1e9 + number + 100 * unchanged,
            )
            archive.keep(response, Document(kind=PageKind.OTHER), unchanged)
    archive.close()
    return folder


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("a.example\n", URLS[:2]),
        ("\ufeff# kept\n\nHTTPS://A.example/any\n*.b.example\n", URLS[:4]),
        ("b.example", [URLS[2]]),
    ],
)
def test_the_records_of_chosen_sites_are_a_warc_file_that_others_read(
    lines: str, expected: list[str], bodies: Path, tmp_path: Path
) -> None:
    (tmp_path / "sites.txt").write_text(lines)
    with chosen_records([bodies], read_sites(tmp_path / "sites.txt")) as folder:
        data = (folder / f"{FILE}.warc.gz").read_bytes()
        records = list(ArchiveIterator(io.BytesIO(data)))
        seen = [(one.rec_type, one.rec_headers.get_header("WARC-Target-URI")) for one in records]
        assert seen[0] == ("warcinfo", None)
        assert sorted(seen[1:]) == sorted((kind, url) for kind in ("response", "revisit") for url in expected)
        captures = list(every_capture(folder))
        assert [one.line() for one in captures] == sorted(one.line() for one in captures)
        for capture in captures:
            assert read_body(folder, capture) == capture.url.encode()
    assert not folder.exists()


@pytest.mark.parametrize(
    ("lines", "why"),
    [("# nothing\n", "there is no site"), ("a.example\nrank,site\n", "line 2: this is no host name: 'rank,site'")],
)
def test_a_file_without_sites_is_refused(lines: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "sites.txt").write_text(lines)
    with pytest.raises(BadInput, match=why):
        read_sites(tmp_path / "sites.txt")
    with pytest.raises(BadInput, match="cannot be read"):
        read_sites(tmp_path / "none.txt")
