"""A site with feeds, and a small hub that follows W3C WebSub: it verifies intent, and signs what it distributes."""

import hmac
import secrets
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode

LEASE_SECONDS = 864_000


class Hub:
    """A hub at /hub of a server that also has the pages of `site`: the body and the Link header of each."""

    def __init__(self) -> None:
        self.site: dict[str, tuple[bytes, str]] = {}
        self.subscribed: dict[str, dict[str, str]] = {}  # forms whose intent was verified, by topic
        self.refused: list[str] = []  # topics whose subscriber did not confirm
        self.changed = threading.Condition()
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body, link = hub.site.get(self.path, (b"", ""))
                self._answer(200 if body else 404, body, link)

            def do_POST(self) -> None:
                sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
                form = {name: values[0] for name, values in parse_qs(sent).items()}
                self._answer(202 if self.path == "/hub" else 500, b"")
                if self.path == "/hub":
                    threading.Thread(target=hub.verify, args=(form,), daemon=True).start()

            def _answer(self, status: int, body: bytes, link: str = "") -> None:
                self.send_response(status)
                for name, value in (("Content-Type", "application/xml"), ("Content-Length", str(len(body)))):
                    self.send_header(name, value)
                if link:
                    self.send_header("Link", link)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def close(self) -> None:
        """Ends the server."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def verify(self, form: dict[str, str]) -> None:
        """Asks whether a subscription is wanted, and begins it if so."""
        topic, challenge = form["hub.topic"], secrets.token_hex(8)
        status, text = self.ask(form["hub.callback"], topic, challenge)
        with self.changed:
            if 200 <= status < 300 and text == challenge:
                self.subscribed[topic] = form
            else:
                self.refused.append(topic)
            self.changed.notify_all()

    def ask(self, callback: str, topic: str, challenge: str) -> tuple[int, str]:
        """Verifies intent: the status and the text of the answer."""
        query = {"hub.mode": "subscribe", "hub.topic": topic, "hub.challenge": challenge}
        return _said(f"{callback}?{urlencode(query | {'hub.lease_seconds': str(LEASE_SECONDS)})}")

    def distribute(self, topic: str, body: bytes, secret: str | None = None) -> int:
        """Sends new content to the subscriber of a topic, signed with its secret or with another one."""
        form = self.subscribed[topic]
        digest = hmac.new((secret or form["hub.secret"]).encode(), body, "sha256").hexdigest()
        return _said(form["hub.callback"], body, {"X-Hub-Signature": f"sha256={digest}"})[0]

    def wait_for(self, topics: set[str]) -> None:
        """Waits until these topics are subscribed."""
        with self.changed:
            assert self.changed.wait_for(lambda: topics <= self.subscribed.keys(), 120), self.subscribed


def _said(url: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> tuple[int, str]:
    request = urllib.request.Request(url, body, headers or {})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
