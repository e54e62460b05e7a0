import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.discover.feed import FeedEntry, read_feed
from centime.discover.moment import moment

RSS = (
    "<rss version='2.0'><channel><title>t</title><ttl>60</ttl>"
    "<lastBuildDate>Tue, 05 Mar 2024 00:00:00 GMT</lastBuildDate>"
    "<item><title>One</title><link>https://h/1</link><pubDate>Tue, 05 Mar 2024 01:00:00 +0100</pubDate></item>"
    "<item><guid>https://h/2</guid></item><item><guid isPermaLink='false'>https://h/3</guid></item></channel></rss>"
)
RDF = (
    "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'"
    " xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:sy='http://purl.org/rss/1.0/modules/syndication/'>"
    "<channel><sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>2</sy:updateFrequency></channel>"
    "<item><link>https://h/1</link><dc:date>2024-03-05</dc:date></item></rdf:RDF>"
)
ATOM = (
    "<feed xmlns='http://www.w3.org/2005/Atom'><updated>2024-03-05T00:00:00Z</updated>"
    "<entry><link rel='self' href='/no'/><link href='/1'/>"
    "<title>One</title><updated>2024-03-05T00:00:00Z</updated><published>2020-01-01T00:00:00Z</published></entry></feed>"
)
DAY = 1709596800.0


def test_rss_is_read() -> None:
    feed = read_feed(RSS.encode())
    assert feed.entries == (FeedEntry(link="https://h/1", updated=DAY, title="One"), FeedEntry(link="https://h/2"))
    assert (feed.ttl_seconds, feed.updated, feed.trouble) == (3_600.0, DAY, "")


def test_rss_with_a_document_type_is_read() -> None:
    name = '"-//Netscape//DTD RSS 0.91//EN" "http://my.netscape.com/rss-0.91.dtd"'
    doctype = f'<!DOCTYPE rss PUBLIC {name} [<!ENTITY nbsp "&#160;">]>'
    assert read_feed((doctype + RSS).encode()).entries == read_feed(RSS.encode()).entries


def test_rss_1_0_is_read() -> None:
    feed = read_feed(RDF.encode())
    assert feed.entries == (FeedEntry(link="https://h/1", updated=DAY),)
    assert feed.ttl_seconds == 43_200.0


def test_atom_is_read() -> None:
    feed = read_feed(ATOM.encode())
    assert feed.entries == (FeedEntry(link="/1", updated=DAY, title="One"),)
    assert feed.updated == DAY


def test_an_ampersand_that_nobody_escaped_is_part_of_the_link() -> None:
    rss = read_feed(RSS.replace("https://h/1", "https://h/1?a=1&b=2").encode())
    assert rss.entries[0] == FeedEntry(link="https://h/1?a=1&b=2", updated=DAY, title="One")
    assert rss.trouble
    for written in ("'/1?a=1&b=2'", "'/1?a=1&amp;b=2'", "'/1?a=1&#38;b=2'"):
        assert read_feed(ATOM.replace("'/1'", written).encode()).entries[0].link == "/1?a=1&b=2"


def test_what_is_no_feed_says_so() -> None:
    assert "html" in read_feed(b"<html/>").trouble
    assert read_feed(b"").trouble
    assert read_feed(RSS[:-30].encode()).trouble
    assert len(read_feed(RSS[:-30].encode()).entries) == 2


@given(st.binary(max_size=60), st.sampled_from([b"", b"<rss><channel><item>", b"<feed><entry><link href='x'/>"]))
def test_any_bytes_are_some_feed(body: bytes, head: bytes) -> None:
    assert all(entry.link for entry in read_feed(head + body).entries)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2024-03-05", DAY),
        ("2024-03-05T01:00:00+01:00", DAY),
        ("Tue, 05 Mar 2024 00:00:00 GMT", DAY),
        ("2024-03", 1709251200.0),
        ("2024", 1704067200.0),
        ("soon", 0.0),
        ("", 0.0),
        ("1066-10-14", 0.0),
        ("9999", 253370764800.0),
    ],
)
def test_times_are_seconds_since_the_epoch(text: str, seconds: float) -> None:
    assert moment(text) == seconds


@given(st.text(max_size=30))
def test_any_text_is_some_time(text: str) -> None:
    assert moment(text) >= 0.0
