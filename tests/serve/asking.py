"""Asks the window in this process, without a socket: one request at a time through ASGI."""

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec

from centime.serve.access import Access, Tokens
from centime.serve.application import Window
from centime.serve.pushes.settings import Doors
from centime.serve.served_crawl import ServedCrawl
from tests.crawl.report.made import NOW

Value = TypeVar("Value")


@dataclass(frozen=True)
class Answered:
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes
    cookies: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return msgspec.json.decode(self.body)


class Asker:
    """A window over crawls and the event loop in which it lives."""

    def __init__(
        self,
        crawls: Mapping[str, Path],
        tokens: Tokens | None = None,
        doors: Mapping[str, Doors] | None = None,
        *,
        behind_proxy: bool = False,
        port: int = 8400,
    ) -> None:
        self._port = port
        self.loop = asyncio.new_event_loop()
        served = {name: ServedCrawl(name, path, clock=lambda: NOW + 20_000.0) for name, path in crawls.items()}
        self.window = Window(served, Access(tokens, behind_proxy=behind_proxy), doors)

    def close(self) -> None:
        """Closes everything."""
        self.run(self.window.close())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()

    def run(self, work: Coroutine[Any, Any, Value]) -> Value:
        """What a coroutine returns."""
        return self.loop.run_until_complete(work)

    def get(self, path: str, /, **query: Any) -> Answered:
        """The answer to a GET request with these parameters; `headers` are its headers."""
        headers = query.pop("headers", None)
        return self.ask("GET", path, headers=headers, query=query)

    def post(self, path: str, form: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Answered:
        """The answer to a form."""
        return self.ask("POST", path, headers=headers, body=urlencode(form).encode())

    def ask(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, object] | None = None,
        body: bytes = b"",
    ) -> Answered:
        """The answer to a request."""
        return self.run(self.asked(method, path, headers=headers, query=query, body=body))

    async def asked(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, object] | None = None,
        body: bytes = b"",
    ) -> Answered:
        """The same in the loop of the window."""
        path, _, given = path.partition("?")
        sent = {"host": "127.0.0.1:8400", "content-length": str(len(body))} | dict(headers or {})
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": (given or urlencode(query or {})).encode(),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in sent.items()],
            "client": ("127.0.0.1", 1234),
            "server": ("127.0.0.1", self._port),
            "state": {},
        }
        messages = [{"type": "http.request", "body": body, "more_body": False}]
        said: list[dict[str, Any]] = []

        async def receive() -> Any:
            if messages:
                return messages.pop(0)
            await asyncio.sleep(3600)
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            said.append(message)

        await self.window.application(scope, receive, send)
        start = said[0]
        pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in start["headers"]]
        cookies = [value for name, value in pairs if name == "set-cookie"]
        content = b"".join(message.get("body", b"") for message in said[1:])
        return Answered(start["status"], dict(pairs), content, cookies)


def cookie_of(answered: Answered) -> str:
    """The cookie that an answer sets, as a browser sends it back."""
    return answered.cookies[0].partition(";")[0]
