import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.model.media_type import MediaType, media_type_of
from centime.model.outcome import Outcome
from centime.model.response import Response


@pytest.mark.parametrize(
    ("content_type", "name", "charset"),
    [
        ("text/html", "text/html", ""),
        ('TEXT/HTML; Charset="utf-8"', "text/html", "utf-8"),
        ("text/html, text/html; charset=utf-8", "text/html", "utf-8"),
        ("text/html; charset=gbk, text/html", "text/html", "gbk"),
        ("text/html; charset=gbk, text/html; x=y, text/html", "text/html", "gbk"),
        ("text/html; charset=gbk, text/plain, text/html", "text/html", ""),
        ("text/html; charset=gbk, text/html; charset=utf-8", "text/html", "utf-8"),
        ("text/plain, text/html", "text/html", ""),
        ("text/html, html, */*,", "text/html", ""),
        ('text/html; title="a, text/plain"', "text/html", ""),
        ('text/html; title="a\\", text/plain', "text/html", ""),
        ('text/html; title="a, text/plain', "text/html", ""),
        ("text/html charset=utf-8", "text/html", "utf-8"),
        ("text/html; xcharset=utf-8", "text/html", ""),
        ("html", "", ""),
        ("text /html", "", ""),
        ("*/*; charset=gbk", "", "gbk"),
        ("", "", ""),
    ],
)
def test_the_last_valid_type_counts_with_its_charset(content_type: str, name: str, charset: str) -> None:
    assert media_type_of(content_type) == (name, charset)


@given(st.lists(st.sampled_from(["text/html", "text/plain;charset=gbk", "html", '"', 'x/y;a="\\', "*/*"])))
def test_any_list_of_types_has_one(parts: list[str]) -> None:
    assert isinstance(media_type_of(",".join(parts)), MediaType)
    assert media_type_of(", ".join([*(one for one in parts if '"' not in one), "a/b"])).name == "a/b"


def test_every_content_type_of_a_response_is_considered() -> None:
    headers = (("content-type", "text/plain"), ("date", "x"), ("content-type", "text/html"))
    response = Response(url="http://h/", outcome=Outcome.READ, headers=headers)
    assert response.content_type == "text/plain, text/html"
