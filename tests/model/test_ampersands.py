import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.model.ampersands import by_number


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        (b"?a=1&b=2", b"?a=1&#38;b=2"),
        (b"?a=1&amp;b=2 &lt;&gt;&quot;&apos;", b"?a=1&#38;b=2 &#60;&#62;&#34;&#39;"),
        (b"&nbsp;&#160;&#xa0;&", b"&nbsp;&#160;&#xa0;&#38;"),
        (b"<![CDATA[a&b]]>&c<!-- d&e -->&f", b"<![CDATA[a&b]]>&#38;c<!-- d&e -->&#38;f"),
        (b"<![CDATA[a&b", b"<![CDATA[a&b"),
    ],
)
def test_ampersands_become_references_by_number_but_not_where_they_are_text(written: bytes, wanted: bytes) -> None:
    assert by_number(written) == wanted


@given(st.binary())
def test_once_is_enough(text: bytes) -> None:
    assert by_number(by_number(text)) == by_number(text)
