import pytest

from centime.discover.exact import exact

BASE = "https://example.org/a/b.html"


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("c.png", "https://example.org/a/c.png"),
        ("c.css?v=1&utm_source=x#part", "https://example.org/a/c.css?v=1&utm_source=x"),
        ("font.eot?#iefix", "https://example.org/a/font.eot?"),
        ("//user:secret@CDN.example:443/x", "https://cdn.example/x"),
        ("//user@cdn.example/x@y", "https://cdn.example/x@y"),
        ("/%7euser/%c3%a9", "https://example.org/%7euser/%c3%a9"),
        ("/é", "https://example.org/%C3%A9"),
        ("http://example.org", "http://example.org/"),
        ("data:text/plain,x", None),
        ("http://[", None),
        ("x" * 5_000, None),
        ("x" * 300_000, None),
    ],
)
def test_a_file_has_the_url_that_a_browser_sends(href: str, url: str | None) -> None:
    assert exact(href, BASE) == url
