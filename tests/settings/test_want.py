import pytest

from centime.discover.suffixes import SUFFIXES
from centime.model.errors import BadSetting
from centime.model.outcome import PageKind
from centime.settings.crawl import CrawlSettings
from centime.settings.live import changed, read_values
from centime.settings.reading import settings_from
from centime.settings.want import check_want, want_of

URL = "http://a.example/b"


@pytest.mark.parametrize(
    ("want", "url", "kind", "content_type", "wanted"),
    [
        ("xml", URL, PageKind.XML, "text/html", True),
        ("xml", f"{URL}.xml", PageKind.HTML, "application/xml", False),
        ("XML", URL, PageKind.XML, "", True),
        ("html", URL, PageKind.HTML, "", True),
        ("dtd", URL, PageKind.DTD, "", True),
        ("pdf", URL, PageKind.OTHER, "application/pdf", True),
        ("pdf", URL, PageKind.OTHER, "application/x-pdf; charset=binary", True),
        ("pdf", f"{URL}.PDF", PageKind.OTHER, "application/octet-stream", True),
        ("pdf", f"{URL}.pdf", PageKind.HTML, "text/html", False),
        ("pdf", URL, PageKind.OTHER, "image/png", False),
        ("images", URL, PageKind.OTHER, "image/webp", True),
        ("images", f"{URL}.png", PageKind.OTHER, "", True),
        ("images", URL, PageKind.OTHER, "video/mp4", False),
        ("/b$", URL, PageKind.HTML, "", True),
        ("/c", URL, PageKind.HTML, "", False),
    ],
)
def test_kinds_are_recognised_by_what_was_read_and_patterns_by_the_url(
    want: str, url: str, kind: PageKind, content_type: str, wanted: bool
) -> None:
    check_want(want)
    assert want_of(want).is_wanted(url, kind, content_type) == wanted
    assert want_of(want).matches(url) == (wanted and want.startswith("/"))


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("xlm", "not 'xlm'; did you mean xml\\?"),
        ("news", "or a pattern of URLs such as /news/, not 'news'"),
        ("", "a crawl wants a kind of page"),
        ("all", "a crawl wants a kind of page"),
        ("(", "the pattern '\\(' is not a regular expression"),
        ("/(?=a)", "look-around"),
    ],
)
def test_what_is_neither_a_kind_nor_a_pattern_is_refused(want: str, said: str) -> None:
    with pytest.raises(BadSetting, match=f"want: .*{said}"):
        settings_from({"want": want}, where="c")


def test_wanted_files_are_fetched_and_others_still_refused() -> None:
    assert settings_from({"want": "pdf"}, where="c").refused_suffixes() == SUFFIXES - {"pdf"}
    assert not settings_from({"want": "images"}, where="c").refused_suffixes() & {"png", "jpg"}
    for same in ("xml", "html", "/a/"):
        assert settings_from({"want": same}, where="c").refused_suffixes() == SUFFIXES
    assert "pdf" in settings_from({"want": "pdf", "refuse-suffix": "pdf"}, where="c").refused_suffixes()


def test_what_is_wanted_is_set_and_taken_back_while_a_crawl_runs() -> None:
    start = changed(CrawlSettings(), read_values(["want=xml"]))
    assert start.want == "xml"
    assert changed(start, read_values(["want=none"])).want is None
    with pytest.raises(BadSetting, match="did you mean html"):
        changed(start, read_values(["want=htlm"]))
