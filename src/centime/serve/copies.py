"""Kept copies of pages, shown so that nothing in them runs: the headers of the answer put them into a sandbox of an
opaque origin, without scripts, forms and requests of any kind.

Only HTML is shown as HTML. Other text is shown as plain text, and everything else is a file to save.
"""

from pathlib import Path

from starlette.responses import Response

from centime.cluster.opening import owner_of
from centime.crawl.report.bodies import typed_body_of
from centime.crawl.report.versions import Versions

SANDBOX = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'self'"
)
MOST_BODY = 16 << 20
HTML = ("text/html", "application/xhtml+xml")


def kept_copy(folder: Path, url: str, version: str) -> Response:
    """The body of a version of a page, by default the newest."""
    folder = owner_of(folder, url)
    versions = Versions(folder, url)
    chosen = versions.at(version or None)
    body, declared = typed_body_of(folder, chosen.first)
    kind, _, _ = declared.lower().partition(";")
    headers = {"Content-Security-Policy": SANDBOX, "Cache-Control": "private, no-cache"}
    if len(body) > MOST_BODY:
        body, headers["X-Truncated"] = body[:MOST_BODY], "yes"
    if kind.strip() in HTML:
        media = f"text/html; charset={_charset(declared)}" if _charset(declared) else "text/html"
    elif kind.startswith("text/") or kind.strip().endswith(("xml", "json")):
        media = "text/plain; charset=utf-8"
        headers["Content-Type"] = media
    else:
        media = "application/octet-stream"
        headers["Content-Disposition"] = 'attachment; filename="copy.bin"'
    return Response(body, headers=headers | {"Content-Type": media})


def _charset(declared: str) -> str:
    """The charset that came with the body, if it is a plain word."""
    _, found, rest = declared.lower().partition("charset=")
    word = rest.split(";")[0].strip().strip("\"'")
    return word if found and word.replace("-", "").replace("_", "").isalnum() and word.isascii() else ""
