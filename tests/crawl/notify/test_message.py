"""Messages for people, and their delivery by Apprise to a real server on loopback."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from centime.crawl.commands.subscribing import subscription_to
from centime.crawl.notify.delivering import HELD_BACK, DeliveringProcess, DeliverySettings
from centime.crawl.notify.message import MOST_CHANGES, MOST_TEXT, message_of
from centime.fetch.settings import FetchSettings
from centime.model.errors import BadSetting
from centime.model.ids import PageId
from centime.settings.crawl import CrawlSettings
from centime.shard.people.notices import Batch, Change, Condition, Notice


def change(url: str = "https://a.example/", **more: object) -> dict[str, object]:
    return {"url": url, "change": "changed", "old": None, "new": "", "diff": None} | more


def test_a_message_has_the_sentences_that_changed() -> None:
    diff = {"sentences": [{"old": ["Open from 9."], "new": ["Open\nfrom 10."]}]}
    title, text = message_of({"changes": [change(diff=diff), change("https://b.example/", old="1 €", new="2 €")]})
    assert title == "2 pages changed"
    assert text.splitlines() == [
        "changed https://a.example/",
        "- Open from 9.",
        "+ Open from 10.",
        "",
        "changed https://b.example/",
        "- 1 €",
        "+ 2 €",
    ]


def test_a_message_says_what_is_not_told_any_more_and_how_to_hear_of_it() -> None:
    places = [{"select": "css:p.price", "old": "7 euro", "new": "8 euro"}]
    _, text = message_of({"changes": [change(change="volatile", places=places)]})
    assert text.splitlines()[-1].endswith(
        "no longer reported as a change; --select css:p.price reports every change of it"
    )
    _, text = message_of({"changes": [change(change="volatile", places=[])]})
    assert "--select css:SELECTOR" in text


def test_a_message_is_bounded_and_says_how_much_more_there_is() -> None:
    title, text = message_of({"changes": [change()] * (MOST_CHANGES + 5)})
    assert title == f"{MOST_CHANGES + 5} pages changed"
    assert text.endswith("and 5 more")
    long = {"sentences": [{"old": ["x" * 5000], "new": ["y" * 5000]}] * 100}
    assert len(message_of({"changes": [change(diff=long)] * 20})[1]) <= MOST_TEXT
    assert "\u202e" not in message_of({"changes": [change(diff={"sentences": [{"old": [], "new": ["\u202e"]}]})]})[1]


@pytest.fixture
def posted() -> Iterator[tuple[int, list[dict[str, str]]]]:
    """The port of a server on loopback, and what was posted to it."""
    found: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200 if self.path == "/good" else 500)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield server.server_port, found
    server.shutdown()
    thread.join()
    server.server_close()


def delivered(to: str, *, foreign: bool = False) -> str:
    notice = Notice(1, PageId(0), "https://a.example/", 1.0, 1.0, Change.CHANGED)

    async def work() -> str:
        process = DeliveringProcess(DeliverySettings(FetchSettings(), foreign=foreign))
        return await process.deliver(Batch("all", to, (notice,)))

    return asyncio.run(work())


def test_apprise_delivers_a_message_and_says_when_it_could_not(posted: tuple[int, list[dict[str, str]]]) -> None:
    port, found = posted
    assert delivered(f"apprise:json://127.0.0.1:{port}/good") == ""
    assert found[0]["title"] == "1 page changed"
    assert "https://a.example/" in found[0]["message"]
    assert "did not accept" in delivered(f"apprise:json://127.0.0.1:{port}/bad")
    assert "does not know" in delivered("apprise:nonsense")


def test_a_folder_from_elsewhere_uses_no_service_of_this_user(posted: tuple[int, list[dict[str, str]]]) -> None:
    port, found = posted
    assert delivered(f"apprise:json://127.0.0.1:{port}/good", foreign=True) == HELD_BACK
    assert found == []


def test_a_service_that_apprise_does_not_know_cannot_be_subscribed(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="Apprise does not know"):
        subscription_to(tmp_path, CrawlSettings(), ".", Condition(), "1d", "apprise:nonsense://x", "")
    subscription = subscription_to(
        tmp_path, CrawlSettings(), ".", Condition(), "1d", "apprise:json://127.0.0.1/", "mail"
    )
    assert subscription.to == "apprise:json://127.0.0.1/"
