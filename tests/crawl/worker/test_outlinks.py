"""Links as pages and sitemaps write them become the URLs that the shard receives."""

import gzip

import numpy as np
import pytest

from centime.crawl.worker import outlinks
from centime.crawl.worker.outlinks import LinkReader, may_be_sitemap
from centime.discover.scope import Scope
from centime.model.address import fingerprint
from centime.model.document import Document
from centime.model.ids import PageId
from centime.model.outcome import PageKind
from centime.parse.document import read_document
from centime.shard.message import Lease

HERE = Lease(page=PageId(0), url="https://h/d/p")


def links_of(body: bytes, content_type: str) -> list[str]:
    document = read_document(body, url=HERE.url, content_type=content_type)
    reader = LinkReader(Scope.of([HERE.url]), None)
    return reader.of_page(HERE, document, nofollow=False)[2].decode().splitlines()


@pytest.mark.parametrize(
    ("content_type", "codec", "urls"),
    [
        ("text/html; charset=latin1", "cp1252", ["https://h/%C3%A9?q=%E9", "https://h/d/p?q=%E9&r=%26%231046%3B"]),
        ("text/html; charset=utf-8", "utf-8", ["https://h/%C3%A9?q=%C3%A9", "https://h/d/p?q=%C3%A9&r=%D0%96"]),
        ("text/html; charset=utf-16le", "utf-16-le", ["https://h/%C3%A9?q=%C3%A9", "https://h/d/p?q=%C3%A9&r=%D0%96"]),
    ],
)
def test_a_page_of_html_sends_queries_in_its_encoding(content_type: str, codec: str, urls: list[str]) -> None:
    assert links_of("<a href='/é?q=é'>1</a><a href='?q=é&r=&#1046;'>2</a>".encode(codec), content_type) == urls


def test_xml_sends_queries_in_utf_8() -> None:
    item = "<item><link>https://h/?q=é</link></item>"
    body = f"<?xml version='1.0' encoding='latin1'?><rss><channel>{item}</channel></rss>".encode("cp1252")
    assert links_of(body, "application/rss+xml") == ["https://h/?q=%C3%A9"]


@pytest.mark.parametrize(
    ("url", "content_type", "body"),
    [
        ("https://h/pages-1.xml.gz", "application/gzip", gzip.compress(b"<urlset/>", mtime=0)),
        ("https://h/pages-1", "application/octet-stream", gzip.compress(b"<sitemapindex/>", mtime=0)),
        ("https://h/sitemap.txt", "text/plain", b"https://h/1\nhttps://h/2\n"),
        ("https://h/sitemap.txt.gz", "application/gzip", gzip.compress(b"https://h/1\n", mtime=0)),
        ("https://h/pages.php", "text/html", b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/>"),
        (
            "https://h/pages.xml",
            "application/xml",
            b"<s:urlset xmlns:s='http://www.sitemaps.org/schemas/sitemap/0.9'/>",
        ),
        ("https://h/pages.xml", "image/png", b"<?xml version='1.0'?><urlset/>"),
    ],
)
def test_a_sitemap_is_recognised_in_all_its_forms(url: str, content_type: str, body: bytes) -> None:
    assert may_be_sitemap(url, read_document(body, url=url, content_type=content_type), body)


@pytest.mark.parametrize(
    ("url", "content_type", "body"),
    [
        ("https://h/sitemap.html", "text/html", b"<p>https://h/1"),
        ("https://h/sitemap.txt", "text/plain", b"Our pages:\nhttps://h/1\n"),
        ("https://h/urls.txt", "text/plain", b"https://h/1\n"),
        ("https://h/sitemap.xml", "application/xml", b"<rss/>"),
        ("https://h/backup.tar.gz", "application/gzip", gzip.compress(b"pages/" + bytes(5_000), mtime=0)),
    ],
)
def test_other_documents_are_not_taken_for_a_sitemap(url: str, content_type: str, body: bytes) -> None:
    assert not may_be_sitemap(url, read_document(body, url=url, content_type=content_type), body)


def test_what_a_fetcher_remembers_of_links_is_bounded_and_refused_urls_are_offered_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outlinks, "VERDICT_CHARACTERS", 10_000)
    monkeypatch.setattr(outlinks, "FORGOTTEN_AFTER", 50)
    reader = LinkReader(Scope.of([HERE.url]), None)
    sent = []
    for number in range(100):
        hrefs = ("https://h/same", f"https://h/{number}-{'x' * 200}")
        document = Document(kind=PageKind.HTML, hrefs=hrefs, flags=bytes(2))
        sent.append("https://h/same" in reader.of_page(HERE, document, nofollow=False)[2].decode().splitlines())
        assert sum(map(len, reader._verdicts)) < 11_000
    assert [number for number, one in enumerate(sent) if one] == [0, 50]


def test_links_that_ask_not_to_be_followed_are_named_if_they_have_a_weight() -> None:
    body = (
        b'<a href=/a rel=nofollow>a<a href=/b>b<a href=/c rel=ugc>c<a href="/c#there">c<a href=http://x/ rel=nofollow>x'
    )
    document = read_document(body, url=HERE.url, content_type="text/html")
    reader = LinkReader(Scope.of([HERE.url]), None, follow_nofollow=True, weighs_nofollow=True)
    found = reader.of_page(HERE, document, nofollow=False)
    assert found.unfollowed == np.array([fingerprint("https://h/a")], dtype=np.uint64).tobytes()
    assert len(found.links) == 3
    assert reader.of_page(HERE, document, nofollow=True).unfollowed == found.links.tobytes()
    plain = LinkReader(Scope.of([HERE.url]), None, follow_nofollow=True)
    assert plain.of_page(HERE, document, nofollow=True).unfollowed == b""
