import gzip
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import urlsplit

import numpy as np
import pytest

from centime.lab.webbox import WebBox
from centime.lab.webbox.announcement import pages_to_list
from centime.lab.webbox.clock import http_date
from centime.lab.webbox.layout import (
    BARE,
    COMPRESSES,
    CRAWL_DELAY,
    DEAD,
    ETAG_FICKLE,
    ETAG_STRONG,
    ETAG_WEAK,
    HTML,
    LATIN,
    LATIN_UNDECLARED,
    MODIFIED_MISSING,
    MODIFIED_NOW,
    MODIFIED_OLD,
    NOISY,
    PRIVATES,
    SITEMAP,
    SITEMAP_INDEX,
    SITEMAP_PACKED,
    START,
    TRAITS,
    TRAPPED,
    XML,
)
from centime.lab.webbox.reply import Reply, Request
from centime.lab.webbox.site import SiteAnswers

pytestmark = pytest.mark.compiled

BOX = WebBox(hosts=120, pages=6_000, seed=5, changes_per_day=1.0)
TRAITS_OF = BOX.layout.sites[:-1, TRAITS]
LYING = MODIFIED_MISSING | MODIFIED_NOW | MODIFIED_OLD


class Site:
    """A box at a time that a test sets."""

    def __init__(self, box: WebBox = BOX) -> None:
        self.box = box
        self.time = box.start
        self.answers = SiteAnswers(box, lambda: self.time)

    def ask(self, page: int, method: bytes = b"GET", **headers: bytes) -> Reply:
        parts = urlsplit(self.box.url(page))
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        return self.path(self.box.site(page), path, method, **headers)

    def path(self, site: int, path: str, method: bytes = b"GET", **headers: bytes) -> Reply:
        return self.answers.reply(Request(method, b"", path.encode(), **headers), site)


def headers(reply: Reply) -> dict[str, str]:
    lines = reply.data.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


def body(reply: Reply) -> bytes:
    return reply.data.partition(b"\r\n\r\n")[2]


def site_with(traits: int, without: int = 0) -> int:
    return int(np.flatnonzero((TRAITS_OF & traits == traits) & (TRAITS_OF & without == 0))[0])


def root_of(site: int) -> int:
    return int(BOX.layout.sites[site, START])


def test_a_page_says_its_title_its_revision_and_its_length() -> None:
    site = Site()
    reply = site.ask(0)
    assert reply.status == 200
    assert headers(reply)["content-length"] == str(len(body(reply)))
    assert f"<title>{BOX.title(0)}</title>".encode() in body(reply)
    assert b"Revision 0." in body(reply)


def test_every_page_is_answered_by_its_form() -> None:
    site = Site()
    forms = BOX.forms()
    statuses = {site.ask(page).status for page in np.flatnonzero(forms == DEAD)[:20].tolist()}
    assert statuses == {404, 410}
    for form, content_type in ((HTML, "text/html"), (XML, "application/xml"), (BARE, "text/html")):
        assert headers(site.ask(int(np.flatnonzero(forms == form)[0])))["content-type"].startswith(content_type)


def test_head_is_the_same_without_the_body() -> None:
    site = Site()
    assert site.ask(0, b"HEAD").data == site.ask(0).data.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"


def test_xml_documents_are_well_formed_and_name_their_dtd() -> None:
    site = Site()
    documents = [
        page for page in np.flatnonzero(BOX.forms() == XML).tolist() if not TRAITS_OF[BOX.site(page)] & LATIN_UNDECLARED
    ]
    replies = [body(site.ask(page)) for page in documents[:50]]
    for text in replies:
        assert ElementTree.fromstring(text).tag == "catalogue"
    assert any(b'<!DOCTYPE catalogue SYSTEM "/dtd/catalogue.dtd">' in text for text in replies)


def test_a_change_changes_the_body_and_nothing_else_does() -> None:
    site = Site()
    page = root_of(site_with(0, without=NOISY | COMPRESSES))
    change = float(BOX.changes(page, BOX.start + 1e8)[0])
    site.time = change - 1
    before = body(site.ask(page))
    site.time = BOX.start
    assert body(site.ask(page)) == before
    site.time = change + 1
    after = body(site.ask(page))
    assert b"Revision 1." in after
    old, new = (re.findall(rb"[A-Z][^.<]*\. ", text) for text in (before, after))
    assert 0.5 < np.mean([one == other for one, other in zip(old, new, strict=False)]) < 1


def test_last_modified_is_the_time_of_the_last_change() -> None:
    site = Site()
    page = root_of(site_with(0, without=LYING))
    site.time = BOX.start + 1e7
    assert headers(site.ask(page))["last-modified"] == http_date(int(BOX.changes(page, site.time)[-1])).decode()


@pytest.mark.parametrize(("trait", "form"), [(ETAG_STRONG, '"'), (ETAG_WEAK, 'W/"')])
def test_a_page_with_an_etag_is_sent_again_only_when_it_has_changed(trait: int, form: str) -> None:
    site = Site()
    page = root_of(site_with(trait))
    tag = headers(site.ask(page))["etag"].encode()
    assert tag.startswith(form.encode())
    unchanged = site.ask(page, if_none_match=b'"other", ' + tag, if_modified_since=b"Thu, 01 Jan 1970 00:00:00 GMT")
    assert unchanged.status == 304
    assert body(unchanged) == b""
    assert headers(unchanged)["etag"].encode() == tag
    site.time = float(BOX.changes(page, BOX.start + 1e8)[0]) + 1
    assert site.ask(page, if_none_match=tag).status == 200


def test_a_page_with_a_date_is_sent_again_only_when_it_has_changed() -> None:
    site = Site()
    page = root_of(site_with(0, without=LYING))
    date = headers(site.ask(page))["last-modified"].encode()
    assert site.ask(page, if_modified_since=date).status == 304
    assert site.ask(page, if_modified_since=http_date(int(BOX.start))).status == 304
    assert site.ask(page, if_modified_since=b"yesterday").status == 200
    site.time = float(BOX.changes(page, BOX.start + 1e8)[0]) + 1
    assert site.ask(page, if_modified_since=date).status == 200


def test_some_sites_give_no_date_some_a_false_one_and_some_a_fickle_tag() -> None:
    site = Site()
    site.time = BOX.start + 1e7
    assert "last-modified" not in headers(site.ask(root_of(site_with(MODIFIED_MISSING))))
    assert headers(site.ask(root_of(site_with(MODIFIED_NOW))))["last-modified"] == http_date(int(site.time)).decode()
    old = root_of(site_with(MODIFIED_OLD))
    assert "2016" in headers(site.ask(old))["last-modified"]
    assert BOX.version(old, site.time) > 0
    fickle = root_of(site_with(ETAG_FICKLE))
    assert headers(site.ask(fickle))["etag"] != headers(site.ask(fickle))["etag"]


def test_some_sites_compress_for_those_who_accept_it() -> None:
    site = Site()
    page = root_of(site_with(COMPRESSES, without=NOISY))
    packed = site.ask(page, accept_encoding=b"gzip, deflate")
    assert headers(packed)["content-encoding"] == "gzip"
    assert gzip.decompress(body(packed)) == body(site.ask(page))


def test_some_sites_are_in_latin_1_and_some_do_not_say_so() -> None:
    site = Site()
    declared, undeclared = (site.ask(root_of(site_with(trait))) for trait in (LATIN, LATIN_UNDECLARED))
    assert headers(declared)["content-type"] == "text/html; charset=iso-8859-1"
    assert headers(undeclared)["content-type"] == "text/html; charset=utf-8"
    for reply in (declared, undeclared):
        with pytest.raises(UnicodeDecodeError):
            body(reply).decode()


def test_robots_ask_for_what_the_site_wants() -> None:
    site = Site()
    private = int(np.flatnonzero(BOX.layout.sites[:-1, PRIVATES])[0])
    assert b"\nDisallow: /private/\n" in body(site.path(private, "/robots.txt"))
    assert b"\nCrawl-delay: 0.05\n" in body(site.path(site_with(CRAWL_DELAY), "/robots.txt"))
    assert (
        body(site.path(0, "/robots.txt"))
        == b"User-agent: *\nDisallow:\n\nSitemap: http://site0.localhost:8800/sitemap.xml\n"
    )
    hidden = [page for page in range(root_of(private), root_of(private + 1)) if "/private/" in BOX.url(page)]
    assert hidden
    assert set(hidden) <= set(BOX.links(root_of(private)).targets.tolist())
    assert all(BOX.links(page).targets.size == 0 for page in hidden)


def locations(text: bytes) -> list[str]:
    return re.findall(r"<loc>([^<]+)</loc>", text.decode())


@pytest.mark.parametrize("traits", [SITEMAP, SITEMAP | SITEMAP_INDEX, SITEMAP | SITEMAP_INDEX | SITEMAP_PACKED])
def test_sitemaps_list_exactly_the_pages_of_the_site_that_may_be_read(traits: int) -> None:
    site = Site()
    number = int(np.flatnonzero(TRAITS_OF & (SITEMAP | SITEMAP_INDEX | SITEMAP_PACKED) == traits)[0])
    top = body(site.path(number, "/sitemap.xml"))
    listed = locations(top)
    if traits & SITEMAP_INDEX:
        parts = [body(site.path(number, urlsplit(each).path)) for each in listed]
        parts = [gzip.decompress(each) for each in parts] if traits & SITEMAP_PACKED else parts
        listed = [url for part in parts for url in locations(part)]
    pages = range(root_of(number), root_of(number + 1))
    truth = [BOX.url(page) for page in pages if site.ask(page).status == 200 and "/private/" not in BOX.url(page)]
    assert listed == truth


def test_a_large_site_has_its_sitemap_in_parts() -> None:
    site = Site(WebBox(hosts=1, pages=12_000))
    parts = locations(body(site.path(0, "/sitemap.xml")))
    assert [urlsplit(each).path for each in parts] == ["/sitemap-1.xml", "/sitemap-2.xml", "/sitemap-3.xml"]
    assert sum(len(locations(body(site.path(0, urlsplit(each).path)))) for each in parts) == len(
        pages_to_list(site.box, 0)
    )


def test_sites_without_a_sitemap_say_404() -> None:
    assert Site().path(site_with(0, without=SITEMAP), "/sitemap.xml").status == 404


@pytest.mark.parametrize(
    ("path", "entry"), [("/feed.xml", "item"), ("/atom.xml", "{http://www.w3.org/2005/Atom}entry")]
)
def test_feeds_begin_with_what_changed_last(path: str, entry: str) -> None:
    site = Site()
    site.time = BOX.start + 1e6
    root = ElementTree.fromstring(body(site.path(0, path)))
    entries = list(root.iter(entry))
    assert len(entries) == 20
    texts = [ElementTree.tostring(each).decode() for each in entries]
    found = [BOX.page(re.findall(r"http://site0[^<\"]+", text)[0]) for text in texts]
    changed = [BOX.changed(site.time, page, page + 1)[0] for page in found if page is not None]
    assert changed == sorted(changed, reverse=True)
    assert changed[0] == BOX.changed(site.time)[pages_to_list(BOX, 0)[:200]].max()


def test_traps_have_no_end_are_no_pages_and_can_be_left_out() -> None:
    site, bare = Site(), Site(WebBox(hosts=120, pages=6_000, seed=5, traps=False))
    trapped = site_with(TRAPPED)
    path = "/trap/calendar/2026/12"
    for _ in range(3):
        reply = site.path(trapped, path)
        assert reply.status == 200
        path = re.findall(r'href="([^"]+)"', body(reply).decode())[-1]
    assert path == "/trap/calendar/2027/3"
    assert b'href="a/"' in body(site.path(trapped, "/trap/loop/a/a/a/"))
    sessions = [
        re.findall(rb"sid=([0-9a-f]+)", body(site.path(trapped, f"/trap/shop?sid={number}")))[0] for number in (1, 2)
    ]
    assert sessions[0] != sessions[1]
    assert BOX.page(f"{BOX.origin(trapped)}{path}") is None
    assert bare.path(trapped, path).status == 404
    pages = range(root_of(trapped), root_of(trapped + 1))
    assert any(b"/trap/" in body(site.ask(page)) for page in pages)
    assert not any(b"/trap/" in body(bare.ask(page)) for page in pages)


def test_noise_differs_from_one_answer_to_the_next() -> None:
    site = Site()
    page = root_of(site_with(NOISY))
    one, other = body(site.ask(page)), body(site.ask(page))
    assert one != other
    assert one.partition(b"<p>Served")[0] == other.partition(b"<p>Served")[0]


def test_slow_huge_and_broken_pages_occur() -> None:
    site = Site()
    replies = [site.ask(page) for page in np.flatnonzero(BOX.forms() == HTML)[:3_000].tolist()]
    assert {reply.delay_seconds for reply in replies} == {0.0, BOX.delay_seconds}
    assert any(len(reply.data) > 2_900_000 for reply in replies)
    assert any(b"<A HREF=" in reply.data for reply in replies)
    ordinary = [len(reply.data) for reply in replies if len(reply.data) < 1_000_000]
    assert 5_000 < np.mean(ordinary) < 20_000
