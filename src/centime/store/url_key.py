"""The key of a URL in an index of captures: its SURT form, as the tools of web archives sort and look up by.

    http://www.example.com:8080/A/?b=2&a=1   is   com,example:8080)/a?a=1&b=2

The host is turned round, scheme, `www`, default port and fragment go, path and query are lower case, parameters sorted,
session identifiers left out, percent-encoding undone and done once. It is lossy on purpose: captures also carry their
URL.
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
    """With percent-encoding undone until nothing is left of it."""
    before, plain = b"", text.encode()
    while plain != before:
        before, plain = plain, unquote_to_bytes(plain)
    return plain
