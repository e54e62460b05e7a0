import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.parse.document import read_document
from centime.parse.encoding import MOST_SEARCHED, as_utf8, with_queries_in

WORD = "café"


@pytest.mark.parametrize(
    ("body", "content_type", "xml", "name"),
    [
        ("\ufeff" + WORD, "text/html; charset=latin1", False, "utf-8"),
        (WORD, "text/html; charset=ISO-8859-1", False, "windows-1252"),
        (WORD, 'text/html; charset="utf-8"', False, "utf-8"),
        ('<meta charset="iso-8859-2">' + WORD, "", False, "iso-8859-2"),
        ('<meta charset="iso-8859-2">' + WORD, "text/html; charset=koi8-r-unknown", False, "iso-8859-2"),
        ("<!-- <meta charset=koi8-r> --><meta http-equiv=content-type content='x; charset=big5'>", "", False, "big5"),
        ("<meta charset=utf-16>" + WORD, "", False, "utf-8"),
        ("<meta charset=nonsense><meta charset=windows-1252>" + WORD, "", False, "windows-1252"),
        (" " * 1_100 + "<meta charset=iso-8859-2>" + WORD, "", False, "iso-8859-2"),
        (" " * 1_010 + "<meta charset=iso-8859-15>" + WORD, "", False, "iso-8859-15"),
        ("<!--" + "x" * 3_000 + "--><meta charset=iso-8859-2>" + WORD, "", False, "iso-8859-2"),
        ("<script>" + "x" * 3_000 + "</script><meta charset=iso-8859-2>" + WORD, "", False, "iso-8859-2"),
        ("<script>'<meta charset=big5>'</script><meta charset=iso-8859-2>" + WORD, "", False, "iso-8859-2"),
        (" " * 1_100 + "<!--<meta charset=big5>--><title><meta charset=big5></title>" + WORD, "", False, "utf-8"),
        (" " * 1_100 + "<meta name=description content='charset=big5'>" + WORD, "", False, "utf-8"),
        (" " * 70_000 + "<meta charset=big5>" + WORD, "", False, "utf-8"),
        (" " * 1_100 + "<meta charset=big5>" + WORD, "text/html; charset=utf-8", False, "utf-8"),
        ('<?xml version="1.0" encoding="ISO-8859-1"?><a>' + WORD, "", True, "windows-1252"),
        ("<meta charset=koi8-r>" + WORD, "", True, "utf-8"),
        (WORD, "", False, "utf-8"),
    ],
)  # fmt: skip
def test_the_encoding_is_found_in_the_order_of_whatwg(body: str, content_type: str, xml: bool, name: str) -> None:
    encoded = body.encode({"windows-1252": "cp1252", "big5": "ascii"}.get(name, name))
    text, found = as_utf8(encoded, content_type, xml=xml)
    assert found == name
    assert text.decode() == body.removeprefix("\ufeff")


def test_what_is_not_utf_8_and_says_nothing_is_windows_1252() -> None:
    assert as_utf8(b"caf\xe9 \x80") == ("café €".encode(), "windows-1252")


@pytest.mark.parametrize(("codec", "mark"), [("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")])
def test_wide_text_is_known_by_its_mark(codec: str, mark: bytes) -> None:
    assert as_utf8(mark + WORD.encode(codec))[0].decode() == WORD
    declaration = '<?xml version="1.0"?><a/>'
    assert as_utf8(declaration.encode(codec), xml=True)[0].decode() == declaration


@given(
    st.binary(max_size=100),
    st.sampled_from(
        ["", "charset=utf-8", "charset=utf-16", "charset=shift_jis", "charset=x-user-defined", "charset=replacement"]
    ),
)
def test_what_comes_out_is_always_utf_8(body: bytes, content_type: str) -> None:
    text, _ = as_utf8(body, content_type)
    text.decode()
    text, _ = as_utf8(body, content_type, xml=True)
    text.decode()


@pytest.mark.parametrize(
    ("encoding", "href", "written"),
    [
        ("windows-1252", "/é?q=é&b=ü#é?é", "/é?q=%E9&b=%FC#é?é"),
        ("windows-1252", "/é#é?é", "/é#é?é"),
        ("windows-1252", "?q=Ж?é", "?q=%26%231046%3B?%E9"),
        ("windows-1251", "?q=Жé", "?q=%C6%26%23233%3B"),
        ("shift_jis", "?ソ=表", "?%83\\=%95\\"),
        ("iso-2022-jp", "?q=日", "?q=%1B$BF|%1B(B"),
        ("euc-kr", "?q=\U0001f600", "?q=%26%23128512%3B"),
        ("utf-8", "?q=é", "?q=é"),
        ("utf-16le", "?q=é", "?q=é"),
        ("replacement", "?q=é", "?q=é"),
        ("", "?q=é", "?q=é"),
    ],
)
def test_the_query_of_a_link_is_in_the_encoding_of_the_page_and_its_path_is_not(
    encoding: str, href: str, written: str
) -> None:
    assert with_queries_in(("/plain?a=1", href), encoding) == ("/plain?a=1", written)


@given(
    st.text(max_size=20),
    st.sampled_from(["windows-1252", "gbk", "gb18030", "big5", "iso-2022-jp", "x-user-defined", "iso-8859-8-i"]),
)
def test_any_query_of_any_page_is_ascii(query: str, encoding: str) -> None:
    query = query.replace("#", "")
    assert with_queries_in((f"/?{query}",), encoding)[0].isascii()


@pytest.mark.parametrize(
    ("encoding", "url", "text"),
    [
        ("windows-1251", "http://a.ru/", "Городской музей открыт каждый день, кроме понедельника"),
        ("koi8-u", "http://a.ua/", "Міський музей відчинено щодня, крім понеділка"),
        ("shift_jis", "http://a.jp/", "市立博物館は月曜日を除いて毎日開いています"),
        ("euc-jp", "http://a.example/", "市立博物館は月曜日を除いて毎日開いています"),
        ("iso-2022-jp", "http://a.jp/", "市立博物館は月曜日を除いて毎日開いています"),
        ("euc-kr", "http://a.kr/", "시립 박물관은 월요일을 제외하고 매일 문을 엽니다"),
        ("gb18030", "http://a.cn/", "市博物馆除星期一外每天开放。星期四学生可以免费参观"),
        ("big5", "http://a.tw/", "市立博物館除了星期一以外每天開放。星期四學生可以免費參觀"),
        (
            "iso-8859-2",
            "http://a.pl/",
            "Wystawa opowiada o dawnych mapach i ludziach, którzy śpią; wejście płatne, książki",
        ),
        ("windows-1253", "http://127.0.0.1/", "Το μουσείο της πόλης είναι ανοιχτό κάθε μέρα εκτός Δευτέρας"),  # noqa: RUF001
        ("windows-874", "http://a.th/", "พิพิธภัณฑ์ของเมืองเปิดทุกวันยกเว้นวันจันทร์"),
        ("windows-1252", "http://a.de/", "Das Städtische Museum ist täglich außer montags geöffnet"),
    ],
)
def test_an_encoding_that_nobody_declares_is_detected(encoding: str, url: str, text: str) -> None:
    body = f"<title>{text}</title><a href='/x?q={text[:2]}'>".encode("cp874" if encoding == "windows-874" else encoding)
    utf8, _ = as_utf8(body, "text/html", url=url)
    assert text in utf8.decode()
    document = read_document(body, url=url, content_type="text/html")
    assert document.title == text
    assert document.hrefs == (f"/x?q={text[:2]}",)


def test_a_link_of_a_page_that_says_late_how_it_is_written_has_its_name() -> None:
    page = f"<head><!--{'x' * 2_000}--><meta charset=windows-1251></head><a href='/t/мир'>"
    document = read_document(page.encode("cp1251"), url="http://h/", content_type="text/html")
    assert (document.encoding, document.hrefs) == ("windows-1251", ("/t/мир",))


@pytest.mark.parametrize(
    "piece",
    [
        b"<meta ",
        b"<!--",
        b"<script ",
        b"<title>",
        b"<",
        b'<meta a="',
        b"charset ",
        b"<meta charset>",
        b"<meta charset=",
    ],
)
def test_no_page_makes_the_search_for_an_encoding_long(piece: bytes) -> None:
    started = time.process_time()
    as_utf8(piece * (MOST_SEARCHED // len(piece)) + b"charset")
    assert time.process_time() - started < 1  # 0.02 s; a square of the length takes many seconds


@pytest.mark.parametrize(
    "url", ["", "http://h/", "http://[::1]/", "http://a.xn--p1ai/", "http://1.2.3.4:80/", "http://a./"]
)
def test_whatever_the_host_an_encoding_is_detected(url: str) -> None:
    assert as_utf8(b"caf\xe9", url=url)[1]
