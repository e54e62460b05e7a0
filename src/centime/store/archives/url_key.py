"""The key of a URL in an index of captures: its SURT form, by which the tools of web archives sort and search.

    http://www.example.com:8080/A/?b=2&a=1   is   com,example:8080)/a?a=1&b=2

The labels of the host are reversed; scheme, `www`, default port, fragment and session identifiers are removed; path and
query are lower case; parameters are sorted; percent-encoding is normalised. The key loses information on purpose:
captures also have their URL.
"""

import re
from urllib.parse import quote, unquote_to_bytes, urlsplit

_KEPT = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_WWW = re.compile(r"www\d*\.")
_QUERY_SESSIONS = [
    re.compile(pattern + r"(?:&|$)", re.IGNORECASE)
    for pattern in (
        r"jsessionid=[0-9a-z]{32}",
        r"phpsessid=[0-9a-z]{32}",
        r"sid=[0-9a-z]{32}",
        r"aspsessionid[a-z]{8}=[a-z]{24}",
        r"cfid=[^&]+&cftoken=[^&]+",
    )
]
_PATH_SESSIONS = [
    re.compile(r"/\((?:[a-z]\([0-9a-z]{24}\))+\)(?=/[^?]+\.aspx)", re.IGNORECASE),
    re.compile(r"/\([0-9a-z]{24}\)(?=/[^?]+\.aspx)", re.IGNORECASE),
]


def url_key(url: str) -> str:
    """The SURT key of a canonical http or https URL."""
    parts = urlsplit(url)
    host = _WWW.sub("", parts.hostname or "", count=1) if _WWW.match(parts.hostname or "") else parts.hostname or ""
    port = "" if parts.port in (None, {"http": 80, "https": 443}.get(parts.scheme)) else f":{parts.port}"
    return f"{','.join(reversed(host.split('.')))}{port}){_path_key(parts.path)}{_query_key(parts.query)}"


def _path_key(path: str) -> str:
    kept: list[str] = []
    for segment in _plain(path).split(b"/"):
        if segment == b".." and kept:
            kept.pop()
        elif segment not in (b"", b".", b".."):
            kept.append(quote(segment, safe=_KEPT))
    key = "/" + "/".join(kept).lower()
    for session in _PATH_SESSIONS:
        key = session.sub("", key, count=1)
    return key


def _query_key(query: str) -> str:
    key = quote(_plain(query), safe=_KEPT)
    for session in _QUERY_SESSIONS:
        key = session.sub("", key, count=1)
    return (
        "?" + "&".join("=".join(pair) for pair in sorted(part.split("=", 1) for part in key.lower().split("&")))
        if key
        else ""
    )


def _plain(text: str) -> bytes:
    """The text with percent-encoding decoded until none is left."""
    before, plain = b"", text.encode()
    while plain != before:
        before, plain = plain, unquote_to_bytes(plain)
    return plain
