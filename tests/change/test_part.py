"""What a person selects and ignores decides which differences are changes; links and bytes are those of the page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.change.part import WHOLE, ComparedPart, check_rule, check_selection
from centime.model.document import Document
from centime.model.errors import BadSetting
from centime.parse.document import read_document

PAGE = """<html><body><nav>Home <a href=/x>more</a></nav><main><h1>News</h1><p>{news}</p>
<div class="ads big">Buy {ad} now</div>tail {tail}</main><footer>{users} users online</footer></body></html>"""
USUAL = {"news": "Snow falls", "ad": "shoes", "tail": "end", "users": "17"}


def signature(part: ComparedPart, url: str = "http://a.example/news/1", **changed: str) -> int:
    body = PAGE.format(**USUAL | changed).encode()
    return part.of(document(body), url, body).signature


def document(body: bytes) -> Document:
    return read_document(body, url="http://a.example/", content_type="text/html; charset=utf-8")


@pytest.mark.parametrize(
    ("select", "ignore", "seen", "unseen"),
    [
        ((), (), "news ad tail users", ""),
        (("css:main",), (), "news ad tail", "users"),
        (("css:h1, p",), (), "news", "ad tail users"),
        (("css:main", "css:footer"), (), "news ad tail users", ""),
        (("css:main", "css:p"), ("css:.ads",), "news tail", "ad users"),
        ((), ("css:.ads",), "news tail users", "ad"),
        ((), ("css:.ads", "regex:[0-9]+ users"), "news tail", "ad users"),
        ((), ("/news/=css:.ads",), "news tail users", "ad"),
        ((), ("/shop/=css:.ads",), "news ad tail users", ""),
        (("/shop/=css:p",), (), "news ad tail users", ""),
        (("css:.nowhere",), (), "news ad tail users", ""),
        ((), ("css:html",), "", "news ad tail users"),
        ((), ("regex:(?i)SNOW [a-z]+",), "ad tail users", ""),
    ],
)
def test_a_difference_counts_only_where_it_is_compared(
    select: tuple[str, ...], ignore: tuple[str, ...], seen: str, unseen: str
) -> None:
    part = ComparedPart(select, ignore)
    usual = signature(part)
    other = {"news": "Rain falls", "ad": "hats", "tail": "finish", "users": "2518"}
    assert all(signature(part, **{name: other[name]}) != usual for name in seen.split())
    assert all(signature(part, **{name: other[name]}) == usual for name in unseen.split())


def test_links_title_and_digest_stay_those_of_the_whole_page() -> None:
    body = PAGE.format(**USUAL).encode()
    whole = document(body)
    part = ComparedPart(("css:footer",)).of(whole, "http://a.example/", body)
    assert (part.hrefs, part.digest, part.title, part.encoding) == (
        whole.hrefs,
        whole.digest,
        whole.title,
        whole.encoding,
    )
    assert part.signature != whole.signature


def test_text_behind_an_ignored_element_stays() -> None:
    part = ComparedPart((), ("css:b",))
    first, second = b"<p>a <b>1</b> c</p>", b"<p>a <b>2</b> d</p>"
    same = b"<p>a <b>3</b> c</p>"
    values = [part.of(document(body), "http://a.example/", body).signature for body in (first, second, same)]
    assert values[0] != values[1]
    assert values[0] == values[2]


def test_xml_is_compared_by_selectors_too() -> None:
    part = ComparedPart((), ("css:lastBuildDate",))
    bodies = [
        b"<rss><channel><title>%s</title><lastBuildDate>%s</lastBuildDate></channel></rss>" % pair
        for pair in ((b"A", b"1"), (b"A", b"2"), (b"B", b"2"))
    ]
    signatures = []
    for body in bodies:
        feed = read_document(body, url="http://a.example/", content_type="application/rss+xml")
        signatures.append(part.of(feed, "http://a.example/", body).signature)
    assert signatures[0] == signatures[1] != signatures[2]


@given(st.binary(max_size=300))
def test_any_bytes_are_compared_without_an_error(body: bytes) -> None:
    part = ComparedPart(("css:main p:nth-child(2)",), ("css:.x > a", "regex:[0-9]+"))
    assert part.of(document(body), "http://a.example/", body).digest == document(body).digest


def test_what_is_too_large_or_no_page_is_compared_as_a_whole() -> None:
    part = ComparedPart(("css:main",))
    large = b"<main>" + b"a " * (1 << 20) + b"</main>"
    assert part.of(document(large), "http://a.example/", large) == document(large)
    picture = read_document(b"\x89PNG", url="http://a.example/", content_type="image/png")
    assert part.of(picture, "http://a.example/", b"\x89PNG") is picture
    assert WHOLE.of(document(b"<p>a"), "http://a.example/", b"<p>a").signature == document(b"<p>a").signature


@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "cp1251", "iso2022_jp"])
@pytest.mark.parametrize("content_type", ["text/plain", "application/json", ""])
def test_plain_text_is_compared_without_what_an_expression_finds(content_type: str, codec: str) -> None:
    def signed(part: ComparedPart, text: str) -> int:
        charset = {"cp1251": "windows-1251", "iso2022_jp": "iso-2022-jp"}.get(codec, "")
        said = f"{content_type}; charset={charset}" if charset and content_type else content_type
        body = text.encode(codec)
        read = read_document(body, url="http://a.example/", content_type=said)
        return part.of(read, "http://a.example/", body).signature

    part = ComparedPart((), ("regex:[0-9]+ users online",))
    usual = signed(part, "The list has 5 users online and one name")
    assert signed(part, "The list has 66 users online and one name") == usual
    assert signed(part, "The list has 5 users online and two names") != usual
    elsewhere = ComparedPart(("css:main",), ("css:.ads", "/shop/=regex:[0-9]+"))
    assert signed(elsewhere, "5") != signed(elsewhere, "6")


@given(st.binary(max_size=40), st.binary(max_size=40), st.sampled_from(["", "; charset=utf-8", "; charset=big5"]))
def test_bytes_that_are_no_text_differ_however_they_are_declared(one: bytes, other: bytes, charset: str) -> None:
    part = ComparedPart((), ("regex:no-such-text",))
    one, other = b"\x89PNG" + one, b"\x89PNG" + other
    read = [read_document(body, url="http://a.example/", content_type=f"image/png{charset}") for body in (one, other)]
    signatures = [
        part.of(each, "http://a.example/", body).signature for each, body in zip(read, (one, other), strict=True)
    ]
    assert (signatures[0] == signatures[1]) == (one == other)


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("", "css:SELECTOR or regex:REGEX"),
        ("main", "css:SELECTOR or regex:REGEX"),
        ("css:", "name a part"),
        ("regex:", "name a part"),
        ("css:p[", "is not a CSS selector"),
        ("css:p::nonsense", "is not a CSS selector"),
        ("css:" + "a" * 2_000, "at most 1000"),
        ("regex:(", "not a regular expression"),
        ("regex:a*", "empty text"),
        ("(=css:p", "not a regular expression"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused(rule: str, sentence: str) -> None:
    with pytest.raises(BadSetting, match=sentence):
        check_rule(rule)


def test_only_elements_are_selected() -> None:
    check_selection("/news/=css:main")
    with pytest.raises(BadSetting, match="keeps elements"):
        check_selection("regex:a")
