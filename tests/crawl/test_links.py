"""Links: what pages and sitemaps wrote becomes the URLs that the crawl is told of."""

import pytest

from centime.crawl.links import LinkReader
from centime.crawl.message import Lease
from centime.discover.scope import Scope
from centime.parse.document import read_document

HERE = Lease(page=0, url="https://h/d/p")


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
    body = "<?xml version='1.0' encoding='latin1'?><rss><channel><item><link>https://h/?q=é</link></item></channel></rss>".encode("cp1252")
    assert links_of(body, "application/rss+xml") == ["https://h/?q=%C3%A9"]
