"""Answers: a report as a page, as JSON or as CSV; errors as pages or as JSON; and the headers that every answer has."""

from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from xxhash import xxh3_64_hexdigest

from centime.model.errors import BadInput, CentimeError, DamagedCrawl, UnknownPage
from centime.model.spreadsheet import csv_lines
from centime.model.visible import visible
from centime.serve.glance import Glance
from centime.serve.rendering import render
from centime.serve.resource import Parameters, Resource

HTML, JSON, CSV = "text/html; charset=utf-8", "application/json", "text/csv; charset=utf-8"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # not no-referrer, with which forms have the origin null
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes of an answer, with their ETag."""

    content: bytes
    media: str
    tag: str
    following: str  # the cursor of the next part of a list, or ""


def size_of(body: Body) -> int:
    """The bytes that a remembered answer takes."""
    return len(body.content) + 500


def made(resource: Resource[Any], crawl: str, form: str, glance: Glance, wanted: Parameters) -> Body:
    """The answer of a resource in a form: html, json or csv."""
    report = resource.report(glance, wanted)
    following = report.get("next") if resource.columns else None
    match form:
        case "json":
            content, media = msgspec.json.encode(_finite(report)), JSON
        case "csv":
            columns = [name for name in resource.columns if name not in resource.optional or _has(report, name)]
            content, media = "".join(csv_lines(tuple(columns), report["rows"])).encode(errors="replace"), CSV
        case _:
            content = render(
                f"{resource.name}.html",
                report=report,
                wanted=wanted,
                crawl=crawl,
                here=resource.name,
                resource=resource,
                now=glance.now,
                clustered=glance.parts.is_cluster,
            )
            media = HTML
    return Body(content, media, f'"{xxh3_64_hexdigest(content)}"', following or "")


def _has(report: dict[str, Any], name: str) -> bool:
    return any(name in row for row in report["rows"])


def _finite(value: Any) -> Any:
    """The report in the types of JSON: a number that is not finite becomes null."""
    match value:
        case float():
            return value if value - value == 0.0 else None
        case dict():
            return {str(name): _finite(part) for name, part in value.items()}
        case list() | tuple():
            return [_finite(part) for part in value]
        case None | bool() | int() | str():
            return value
        case _ if hasattr(value, "tolist"):
            return _finite(value.tolist())
        case _:
            return str(value)


def answer(request: Request, body: Body) -> Response:
    """The response with these bytes, or 304 if the client has them."""
    headers = {"ETag": body.tag, "Cache-Control": "private, no-cache"}
    if body.following:
        onward = request.url.include_query_params(cursor=body.following)
        headers["Link"] = f'<{onward.path}?{onward.query}>; rel="next"'
    known = request.headers.get("if-none-match", "")
    if known.strip() == "*" or body.tag in (one.strip().removeprefix("W/") for one in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(body.content, media_type=body.media, headers=headers)


def failed(request: Request, status: int, sentence: str, hint: str = "") -> Response:
    """An error: a page for people, an object for programs."""
    if wants_json(request):
        content = msgspec.json.encode({"error": visible(sentence), "hint": visible(hint) or None})
        return Response(content, status_code=status, media_type=JSON)
    page = render("error.html", status=status, sentence=sentence, hint=hint, crawl=None, here="")
    return Response(page, status_code=status, media_type=HTML)


def wants_json(request: Request) -> bool:
    """Whether the client that gets an error is a program."""
    path = request.url.path
    return path.startswith(("/api/", "/push/")) or path.endswith((".json", ".csv"))


def status_of(trouble: CentimeError) -> tuple[int, str]:
    """The HTTP status of an error, and a hint."""
    match trouble:
        case UnknownPage():
            return 404, ""
        case BadInput():
            return 400, ""
        case DamagedCrawl(folder=folder):
            return 503, f"centime repair {folder} restores what can be proven; this page tries again by itself."
        case _:
            return 503, "This page tries again when it is loaded again."
