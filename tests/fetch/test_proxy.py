"""Proxies on loopback: what goes through them, what does not, and what becomes of failures."""

import asyncio
import base64
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from centime.fetch.fetcher import Fetcher
from centime.fetch.proxy import Proxies, Proxy
from centime.model.errors import BadSetting
from centime.model.outcome import Outcome
from centime.model.response import Request, Response
from tests.fetch.hostile import Listener, Server, answer, run, settings

CERTIFICATE = Path(__file__).parent / "self-signed.pem"
ROUTES = {"/page": answer(b"<p>here", Content_Type="text/html")}


class ProxyServer(Listener):
    """A proxy that leads every name to one port of this machine, and remembers what it was asked."""

    def __init__(self, port: int, refusal: bytes = b"") -> None:
        super().__init__()
        self.asked: list[bytes] = []
        self._to = port
        self._refusal = refusal

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.asked.append(head)
        if self._refusal:
            writer.write(self._refusal)
            await writer.drain()
            return
        inside, out = await asyncio.open_connection("127.0.0.1", self._to)
        if head.startswith(b"CONNECT "):
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            out.write(head.replace(b"GET http://museum.example/", b"GET /"))
        try:
            await asyncio.gather(_pipe(reader, out), _pipe(inside, writer))
        finally:
            out.close()


async def _pipe(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await source.read(65_536):
            target.write(data.replace(b"GET http://museum.example/", b"GET /"))
            await target.drain()
    target.close()


def tls() -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE)
    return context


def through(
    urls: list[str], *, refusal: bytes = b"", context: ssl.SSLContext | None = None, user: str = "", **changes: Any
) -> tuple[list[Response], ProxyServer, Server]:
    """The responses to these URLs through a proxy; SERVER in them and in no_proxy stands for the port of the server."""

    async def work() -> tuple[list[Response], ProxyServer, Server]:
        async with Server(ROUTES, context) as server, ProxyServer(server.port, refusal) as proxy:
            at = f"http://{user}127.0.0.1:{proxy.port}"
            given = {"proxies": (("http", at), ("https", at)), "allow_networks": ()} | changes
            given["no_proxy"] = str(given.get("no_proxy", "")).replace("SERVER", str(server.port))
            fetcher = Fetcher(settings(**given))
            try:
                wanted = [url.replace("SERVER", str(server.port)) for url in urls]
                return [await fetcher.fetch(Request(url=url)) for url in wanted], proxy, server
            finally:
                await fetcher.close()

    return run(work())


def test_http_goes_through_the_proxy_with_its_whole_url_and_nobody_else_resolves_the_name() -> None:
    responses, proxy, server = through(["http://museum.example/page"], user="me:s%20t@")
    assert [response.body for response in responses] == [b"<p>here"]
    assert proxy.asked[0].startswith(b"GET http://museum.example/robots.txt HTTP/1.1\r\nHost: museum.example\r\n")
    known = base64.b64encode(b"me:s t")
    assert b"Proxy-Authorization: Basic " + known + b"\r\n" in proxy.asked[0]
    assert responses[0].address == ""
    assert server.asked == ["/robots.txt", "/page"]


def test_https_goes_through_a_tunnel_in_which_the_certificate_of_the_server_counts() -> None:
    urls = ["https://localhost:SERVER/page"]
    local: dict[str, Any] = {"context": tls(), "allow_networks": ("127.0.0.0/8",)}
    responses, proxy, server = through(urls, **local, ca_file=str(CERTIFICATE), user="me:secret@")
    assert responses[0].body == b"<p>here"
    assert len(proxy.asked) == 1, "the tunnel is kept"
    assert proxy.asked[0].startswith(f"CONNECT localhost:{server.port} HTTP/1.1\r\n".encode())
    assert b"Proxy-Authorization" not in b"".join(server.heads)
    responses, _, _ = through(urls, **local)
    assert responses[0].outcome is Outcome.BAD_TLS
    responses, _, _ = through(["https://museum.example/page"], context=tls(), ca_file=str(CERTIFICATE))
    assert responses[0].outcome is Outcome.BAD_TLS, "it is the certificate of localhost"
    responses, _, _ = through(["https://museum.example/page"], context=tls(), insecure=True)
    assert responses[0].body == b"<p>here"


def test_addresses_in_urls_are_judged_with_a_proxy_too() -> None:
    urls = [
        "http://127.0.0.1/x",
        "http://[::1]/x",
        "http://169.254.169.254/x",
        "https://localhost/x",
        "http://fix.example/",
    ]
    responses, proxy, _ = through(urls, resolve=(("fix.example", "10.0.0.1"),))
    assert {response.outcome for response in responses} == {Outcome.REFUSED_ADDRESS}
    assert proxy.asked == []


def test_hosts_of_no_proxy_are_asked_directly() -> None:
    responses, proxy, _ = through(
        ["http://localhost:SERVER/page"], no_proxy="x.example,localhost:SERVER", allow_networks=("127.0.0.0/8",)
    )
    assert (responses[0].body, responses[0].address) == (b"<p>here", "127.0.0.1")
    assert proxy.asked == []


@pytest.mark.parametrize(
    ("refusal", "detail"),
    [
        (answer(b"who?", "407 Proxy Authentication Required"), "407"),
        (answer(b"no", "502 Bad Gateway"), "502"),
        (b"what\r\n\r\n", "the proxy answered"),
        (b"HTTP/1.1 200", "closed"),
    ],
)
def test_a_proxy_that_makes_no_tunnel_is_a_failure_to_connect(refusal: bytes, detail: str) -> None:
    responses, _, _ = through(["https://museum.example/page"], refusal=refusal)
    assert responses[0].outcome is Outcome.NO_CONNECTION
    assert detail in responses[0].detail


def test_a_proxy_that_does_not_know_us_does_not_answer_for_the_server() -> None:
    responses, _, _ = through(
        ["http://museum.example/page"], refusal=answer(b"who?", "407 Proxy Authentication Required")
    )
    assert responses[0].outcome is Outcome.NO_CONNECTION


def test_a_proxy_that_is_not_there_is_a_failure_to_connect() -> None:
    async def work() -> Response:
        fetcher = Fetcher(settings(proxies=(("http", "http://127.0.0.1:1"),)))
        try:
            return await fetcher.fetch(Request(url="http://museum.example/"))
        finally:
            await fetcher.close()

    assert run(work()).outcome is Outcome.NO_CONNECTION


@pytest.mark.parametrize(
    ("entry", "host", "direct"),
    [
        ("museum.example", "http://museum.example", True),
        ("museum.example", "http://www.museum.example:8080", True),
        ("museum.example", "http://amuseum.example", False),
        (".museum.example", "https://museum.example", True),
        ("museum.example:8080", "http://museum.example:8080", True),
        ("museum.example:8080", "http://museum.example", False),
        ("*", "https://any.example", True),
        ("10.0.0.0/8", "http://10.1.2.3:80", True),
        ("10.0.0.0/8", "http://11.1.2.3", False),
        ("::1", "http://[::1]:80", True),
        ("", "http://museum.example", False),
        (" a.example , MUSEUM.example ", "http://museum.example", True),
    ],
)
def test_no_proxy_is_read_as_others_read_it(entry: str, host: str, direct: bool) -> None:
    proxies = Proxies([("http", "http://p:1"), ("https", "http://p:1")], entry)
    assert (proxies.of(host) is None) == direct


@pytest.mark.parametrize(
    "url", ["socks5://p:1", "https://p:1", "http://", "http://p:x", "http://p/way", "http://p:1\r\nX: y"]
)
def test_what_is_no_http_proxy_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(BadSetting, match="a proxy is http://HOST:PORT"):
        Proxy.of(url)
