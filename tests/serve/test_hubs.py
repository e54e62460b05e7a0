"""WebSub by itself: a crawl finds hubs in feeds, the window subscribes, a hub of the tests' own verifies and pushes."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from centime.crawl.commands.inbox import CommandInbox
from centime.crawl.engine.hub_list import FILE, read_hubs
from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.model.errors import BadSetting
from centime.serve.access import Access
from centime.serve.listening import WindowServer, bound, public_address, served_crawls
from centime.serve.pushes.doors import CrawlDoors
from centime.serve.pushes.hubs import DENIED_SECONDS, MOST_ANNOUNCED, HubSubscriber
from centime.serve.pushes.settings import Doors, WebSub
from centime.shard.people.command import PublishCommand
from tests.serve.hub import Hub

ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><link rel="hub" href="HUB"/><link rel="self" href="/atom.xml"/>
<entry><link href="/one"/><updated>2026-01-31T12:00:00Z</updated></entry></feed>"""
RSS = "<rss version='2.0'><channel><item><link>http://127.0.0.1/two</link></item></channel></rss>"
SECRET = "sixteen letters or more"


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    made = Hub()
    made.site = {
        "/atom.xml": (ATOM.replace("HUB", f"{made.url}/hub").encode(), ""),
        "/rss.xml": (RSS.encode(), f'<{made.url}/hub>; rel="hub", <{made.url}/rss.xml>; rel="self"'),
        "/liar.xml": (RSS.encode(), f'<{made.url}/hub>; rel="hub", <http://victim.example/feed>; rel="self"'),
        "/plain.xml": (RSS.encode(), ""),
    }
    yield made
    made.close()


@pytest.fixture(scope="module")
def folder(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("hubs") / "museum"
    given = {"delay": 0.0, "workers": 1, "allow-network": ["127.0.0.0/8"], "refresh-after": "10d"}
    with open_writer(place, [hub.url + path for path in hub.site], given) as opened:
        Engine(opened, Limits(pages=6)).run()
    return place


@pytest.fixture
def window(folder: Path) -> Iterator[str]:
    made = bound("127.0.0.1", 0)
    address = f"http://127.0.0.1:{made.getsockname()[1]}/"
    server = WindowServer(served_crawls([folder]), Access(None), None, address)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [made]})
    thread.start()
    yield address
    server.should_exit = True
    thread.join()


def published(folder: Path) -> list[tuple[str, list[str]]]:
    inbox = CommandInbox(folder)
    taken = inbox.take(100)
    inbox.done(path for path, _ in taken)
    return [(command.publisher, command.lines()) for _, command in taken if isinstance(command, PublishCommand)]


def test_feeds_announce_hubs_in_their_headers_and_in_themselves_and_for_no_other_host(hub: Hub, folder: Path) -> None:
    assert read_hubs(folder) == {
        f"{hub.url}/atom.xml": [f"{hub.url}/atom.xml", f"{hub.url}/hub"],
        f"{hub.url}/rss.xml": [f"{hub.url}/rss.xml", f"{hub.url}/hub"],
    }


def test_announced_hubs_are_subscribed_to_verified_and_pushes_of_theirs_are_published_if_signed(
    hub: Hub, folder: Path, window: str
) -> None:
    topic = f"{hub.url}/atom.xml"
    hub.wait_for({topic, f"{hub.url}/rss.xml"})
    form = hub.subscribed[topic]
    assert form["hub.callback"].startswith(f"{window}push/museum/websub/")
    assert len(form["hub.secret"]) >= 32
    assert form["hub.callback"] != hub.subscribed[f"{hub.url}/rss.xml"]["hub.callback"]

    assert hub.ask(form["hub.callback"], "http://other.example/", "x")[0] == 404, "another topic is not wanted"
    assert hub.ask(f"{window}push/museum/websub/guess", topic, "x")[0] == 404, "nor is another name"
    body = ATOM.encode()
    assert hub.distribute(topic, body, "another secret") == 202
    assert published(folder) == []
    assert hub.distribute(topic, body) == 202
    assert published(folder) == [(f"websub {topic}", [f"{hub.url}/one"])]
    assert hub.distribute(topic, body) == 202
    assert published(folder) == [], "a replay"


def subscriber(folder: Path, hub: str = "", callback: str = "https://w.example/") -> tuple[HubSubscriber, CrawlDoors]:
    topics = {"own": WebSub(hub, SECRET)} if hub else {}
    doors = CrawlDoors(folder, Doors(websub=topics), clock=lambda: 1000.0)
    made = HubSubscriber(folder, doors, callback, clock=lambda: 1000.0)
    made.look()
    return made, doors


def test_without_a_callback_and_for_topics_that_have_a_door_already_nothing_is_subscribed(
    hub: Hub, folder: Path
) -> None:
    assert subscriber(folder, callback="")[1].announced == {}
    (one,) = subscriber(folder, f"{hub.url}/rss.xml")[1].announced.values()
    assert one.topic == f"{hub.url}/atom.xml"


def test_a_hub_that_denies_is_left_alone_for_a_day(folder: Path) -> None:
    made, doors = subscriber(folder)
    name, topic = next(iter(doors.announced.items()))
    assert made._due(name) <= 1000.0
    assert doors.intent(name, {"hub.mode": "denied", "hub.topic": topic.topic}) == (200, "")
    assert made._due(name) == 1000.0 + DENIED_SECONDS


def test_what_the_file_of_hubs_says_is_bounded_and_damage_is_nothing(tmp_path: Path) -> None:
    many = ", ".join(f'"http://a.example/{n}": ["http://a.example/{n}", "http://h.example/"]' for n in range(500))
    (tmp_path / FILE).write_text(f"{{{many}}}")
    assert len(subscriber(tmp_path)[1].announced) == MOST_ANNOUNCED
    for damaged in ("", "[]", '{"a": 3}', '{"a": ["only a topic"]}', "\udcff"):
        (tmp_path / FILE).write_bytes(damaged.encode(errors="surrogateescape"))
        assert read_hubs(tmp_path) == {}


def test_the_address_for_hubs_is_a_url_of_the_web() -> None:
    assert public_address("https://window.example") == "https://window.example/"
    assert public_address("http://w.example:8400/centime/") == "http://w.example:8400/centime/"
    for wrong in ("window.example", "ftp://w.example/", "https://w.example/?x", "https://"):
        with pytest.raises(BadSetting, match="--callback"):
            public_address(wrong)
