"""The application: which address leads to which answer, and the checks that every request must pass first.

    /                                   the crawls that are served
    /c/NAME/RESOURCE[.json|.csv]        a resource of a crawl (`resource.py`)
    /c/NAME/copy?url=&version=          a kept copy, in a sandbox (`copies.py`)
    /c/NAME/orders                      orders (`ordering.py`)
    /c/NAME/changes.atom                changes as a feed
    /api/v1/...                         the same for programs, with events (`events.py`) and OpenAPI (`openapi.py`)
    /metrics                            figures for Prometheus (`metrics.py`)
    /push/...                           other systems announce pages (`pushes/`)
    /help, /login, /static/...

No address leads to a file name: static files are a fixed list that is read when the server starts, and pages of a crawl
are looked up in its state.

Over 400 lines because all addresses are in one place, each with its rules of access.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from centime.cluster.folder import is_cluster
from centime.cluster.opening import folders_of
from centime.crawl.commands.inbox import running
from centime.crawl.report.opening import moment
from centime.crawl.report.subscribers import subscription_table
from centime.model.errors import BadInput, CentimeError
from centime.model.spreadsheet import csv_lines
from centime.model.visible import visible
from centime.serve.access import SESSION_SECONDS, Access, Visitor, is_same_site, new_cookie
from centime.serve.answers import CSV, HEADERS, HTML, JSON, POLICY, Body, answer, failed, made, size_of
from centime.serve.copies import kept_copy
from centime.serve.events import KINDS, EventFeed
from centime.serve.failures import HANDLERS
from centime.serve.fields import DOCUMENTS, FIELDS
from centime.serve.glance import Glance
from centime.serve.metrics import metrics
from centime.serve.openapi import PREFIX, written
from centime.serve.ordering import COLUMNS, give_order, order_list
from centime.serve.proxy import forwarded
from centime.serve.pushes.doors import PING_SECONDS, CrawlDoors, NotSigned
from centime.serve.pushes.settings import Doors
from centime.serve.rendering import HERE, render
from centime.serve.reports import RESOURCES
from centime.serve.resource import Parameters
from centime.serve.served_crawl import ServedCrawl

ANSWER_SECONDS = 30.0
BODY_SECONDS = 10.0
MOST_FORM = 1 << 20
LOOKED_SECONDS = 400 * 86_400.0
OPEN = ("/login", "/static/", "/push/")  # what needs no token: /push/ has secrets of its own
STATIC = {
    "style.css": "text/css; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
FEED = 100  # entries

_log = logging.getLogger("centime.serve")


class Window:
    """The pages and the API of some crawls."""

    def __init__(
        self, crawls: Mapping[str, ServedCrawl], access: Access, doors: Mapping[str, Doors] | None = None
    ) -> None:
        self.crawls = crawls
        self.doors = {name: CrawlDoors(crawls[name].path, one) for name, one in (doors or {}).items()}
        self.access = access
        self.feeds = {name: EventFeed(crawl) for name, crawl in crawls.items()}
        self._static = {name: (HERE / "static" / name).read_bytes() for name in STATIC}
        self._openapi = written().encode()
        routes = [
            Route("/", self.index),
            Route("/help", self.help),
            Route("/login", self.login, methods=["GET", "POST"]),
            Route("/logout", self.logout, methods=["POST"]),
            Route("/static/{name}", self.static),
            Route("/metrics", self.metrics),
            Route("/push/{crawl}/websub/{topic}", self.websub, methods=["GET", "POST"]),
            Route("/push/{crawl}/{door}", self.push, methods=["GET", "POST"]),
            Route("/c/{crawl}", self.front),
            Route("/c/{crawl}/copy", self.copy),
            Route("/c/{crawl}/events", self.events),
            Route("/c/{crawl}/changes.atom", self.atom),
            Route("/c/{crawl}/orders", self.orders, methods=["GET", "POST"]),
            Route("/c/{crawl}/orders.{form}", self.order_table),
            Route("/c/{crawl}/{name}", self.page),
            Route(f"{PREFIX}/openapi.json", self.openapi),
            Route(f"{PREFIX}/crawls", self.listed),
            Route(f"{PREFIX}/crawls/{{crawl}}/events", self.events),
            Route(f"{PREFIX}/crawls/{{crawl}}/orders", self.api_orders, methods=["GET", "POST"]),
            Route(f"{PREFIX}/crawls/{{crawl}}/{{name}}", self.api),
        ]
        self._starlette = Starlette(routes=routes, exception_handlers=HANDLERS)
        self.application: ASGIApp = self._guarded

    async def close(self) -> None:
        """Ends all events and closes all crawls."""
        for feed in self.feeds.values():
            await feed.close()
        for doors in self.doors.values():
            await doors.close()
        for crawl in self.crawls.values():
            await crawl.close()

    # ---- the checks that every request must pass

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if self.access.behind_proxy:
            scope = forwarded(scope)
        request = Request(scope, receive)
        began, status = time.monotonic(), 0

        async def guarded_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Content-Security-Policy", POLICY)
            await send(message)

        refused = self._refused(request)
        try:
            await (refused or self._starlette)(scope, receive, guarded_send)
        finally:
            level = logging.INFO if refused or status >= 500 else logging.DEBUG
            if _log.isEnabledFor(level):
                facts = {"method": request.method, "path": scope["path"], "status": status}
                seconds = round(time.monotonic() - began, 6)
                _log.log(level, "request", extra={"facts": facts | {"address": _address(request), "seconds": seconds}})

    def _refused(self, request: Request) -> Response | None:
        """The answer to a request that may not pass; None if it may."""
        if not self.access.is_own_host(request.headers.get("host", "")):
            return PlainTextResponse("This server does not have that name: use http://127.0.0.1 or a token.\n", 421)
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or int(length[:15]) > MOST_FORM:
            return failed(request, 413, f"The body of a request has at most {MOST_FORM} bytes.")
        authorization = request.headers.get("authorization", "")
        visitor = self.access.visitor(request.cookies.get(_cookie(request), ""), authorization)
        path = request.url.path
        if visitor is None and path.startswith(OPEN):
            visitor = Visitor("")
        if visitor is None:
            if authorization and (refused := self._failure(request)):
                return refused
            if path.startswith("/api/") or path == "/metrics" or authorization:
                return failed(request, 401, "A token is needed: Authorization: Bearer TOKEN.")
            return RedirectResponse(f"/login?to={quote(path)}", 303)
        pushed = path.startswith("/push/")  # signed, or verified by the crawl
        if request.method not in ("GET", "HEAD") and not pushed and not is_same_site(request.headers):
            return failed(request, 403, "This request comes from another site.")
        request.state.visitor = visitor
        return None

    def _failure(self, request: Request) -> Response | None:
        """Counts a wrong token or signature; the answer if there were too many before it, else None."""
        address = _address(request)
        if wait := self.access.failures.wait(address):
            return _wait(request, "Too many wrong tokens or signatures came from this address.", wait)
        self.access.failures.count(address)
        return None

    def _crawl(self, request: Request) -> ServedCrawl:
        crawl = self.crawls.get(request.path_params["crawl"])
        if crawl is None:
            raise HTTPException(404, "No crawl of this name is served here.")
        return crawl

    # ---- pages

    async def index(self, request: Request) -> Response:
        """The crawls that are served, or the only one."""
        if len(self.crawls) == 1:
            return RedirectResponse(f"/c/{quote(next(iter(self.crawls)), safe='')}/overview", 303)
        rows = await self._listed()
        return Response(render("index.html", rows=rows, crawl=None, here=""), media_type=HTML)

    async def help(self, request: Request) -> Response:
        """The meaning of every figure."""
        page = render("help.html", fields=FIELDS, documents=DOCUMENTS, crawl=None, here="help")
        return Response(page, media_type=HTML)

    async def static(self, request: Request) -> Response:
        """A file of the window itself."""
        name = request.path_params["name"]
        if name not in self._static:
            raise HTTPException(404, "There is no such file.")
        return Response(self._static[name], media_type=STATIC[name], headers={"Cache-Control": "max-age=300"})

    async def front(self, request: Request) -> Response:
        """The overview."""
        return RedirectResponse(f"/c/{quote(self._crawl(request).name, safe='')}/overview", 303)

    async def page(self, request: Request) -> Response:
        """A resource in the form that its address names."""
        name, _, form = request.path_params["name"].partition(".")
        if form not in ("", "json", "csv") or name not in RESOURCES:
            raise HTTPException(404, "There is no such page.")
        if form == "csv" and not RESOURCES[name].columns:
            raise HTTPException(404, "This is not a list: use .json.")
        query = dict(request.query_params)
        if name == "changes" and not form:
            return await self._changes(request, query)
        return answer(request, await self._body(self._crawl(request), name, form or "html", query))

    async def _changes(self, request: Request, query: dict[str, str]) -> Response:
        """The changes since this browser last looked, which a cookie remembers."""
        crawl = self._crawl(request)
        cookie = f"{_cookie(request)}-looked-{crawl.name.encode().hex()}"
        if query.pop("seen", ""):
            now = await crawl.run(lambda glance: glance.now)
            response: Response = RedirectResponse(f"/c/{quote(crawl.name, safe='')}/changes", 303)
            _set_cookie(request, response, moment(now) or "", cookie, LOOKED_SECONDS)
            return response
        looked = request.cookies.get(cookie, "")
        if looked and not query:
            query = {"since": looked, "order": "importance", "diff": "true"}
        try:
            return answer(request, await self._body(crawl, "changes", "html", query))
        except BadInput:
            if looked and query.get("since") == looked:
                return answer(request, await self._body(crawl, "changes", "html", {}))
            raise

    async def _body(self, crawl: ServedCrawl, name: str, form: str, query: Mapping[str, str]) -> Body:
        resource = RESOURCES[name]
        wanted: Parameters = resource.read(query)

        def work(glance: Glance) -> Body:
            return made(resource, crawl.name, form, glance, wanted)

        async with asyncio.timeout(ANSWER_SECONDS):
            if not resource.remembered:
                return await crawl.run(work)
            return (await crawl.ask((name, form, wanted), work, size_of)).value

    async def copy(self, request: Request) -> Response:
        """A kept copy."""
        crawl, query = self._crawl(request), request.query_params
        async with asyncio.timeout(ANSWER_SECONDS):
            return await crawl.beside(kept_copy, crawl.path, query.get("url", ""), query.get("version", ""))

    async def atom(self, request: Request) -> Response:
        """The newest changes as a feed."""
        crawl = self._crawl(request)
        here = str(request.url)

        def feed(glance: Glance) -> bytes:
            rows = glance.changes.newest_first(request.query_params.get("match", ""), FEED)
            return "".join(glance.changes.atom(rows, here)).encode()

        return Response(await crawl.run(feed), media_type="application/atom+xml")

    # ---- orders

    async def orders(self, request: Request) -> Response:
        """The orders so far, and forms for new ones."""
        crawl, visitor = self._crawl(request), request.state.visitor
        cookie = visitor.cookie or new_cookie()
        said = wrong = ""
        status = 200
        if request.query_params.get("ordered"):
            runs = await crawl.beside(running, crawl.path)
            said = f"Ordered; it is applied by {'the running' if runs else 'the next run of the'} crawl."
        if request.method == "POST":
            form = await _form(request)
            if not self.access.is_own_form(visitor.cookie, form.get("key", "")):
                return failed(request, 403, "This form is too old, or not from this page.", "Reload the page.")
            try:
                await self._order(request, crawl, form)
                # so that reloading the page does not repeat the order
                return RedirectResponse(f"/c/{quote(crawl.name, safe='')}/orders?ordered=yes", 303)
            except BadInput as trouble:
                wrong, status = str(trouble), 400
        rows = await crawl.beside(order_list, crawl.path)
        subscriptions = await crawl.beside(lambda: subscription_table(crawl.path, folders_of(crawl.path)))
        page = render(
            "orders.html",
            rows=rows,
            subscriptions=subscriptions,
            crawl=crawl.name,
            here="orders",
            key=self.access.form_key(cookie),
            said=said,
            wrong=wrong,
            has_tokens=self.access.tokens is not None,
            clustered=is_cluster(crawl.path),
        )
        response = Response(page, status_code=status, media_type=HTML, headers={"Cache-Control": "no-store"})
        if not visitor.cookie:
            _set_cookie(request, response, cookie)
        return response

    async def _order(self, request: Request, crawl: ServedCrawl, form: Mapping[str, str]) -> dict[str, Any]:
        address = _address(request)
        if wait := self.access.orders.wait(address):
            raise TooMany("Too many commands came from this address in the last minute.", wait)
        self.access.orders.count(address)
        by = f"window: {request.state.visitor.name}"
        return await crawl.beside(give_order, crawl.path, form, by)

    async def order_table(self, request: Request) -> Response:
        """The orders so far, as JSON or CSV."""
        crawl, form = self._crawl(request), request.path_params["form"]
        if form not in ("json", "csv"):
            raise HTTPException(404, "There is no such page.")
        rows = await crawl.beside(order_list, crawl.path)
        if form == "json":
            return Response(msgspec.json.encode({"rows": rows, "next": None}), media_type=JSON)
        return Response("".join(csv_lines(COLUMNS, rows)).encode(errors="replace"), headers={"Content-Type": CSV})

    async def api_orders(self, request: Request) -> Response:
        """Orders for programs."""
        crawl = self._crawl(request)
        if request.method == "GET":
            request.path_params["form"] = "json"
            return await self.order_table(request)
        if not request.headers.get("content-type", "").startswith(JSON):  # a page of another site cannot send this
            return failed(request, 415, f"A command is {JSON}.")
        try:
            form = msgspec.json.decode(await _read(request), type=dict[str, str])
        except (msgspec.DecodeError, UnicodeDecodeError) as trouble:
            raise BadInput(f"a command is a JSON object of texts: {trouble}") from trouble
        report = await self._order(request, crawl, form)
        return Response(msgspec.json.encode(report), status_code=202, media_type=JSON)

    # ---- for programs

    async def api(self, request: Request) -> Response:
        """A resource as JSON."""
        name = request.path_params["name"]
        if name not in RESOURCES:
            raise HTTPException(404, "There is no such resource; see /api/v1/openapi.json.")
        return answer(request, await self._body(self._crawl(request), name, "json", dict(request.query_params)))

    async def openapi(self, request: Request) -> Response:
        """The description of the API."""
        return Response(self._openapi, media_type=JSON)

    async def listed(self, request: Request) -> Response:
        """The crawls that are served."""
        return Response(msgspec.json.encode({"rows": await self._listed(), "next": None}), media_type=JSON)

    async def _listed(self) -> list[dict[str, Any]]:
        rows = []
        for crawl in self.crawls.values():
            row: dict[str, Any] = {"name": crawl.name, "folder": visible(str(crawl.path)), "trouble": None}
            try:
                figures = (await crawl.ask("listed", lambda glance: glance.statistics)).value
                row |= {name: figures[name] for name in ("known", "read", "fresh", "certified_error")}
            except CentimeError as trouble:
                row["trouble"] = str(trouble)
            rows.append(row)
        return rows

    async def events(self, request: Request) -> Response:
        """Visits, changes and figures as they happen."""
        crawl = self._crawl(request)
        chosen = frozenset(filter(None, request.query_params.get("kinds", "").split(","))) or frozenset(KINDS)
        if wrong := chosen - set(KINDS):
            raise BadInput(f"kinds of events are {', '.join(KINDS)}, not {sorted(wrong)[0][:40]}")
        last = request.headers.get("last-event-id", "") or request.query_params.get("after", "")
        events = self.feeds[crawl.name].listen(last, chosen)
        first = await anext(events)  # so that what is wrong is an error and not an event

        async def stream() -> Any:
            yield first
            async for data in events:
                yield data

        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(stream(), media_type="text/event-stream", headers=headers)

    async def metrics(self, request: Request) -> Response:
        """The figures of all crawls for Prometheus."""
        clients = sum(feed.clients for feed in self.feeds.values())
        content, media = await metrics(self.crawls, clients)
        return Response(content, headers={"Content-Type": media})

    # ---- pushes

    def _doors(self, request: Request) -> CrawlDoors:
        doors = self.doors.get(request.path_params["crawl"])
        if doors is None:
            raise HTTPException(404, "No crawl of this name accepts pushes here.")
        if wait := self.access.pushes.wait(_address(request)):
            raise TooMany("Too many pushes came from this address in the last minute.", wait)
        self.access.pushes.count(_address(request))
        return doors

    async def push(self, request: Request) -> Response:
        """A push through one of the doors."""
        doors, door = self._doors(request), request.path_params["door"]
        match request.method, door:
            case "POST", "webhook":
                try:
                    status, said = await doors.webhook(await _read(request), request.headers)
                except NotSigned:
                    if refused := self._failure(request):
                        return refused
                    raise
            case "POST", "indexnow":
                status, said = await doors.indexnow(await _read(request))
            case "GET", "ping":
                status, said = await doors.ping(request.query_params.get("sitemap", ""))
            case _:
                status, said = 404, {"error": "There is no such endpoint."}
        headers = {"Retry-After": f"{PING_SECONDS:.0f}"} if status == 429 else None
        return Response(msgspec.json.encode(said), status_code=status, media_type=JSON, headers=headers)

    async def websub(self, request: Request) -> Response:
        """A verification or a push of a hub."""
        doors, topic = self._doors(request), request.path_params["topic"]
        if request.method == "GET":
            status, text = doors.intent(topic, request.query_params)
            return PlainTextResponse(text, status)
        status, said = await doors.websub(topic, await _read(request), request.headers)
        return Response(msgspec.json.encode(said), status_code=status, media_type=JSON)

    # ---- sessions

    async def login(self, request: Request) -> Response:
        """Takes a token and gives a session."""
        to = request.query_params.get("to", "/")
        if request.method == "GET":
            return Response(render("login.html", wrong="", to=_inside(to), crawl=None, here=""), media_type=HTML)
        form = await _form(request)
        to = _inside(form.get("to", "/"))
        cookie = self.access.log_in(form.get("token", ""))
        if cookie is None:
            if refused := self._failure(request):
                return refused
            page = render("login.html", wrong="This is not a token of this server.", to=to, crawl=None, here="")
            return Response(page, status_code=403, media_type=HTML)
        response = RedirectResponse(to, 303)
        _set_cookie(request, response, cookie)
        return response

    async def logout(self, request: Request) -> Response:
        """Ends a session."""
        form = await _form(request)
        cookie = request.state.visitor.cookie
        if not self.access.is_own_form(cookie, form.get("key", "")):
            return failed(request, 403, "This form is too old, or not from this page.")
        self.access.log_out(cookie)
        response = RedirectResponse("/login", 303)
        response.delete_cookie(_cookie(request))
        return response


class TooMany(HTTPException):
    """An address made too many attempts; it may try again after some seconds."""

    def __init__(self, sentence: str, seconds: int) -> None:
        super().__init__(429, sentence, {"Retry-After": str(seconds)})


def _wait(request: Request, sentence: str, seconds: int) -> Response:
    response = failed(request, 429, sentence, f"Wait {seconds} seconds.")
    response.headers["Retry-After"] = str(seconds)
    return response


def _cookie(request: Request) -> str:
    """The name of the cookie of a session: browsers send a cookie to all ports of a host, so it has the port."""
    return f"centime-{request.scope['server'][1]}"


def _set_cookie(
    request: Request, response: Response, value: str, name: str = "", seconds: float = SESSION_SECONDS
) -> None:
    response.set_cookie(
        name or _cookie(request),
        value,
        max_age=int(seconds),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


def _inside(to: str) -> str:
    """An address of this server: an address elsewhere is replaced by the first page."""
    return to if to.startswith("/") and not to.startswith(("//", "/\\")) and "\\" not in to else "/"


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


async def _read(request: Request) -> bytes:
    """The body of a request, within limits of size and time."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > MOST_FORM:
                    raise HTTPException(413, f"The body of a request has at most {MOST_FORM} bytes.")
    except TimeoutError:
        raise HTTPException(408, f"The body of a request comes within {BODY_SECONDS:g} seconds.") from None
    return bytes(body)


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form."""
    try:
        return dict(parse_qsl((await _read(request)).decode(), keep_blank_values=True, max_num_fields=50))
    except (UnicodeDecodeError, ValueError) as trouble:
        raise BadInput(f"the form cannot be read: {trouble}") from trouble
