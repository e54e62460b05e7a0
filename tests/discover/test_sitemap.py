import gzip
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.discover import sitemap as reading
from centime.discover.sitemap import MOST_BYTES, Sitemap, SitemapEntry, is_sitemap, read_sitemap

HEAD = '<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
ENTRY = (
    "<url><loc> https://h/a?x=1&amp;y=2 </loc><lastmod>2024-03-05</lastmod>"
    "<changefreq>Daily</changefreq><priority>0.8</priority></url>"
)
READ = SitemapEntry(url="https://h/a?x=1&y=2", modified=1709596800.0, frequency="daily")


def packed(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)  # the names of tests are the same at any time


@pytest.mark.parametrize(
    "pack", [bytes, gzip.compress, lambda body: gzip.compress(body[:50]) + gzip.compress(body[50:])]
)
def test_entries_are_read_packed_or_not(pack: "type[bytes]") -> None:
    sitemap = read_sitemap(pack((HEAD + ENTRY + "<url><loc>https://h/b</loc></url></urlset>").encode()))
    assert sitemap.entries == (READ, SitemapEntry(url="https://h/b"))
    assert (sitemap.is_index, sitemap.trouble) == (False, "")


@pytest.mark.parametrize(
    "body",
    [
        (HEAD + ENTRY).encode(),
        b"<urlset>",
        b"\xef\xbb\xbf <!-- all --><!DOCTYPE urlset><s:sitemapindex xmlns:s='x'/>",
        ("\ufeff" + HEAD).encode("utf-16-le"),
        packed(("\ufeff" + HEAD).encode("utf-16-be")),
        packed((HEAD + ENTRY * 9_000).encode()),
        packed(b"") + packed(b"<?xml version='1.0'?>") + packed(b"<sitemapindex>"),
        packed((HEAD + ENTRY * 9_000).encode())[:400],
    ],
)
def test_the_root_tells_a_sitemap_whatever_its_name(body: bytes) -> None:
    assert is_sitemap("https://h/map?all", body)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_lines_are_a_sitemap_where_the_name_says_so_and_all_are_urls(pack: "type[bytes]") -> None:
    lines = b"\xef\xbb\xbfhttps://h/a \r\n\n http://h/b"
    assert is_sitemap("https://h/x/All-Sitemap.txt?x", pack(lines))
    assert is_sitemap("https://h/sitemap/urls.txt?sitemap", pack(lines)) == (pack is gzip.compress)
    assert not is_sitemap("https://h/urls.txt", pack(lines))
    for other in (b"", lines + b"\nmore", lines + b" https://h/c", b"# all\n" + lines):
        assert not is_sitemap("https://h/sitemap.txt", pack(other))


@pytest.mark.parametrize(
    "body", [b"", b"<html><urlset>", b"<urlsets>", b"<!-- <urlset> -->", b"\x1f\x8bnonsense", packed(b"\0" * 9_999)]
)
def test_what_has_another_root_is_no_sitemap(body: bytes) -> None:
    assert not is_sitemap("https://h/sitemap.xml.gz", body)


def test_an_index_names_sitemaps() -> None:
    sitemap = read_sitemap(
        b"<sitemapindex><sitemap><loc>https://h/1.xml</loc><lastmod>2024</lastmod></sitemap><url><loc>x</loc></url></sitemapindex>"
    )
    assert sitemap.is_index
    assert sitemap.entries == (SitemapEntry(url="https://h/1.xml", modified=1704067200.0),)


def test_news_have_a_title_and_a_date() -> None:
    body = (
        "<urlset xmlns:n='http://www.google.com/schemas/sitemap-news/0.9'><url><loc>https://h/n</loc><n:news>"
        "<n:publication_date>2024-03-05T00:00:00Z</n:publication_date><n:title>Big</n:title></n:news></url></urlset>"
    )
    assert read_sitemap(body.encode()).entries == (
        SitemapEntry(url="https://h/n", published=1709596800.0, title="Big"),
    )


def test_lines_of_text_are_a_sitemap() -> None:
    assert [entry.url for entry in read_sitemap(b"\xef\xbb\xbfhttps://h/a\r\n\nnonsense\nhttp://h/b").entries] == [
        "https://h/a",
        "http://h/b",
    ]
    assert read_sitemap(b"nothing here").trouble


def test_a_broken_sitemap_gives_what_came_before() -> None:
    sitemap = read_sitemap((HEAD + ENTRY + "<url><loc>https://h/b").encode())
    assert sitemap.entries == (READ,)
    assert "broken" in sitemap.trouble
    packed = gzip.compress((HEAD + ENTRY * 2_000).encode(), 0)
    cut = read_sitemap(packed[: len(packed) // 2])
    assert cut.entries
    assert cut.trouble == "The gzip ends too early."
    assert read_sitemap(b"\x1f\x8bnonsense").trouble
    assert read_sitemap(b"<html><body>").trouble


@pytest.mark.parametrize(
    ("rest", "urls"),
    [
        ("<url><loc>https://h/b</loc><lastmod>2020", ["https://h/b"]),
        ("<url><loc>https://h/b</loc>", ["https://h/b"]),
        ("<url><loc>https://h/hal", []),
        ("<url><loc>https://h/b</loc><url><loc>https://h/c</loc></url></urlset>", ["https://h/b", "https://h/c"]),
        ("<url><loc>https://h/b</url><url><loc>https://h/c</loc></url></urlset>", ["https://h/b", "https://h/c"]),
    ],
)
def test_every_entry_whose_url_is_complete_is_read(rest: str, urls: list[str]) -> None:
    sitemap = read_sitemap((HEAD + ENTRY + rest).encode())
    assert [entry.url for entry in sitemap.entries] == [READ.url, *urls]
    assert "broken" in sitemap.trouble


def test_the_last_line_of_a_text_that_was_cut_is_no_url() -> None:
    body = gzip.compress(b"https://h/a\nhttps://h/" + b"b" * 5_000, 0)
    assert [entry.url for entry in read_sitemap(body[:900]).entries] == ["https://h/a"]


def test_an_entry_may_have_several_urls_and_pictures_are_none_of_them() -> None:
    picture = "<i:image xmlns:i='http://i'><i:loc>https://h/c.png</i:loc></i:image>"
    entry = f"<url><loc>https://h/a</loc><loc>https://h/b</loc>{picture}<lastmod>2024-03-05</lastmod></url>"
    sitemap = read_sitemap((HEAD + entry + "</urlset>").encode())
    assert [(one.url, one.modified) for one in sitemap.entries] == [
        ("https://h/a", READ.modified),
        ("https://h/b", READ.modified),
    ]


def test_an_ampersand_that_nobody_escaped_is_part_of_the_url() -> None:
    body = (
        "<urlset><!-- & <![CDATA[ --><url><loc>http://h/1?a=1&b=2&amp;c=3&#38;d</loc></url>"
        "<url><loc><![CDATA[http://h/2?a=1&b=2&amp;c]]></loc></url><url><loc>http://h/3&</loc></url></urlset>"
    )
    sitemap = read_sitemap(body.encode())
    assert [entry.url for entry in sitemap.entries] == [
        "http://h/1?a=1&b=2&c=3&d",
        "http://h/2?a=1&b=2&amp;c",
        "http://h/3&",
    ]
    assert "line 1" in sitemap.trouble
    assert [entry.url for entry in read_sitemap(body.encode("utf-16")).entries][1] == "http://h/2?a=1&b=2&amp;c"


@pytest.mark.parametrize("wrong", ["<title>&nbsp;</title>", "<x>\x01</x>", "<x>&</x>", "<x y=1/>"])
def test_an_ampersand_that_was_escaped_survives_what_is_wrong_before_it(wrong: str) -> None:
    sitemap = read_sitemap(f"<urlset><url>{wrong}</url>{ENTRY}</urlset>".encode())
    assert sitemap.entries == (READ,)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """How many entries are read: fewer than the protocol allows, so that they are made quickly."""
    monkeypatch.setattr(reading, "MOST_ENTRIES", 500)
    return 500


def test_the_limit_of_entries_is_that_of_the_protocol() -> None:
    assert reading.MOST_ENTRIES == 50_000
    lines = read_sitemap(b"https://h/\n" * 50_005)
    assert len(lines.entries) == 50_000
    assert lines.trouble


def test_bare_ampersands_do_not_end_a_sitemap_nor_hide_in_a_full_one(few: int) -> None:
    many = read_sitemap((HEAD + "<url><loc>http://h/?a&b=2</loc></url>" * few + "</urlset>").encode())
    assert [entry.url for entry in many.entries] == ["http://h/?a&b=2"] * few
    assert many.trouble


@pytest.mark.parametrize("unit", [b"&", b"&a", b"&#", b"<![CDATA[", b"<!--", b"<![CDATA[]]>&"])
def test_ampersands_without_end_take_linear_time(unit: bytes) -> None:
    start = time.process_time()
    assert read_sitemap(b"<urlset><url><loc>" + unit * (400_000 // len(unit))).trouble
    assert time.process_time() - start < 1.5


@pytest.mark.parametrize("unit", [b"<!DOCTYPE a [", b"<i", b"<i a='b' "])
def test_document_types_and_tags_without_end_take_linear_time(unit: bytes) -> None:
    start = time.process_time()
    assert read_sitemap(b"<urlset><url><loc>" + unit * (500_000 // len(unit)) + b">").trouble
    assert time.process_time() - start < 3.0


def test_no_more_entries_are_read_than_the_protocol_allows(few: int) -> None:
    sitemap = read_sitemap((HEAD + "<url><loc>https://h/a</loc></url>" * (few + 5) + "</urlset>").encode())
    assert len(sitemap.entries) == few
    assert sitemap.trouble
    lines = read_sitemap(b"https://h/\n" * (few + 5))
    assert len(lines.entries) == few
    assert lines.trouble


def test_bombs_are_harmless() -> None:
    start = time.process_time()
    entities = "".join(f'<!ENTITY a{level} "{f"&a{level - 1};" * 10}">' for level in range(1, 20))
    sitemap = read_sitemap(
        f'<!DOCTYPE l [<!ENTITY a0 "x">{entities}]><urlset><url><loc>https://h/a</loc></url><url><loc>&a19;</loc></url></urlset>'.encode()
    )
    assert [entry.url for entry in sitemap.entries] == ["https://h/a"]
    bomb = read_sitemap(gzip.compress(b" " * (MOST_BYTES + 1_000), 1))
    assert "50 MiB" in bomb.trouble
    members = gzip.compress(b"") * 200_000
    assert not is_sitemap("https://h/sitemap.gz", members)
    assert not read_sitemap(members).entries
    assert time.process_time() - start < 30.0  # a bomb that went off would take hours


@given(st.binary(max_size=80), st.sampled_from([b"", b"\x1f\x8b", HEAD.encode(), b"<sitemapindex><sitemap>"]))
def test_any_bytes_are_some_sitemap(body: bytes, head: bytes) -> None:
    sitemap = read_sitemap(head + body)
    assert all(entry.url for entry in sitemap.entries)


@pytest.mark.parametrize(
    "rest",
    [
        "</urlset><url><loc>https://h/b</loc></url>",
        "</urlset>\n<url><loc>https://h/b</loc></url>\n</urlset>",
        "</urlset>" + HEAD + "<url><loc>https://h/b</loc></url></urlset>",
    ],
)
def test_entries_after_the_end_of_a_sitemap_are_taken_and_it_says_so(rest: str) -> None:
    sitemap = read_sitemap((HEAD + ENTRY + rest).encode())
    assert [entry.url for entry in sitemap.entries] == [READ.url, "https://h/b"]
    assert sitemap.trouble == "Entries follow the end of urlset."
    assert not read_sitemap((HEAD + ENTRY + "</urlset><!-- the end -->").encode()).trouble


def alternates(*urls: str) -> str:
    return "".join(f'<xhtml:link rel="alternate" hreflang="x" href="{url}"/>' for url in urls)


def test_alternates_are_entries_behind_all_others_and_each_counts_once() -> None:
    body = (
        "<urlset xmlns:xhtml='http://www.w3.org/1999/xhtml'>"
        f"<url><loc>https://h/a</loc>{alternates('https://h/a', 'https://h/de?x=1&amp;y=2', ' https://h/b ')}"
        "<lastmod>2024-03-05</lastmod></url>"
        f"<url><loc>https://h/b</loc>{alternates('https://h/de?x=1&amp;y=2', '')}"
        "<xhtml:link rel='canonical' href='https://h/c'/><image><link rel='alternate' href='https://h/i'/></image></url>"
        "</urlset>"
    )
    sitemap = read_sitemap(body.encode())
    assert [entry.url for entry in sitemap.entries] == ["https://h/a", "https://h/b", "https://h/de?x=1&y=2"]
    assert [entry.modified for entry in sitemap.entries] == [1709596800.0, 0.0, 0.0]
    assert sitemap.trouble == ""


def test_a_page_may_have_two_hundred_alternates_and_what_is_left_out_is_told() -> None:
    def read(count: int) -> Sitemap:
        urls = alternates(*(f"https://h/{number}" for number in range(count)))
        return read_sitemap(f"<urlset xmlns:xhtml='x'><url><loc>https://h/</loc>{urls}</url></urlset>".encode())

    assert (len(read(200).entries), read(200).trouble) == (201, "")
    assert (len(read(300).entries), read(300).trouble) == (256, "Only the first 256 fields of an entry were read.")


def test_alternates_displace_no_entry(few: int) -> None:
    entries = "".join(
        f"<url><loc>https://h/{number}</loc>{alternates(f'https://h/de/{number}', f'https://h/fr/{number}')}</url>"
        for number in range(few)
    )
    sitemap = read_sitemap(f"<urlset xmlns:xhtml='x'>{entries}</urlset>".encode())
    assert [entry.url for entry in sitemap.entries[:few]] == [f"https://h/{n}" for n in range(few)]
    assert len(sitemap.entries) == 2 * few
    assert sitemap.trouble == f"Only the first {few} of {2 * few} alternates were read."
