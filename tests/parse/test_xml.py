import time

import pytest

from centime.model.document import EMBEDDED, NOFOLLOW, Document
from centime.model.outcome import PageKind
from centime.parse.document import read_document


def read(text: str | bytes, content_type: str = "application/xml") -> Document:
    return read_document(
        text if isinstance(text, bytes) else text.encode(), url="https://h/d/p", content_type=content_type
    )


@pytest.mark.parametrize(
    ("text", "links"),
    [
        (
            "<r xmlns:x='http://www.w3.org/1999/xlink'>"
            "<a x:type='simple' x:href='/s'/><l x:type='locator' x:href='/l'/></r>",
            {"/s": 0, "/l": 0},
        ),
        ("<r xmlns:x='http://www.w3.org/1999/xlink' x:href='/e' x:show='embed'/>", {"/e": EMBEDDED}),
        ("<r xmlns:i='http://www.w3.org/2001/XInclude'><i:include href='part.xml'/></r>", {"part.xml": EMBEDDED}),
        ("<?xml-stylesheet type='text/xsl' href='s.xsl'?><r/>", {"s.xsl": EMBEDDED}),
        (
            "<R:RDF xmlns:R='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>"
            "<d R:about='http://o/'><e R:resource='https://p/'/><e R:resource='#q'/></d></R:RDF>",
            {"http://o/": 0, "https://p/": 0},
        ),
        (
            "<feed xmlns='http://www.w3.org/2005/Atom'><link href='/x'/><entry><content src='/c'/></entry></feed>",
            {"/x": 0, "/c": 0},
        ),
        (
            "<rss><channel><link>http://a/</link><item><link> http://b/ </link><guid>http://c/</guid><guid isPermaLink='false'>http://d/</guid>"
            "<comments>http://e/</comments><enclosure url='http://f/'/></item></channel></rss>",
            {"http://a/": 0, "http://b/": 0, "http://c/": 0, "http://e/": 0, "http://f/": 0},
        ),
        (
            "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>http://a/?x=1&amp;y</loc></url></urlset>",
            {"http://a/?x=1&y": 0},
        ),
        (
            "<html xmlns='http://www.w3.org/1999/xhtml'><body>"
            "<a href='/a'>x</a><a rel='nofollow' href='/n'/><iframe src='/f' srcdoc='&lt;a href=/s>'/></body></html>",
            {"/a": 0, "/n": NOFOLLOW, "/f": EMBEDDED, "/s": 0},
        ),
        (
            "<!DOCTYPE r SYSTEM 'r.dtd' [<!ENTITY c SYSTEM \"c.xml\"> <!-- <!ENTITY no SYSTEM 'no'> -->]><r>&c;</r>",
            {"r.dtd": EMBEDDED, "c.xml": EMBEDDED},
        ),
        ("<r><link>http://not-rss/</link></r>", {}),
    ],
)
def test_links_are_found_by_vocabulary(text: str, links: dict[str, int]) -> None:
    document = read(text)
    assert document.kind is PageKind.XML
    assert dict(zip(document.hrefs, document.flags, strict=True)) == links
    assert document.trouble == ""


def test_root_document_type_base_and_encoding_are_read() -> None:
    declaration = '<?xml version="1.0" encoding="ISO-8859-1"?>'
    text = declaration + '<!DOCTYPE c:é PUBLIC "p" "c.dtd"><c:é xmlns:c="u" xml:base="/b/"/>'
    document = read(text.encode("latin-1"))
    assert (document.root, document.hrefs, document.base, document.encoding) == (
        "é",
        ("c.dtd",),
        "https://h/b/",
        "windows-1252",
    )


def test_an_entity_bomb_is_harmless() -> None:
    entities = "".join(f'<!ENTITY a{level} "{f"&a{level - 1};" * 10}">' for level in range(1, 20))
    start = time.process_time()
    for before in ("", "<!DOCTYPE l>", "<!DOCTYPE l [ ' ]>"):
        bomb = f'{before}<!DOCTYPE l [<!ENTITY a0 "lol">{entities}]><l>&a19;<x y="&a19;"/></l>'
        assert read(bomb).kind is PageKind.XML
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("inside", ["<!-- '", "<!ENTITY x SYSTEM '", '"', "<?", "["])
def test_an_endless_document_type_is_read_in_linear_time(inside: str) -> None:
    start = time.process_time()
    read("<!DOCTYPE a [" + inside * 200_000, "text/xml")
    read(inside * 200_000, "application/xml-dtd")
    assert time.process_time() - start < 8.0  # 0.4 s; a square of the length takes hours


def test_deep_xml_is_read() -> None:
    assert read(b"<a>" * 50_000).root == "a"


def test_broken_xml_gives_what_was_read_before() -> None:
    document = read("<rss><item><link>http://a/</link></item><item><link>http://b")
    assert document.hrefs[0] == "http://a/"
    assert "broken" in document.trouble


def test_an_ampersand_that_nobody_escaped_is_part_of_the_link() -> None:
    document = read(
        "<!DOCTYPE rss SYSTEM 's.dtd'><rss><link>/1?a=1&b=2&amp;c=3</link><link><![CDATA[/2?a&b]]></link>"
        "<enclosure url='/3?a&b'/></rss>"
    )
    assert document.hrefs == ("s.dtd", "/1?a=1&b=2&c=3", "/2?a&b", "/3?a&b")
    assert "broken" in document.trouble


@pytest.mark.parametrize("wrong", ["", "<title>&nbsp;</title>", "<x>\x01</x>", "<x y=1/>"])
def test_an_ampersand_that_was_escaped_survives_what_is_wrong_before_it(wrong: str) -> None:
    document = read(f"<rss>{wrong}<link>/1?a=1&amp;b=2</link><enclosure url='/2?a=1&amp;b=2&#38;c=&lt;'/></rss>")
    assert document.hrefs == ("/1?a=1&b=2", "/2?a=1&b=2&c=<")


SAME = "<r a='1' b='2'><x>text</x> <y/></r>"


@pytest.mark.parametrize(
    "text",
    [
        "<r a='1' b='2'><x>text</x><y></y></r>",
        "<!-- c --><r a='1'\n b='2'>\n <x>text<!-- d --></x>\n<y/></r>",
        "<?xml version='1.0'?>" + SAME,
    ],
)
def test_the_signature_is_of_the_canonical_form(text: str) -> None:
    assert read(text).signature == read(SAME).signature


@pytest.mark.parametrize(
    "text",
    [
        "<r a='1' b='3'><x>text</x><y/></r>",
        "<r a='1' b='2'><x>test</x><y/></r>",
        "<r a='1' b='2'><x>text</x><z/></r>",
    ],
)
def test_the_signature_changes_with_the_content(text: str) -> None:
    assert read(text).signature != read(SAME).signature


def test_a_dtd_leads_to_the_entities_it_names() -> None:
    document = read(
        "<!ELEMENT a (b)><!ENTITY % m PUBLIC '-//x' 'm.mod'>%m;<!ENTITY c 'text'><!NOTATION gif SYSTEM 'viewer'>",
        "application/xml-dtd",
    )
    assert document.kind is PageKind.DTD
    assert document.hrefs == ("m.mod", "viewer")
    assert (
        document.signature
        == read(
            "<!-- c --><!ELEMENT a  (b)><!ENTITY % m PUBLIC '-//x' 'm.mod'>%m;<!ENTITY c 'text'>"
            "<!NOTATION gif SYSTEM 'viewer'>",
            "application/xml-dtd",
        ).signature
    )
