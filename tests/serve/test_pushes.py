"""Pushes through every door: right ones are published, wrong ones, replays and closed doors are not."""

import asyncio
import hmac
import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from centime.crawl.commands.inbox import CommandInbox
from centime.model.errors import BadInput
from centime.serve.pushes import doors as doors_module
from centime.serve.pushes.doors import CrawlDoors, Waiting
from centime.serve.pushes.hubs import HubSubscriber
from centime.serve.pushes.settings import Doors, Open, Webhook, WebSub, read_doors
from centime.shard.people.command import PublishCommand
from tests.crawl.report.made import A, hand_made
from tests.crawl.served import crawled, text
from tests.fetch.hostile import HERE, Server, answer, run
from tests.serve.asking import Answered, Asker

SECRET = "sixteen letters or more"
TOPIC = f"{A}/news.atom"
FEED = f"""<feed xmlns="http://www.w3.org/2005/Atom"><link rel="self" href="{TOPIC}"/>
<entry><link href="/one"/><updated>2026-01-31T12:00:00Z</updated></entry></feed>""".encode()
ALL = Doors(webhook=Webhook(SECRET), indexnow=Open(), ping=Open(), websub={"news": WebSub(TOPIC, SECRET)})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with hand_made(tmp_path / "crawl", **{"allow-network": list(HERE), "scope": "host"}) as opened:
        opened.close()
    return tmp_path / "crawl"


@pytest.fixture
def asker(folder: Path) -> Any:
    made = Asker({"museum": folder}, doors={"museum": ALL})
    yield made
    made.close()


def published(folder: Path) -> list[PublishCommand]:
    taken = CommandInbox(folder).take(100)
    assert all(isinstance(command, PublishCommand) for _, command in taken)
    return [command for _, command in taken if isinstance(command, PublishCommand)]


def signed(body: bytes, stamp: float | None = None, secret: str = SECRET) -> dict[str, str]:
    seconds = str(int(time.time() if stamp is None else stamp))
    digest = hmac.new(secret.encode(), f"{seconds}.".encode() + body, "sha256").hexdigest()
    return {"x-centime-time": seconds, "x-centime-signature": f"sha256={digest}"}


def hook(asker: Asker, body: bytes, headers: dict[str, str]) -> Answered:
    return asker.ask("POST", "/push/museum/webhook", headers=headers, body=body)


def test_a_signed_webhook_publishes_what_is_in_scope_with_its_publisher(asker: Asker, folder: Path) -> None:
    body = json.dumps(
        {"urls": [f"{A}/one", f"{A}/new", "https://elsewhere.example/"], "publisher": "newsroom"}
    ).encode()
    answered = hook(asker, body, signed(body))
    assert answered.status == 202
    assert (answered.json["pages"], answered.json["refused"]) == (2, 1)
    (command,) = published(folder)
    assert command.lines() == [f"{A}/one", f"{A}/new"]
    assert (command.publisher, command.by) == ("newsroom", "push: webhook")


def test_a_webhook_that_is_replayed_old_or_signed_wrongly_publishes_nothing(asker: Asker, folder: Path) -> None:
    body = json.dumps({"urls": [f"{A}/one"]}).encode()
    once = signed(body)
    assert [hook(asker, body, once).status for _ in range(2)] == [202, 409]
    assert len(published(folder)) == 1
    for headers in (
        {},
        signed(body, time.time() - 1000),
        signed(body, time.time() + 1000),
        signed(body, secret="another secret of the same length"),
        signed(body) | {"x-centime-signature": "sha256="},
        signed(body) | {"x-centime-signature": "md5=00"},
        once | {"x-centime-time": str(int(time.time()) + 1)},
    ):
        assert hook(asker, body, headers).status == 400
    assert len(published(folder)) == 1


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"urls": 1}', b'{"urls": [1]}', b'{"urls": ["x"], "publisher": 1}']
)
def test_a_webhook_that_is_no_push_is_refused(asker: Asker, body: bytes) -> None:
    assert hook(asker, body, signed(body)).status == 400


def test_a_webhook_whose_urls_are_a_text_is_told_that_they_are_a_list(asker: Asker) -> None:
    letters = json.dumps({"urls": f"{A}/one"}).encode()
    answered = hook(asker, letters, signed(letters))
    assert (answered.status, answered.json["error"][:14]) == (400, "urls is a list")


def test_a_push_that_is_too_large_is_refused_whatever_length_it_claims(asker: Asker, folder: Path) -> None:
    body = json.dumps({"urls": [f"{A}/one"], "more": "x" * (1 << 20)}).encode()
    for claimed in ({"content-length": str(len(body))}, {"content-length": "10"}, {}):
        for door in ("webhook", "indexnow", "websub/news"):
            answered = asker.ask("POST", f"/push/museum/{door}", headers=signed(body) | claimed, body=body)
            assert answered.status == 413, (claimed, door)
    assert published(folder) == []


def test_wrong_signatures_are_counted_and_then_refused_at_once(asker: Asker) -> None:
    statuses = [hook(asker, b"{}", {}).status for _ in range(12)]
    assert statuses == [400] * 10 + [429] * 2


def test_doors_are_closed_unless_they_are_opened(folder: Path) -> None:
    asker = Asker({"museum": folder}, doors={"museum": Doors()})
    body = json.dumps({"urls": [f"{A}/one"], "host": "a.example", "key": "12345678", "urlList": []}).encode()
    for method, path in (
        ("POST", "/push/museum/webhook"),
        ("POST", "/push/museum/indexnow"),
        ("GET", "/push/museum/ping"),
        ("GET", "/push/museum/websub/news"),
        ("GET", "/push/museum/webhook"),
        ("GET", "/push/nothing/ping"),
    ):
        assert asker.ask(method, path, body=body if method == "POST" else b"").status == 404
    assert asker.ask("POST", "/push/museum/websub/news", body=FEED).status == 410
    assert published(folder) == []
    asker.close()


def test_a_ping_publishes_a_sitemap_in_scope_once_a_minute(asker: Asker, folder: Path) -> None:
    sitemap = f"{A}/sitemap.xml"
    assert asker.get("/push/museum/ping", sitemap=sitemap).status == 202
    assert asker.get("/push/museum/ping", sitemap=sitemap).status == 429
    assert asker.get("/push/museum/ping", sitemap="https://elsewhere.example/sitemap.xml").status == 422
    assert asker.get("/push/museum/ping").status == 422
    (command,) = published(folder)
    assert (command.source, command.lines()) == ("sitemap", [sitemap])


LONE = "\\ud800"


SURROGATES = (
    f'{{"host": "{LONE}", "key": "0123456789", "urlList": ["{A}/"]}}',
    f'{{"host": "a.example", "key": "0123456789", "urlList": ["{A}/{LONE}"]}}',
    f'{{"host": "a.example", "key": "{LONE}", "urlList": ["{A}/"]}}',
    f'{{"host": "a.example", "key": "0123456789", "keyLocation": "{A}/{LONE}", "urlList": ["{A}/"]}}',
    f'{{"urls": ["{A}/{LONE}"]}}',
    f'{{"urls": ["{A}/"], "publisher": "{LONE}"}}',
    f'{{"order": "set", "values": "{LONE}"}}',
    f'{{"order": "{LONE}"}}',
)


def test_a_lone_surrogate_which_nothing_can_write_is_refused_at_every_door(asker: Asker, folder: Path) -> None:
    kind = {"content-type": "application/json"}
    for body in map(str.encode, SURROGATES):
        answers = [
            asker.ask("POST", "/push/museum/indexnow", body=body),
            hook(asker, body, signed(body)),
            asker.ask("POST", "/api/v1/crawls/museum/orders", headers=kind, body=body),
        ]
        assert {(one.status, bool(one.json["error"])) for one in answers} == {(400, True)}
    assert published(folder) == []


def test_wrong_signatures_do_not_lock_out_right_ones(asker: Asker) -> None:
    body = f'{{"urls": ["{A}/"]}}'.encode()
    refused = [hook(asker, body, signed(body, secret="another secret of some length")) for _ in range(12)]
    assert [one.status for one in refused] == [400] * 10 + [429] * 2
    assert int(refused[-1].headers["retry-after"]) > 0
    assert hook(asker, body, signed(body)).status == 202
    assert asker.get("/c/museum/overview").status == 200


def test_a_push_to_a_folder_that_is_away_is_answered_with_503(asker: Asker, folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    body = f'{{"urls": ["{A}/"]}}'.encode()
    assert hook(asker, body, signed(body)).status == 503
    assert asker.get("/push/museum/ping", sitemap=f"{A}/sitemap.xml").status == 503


def test_a_hub_is_told_that_only_the_topic_that_was_subscribed_is_wanted(asker: Asker) -> None:
    asked = {"hub.mode": "subscribe", "hub.topic": TOPIC, "hub.challenge": "x<y", "hub.lease_seconds": "1000"}
    right = asker.get("/push/museum/websub/news", **asked)
    assert (right.status, right.text) == (200, "x<y")
    assert right.headers["content-type"].startswith("text/plain")
    for change in ({"hub.topic": f"{A}/other"}, {"hub.mode": "unsubscribe"}, {"hub.challenge": ""}):
        assert asker.get("/push/museum/websub/news", **(asked | change)).status == 404
    assert asker.get("/push/museum/websub/other", **asked).status == 404


def test_a_feed_that_a_hub_pushes_is_published_if_its_signature_is_right_and_ignored_otherwise(
    asker: Asker, folder: Path
) -> None:
    def push(signature: str) -> int:
        headers = {"x-hub-signature": signature} if signature else {}
        return asker.ask("POST", "/push/museum/websub/news", headers=headers, body=FEED).status

    right = "sha256=" + hmac.new(SECRET.encode(), FEED, "sha256").hexdigest()
    wrong = "sha256=" + hmac.new(b"another", FEED, "sha256").hexdigest()
    assert {push(one) for one in ("", wrong, "sha256=", "md5=1")} == {202}
    assert published(folder) == []
    assert (push(right), push(right)) == (202, 202)
    (command,) = published(folder)
    assert (command.lines(), command.publisher) == ([f"{A}/one"], "websub news")


def test_indexnow_waits_until_the_crawl_has_the_key_of_the_host_and_then_publishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors_module, "LOOK_SECONDS", 0.01)
    key = "0123456789abcdef"
    folder = tmp_path / "crawl"
    routes = {"/": text("<p>front", "text/html"), f"/{key}.txt": text(f"{key}\n", "text/plain")}
    found = crawled(folder, routes, "/", given={"keep": "versions"})  # type: ignore[arg-type]
    host = found.url.removeprefix("http://")
    form = {"host": host, "key": key, "urlList": [f"{found.url}/new", "https://elsewhere.example/"]}
    doors = CrawlDoors(folder, ALL)

    async def work() -> None:
        status, said = await doors.indexnow(json.dumps(form).encode())
        assert (status, "waiting" in said) == (202, True)
        (first,) = published(folder)
        assert first.lines() == [f"{found.url}/{key}.txt"]
        monkeypatch.setattr(CrawlDoors, "_has_key", lambda self, url, key: True)
        async with asyncio.timeout(20):
            while len(published(folder)) < 2:
                await asyncio.sleep(0.01)
        assert published(folder)[1].lines() == [f"{found.url}/new"]
        await doors.close()

    asyncio.run(work())


def test_indexnow_waits_also_while_the_folder_is_away(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(doors_module, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(CrawlDoors, "_has_key", lambda self, url, key: True)
    away = folder.with_name("elsewhere")
    doors = CrawlDoors(folder, ALL)
    form = {"host": A.removeprefix("http://"), "key": "0123456789", "urlList": [f"{A}/new"]}
    doors._waiting.append(Waiting(json.dumps(form).encode(), "0123456789", f"{A}/0123456789.txt", float("inf")))

    async def work() -> None:
        folder.rename(away)
        looks = asyncio.create_task(doors._look())
        async with asyncio.timeout(20):
            while not caplog.records:
                await asyncio.sleep(0.001)
            away.rename(folder)
            await looks

    asyncio.run(work())
    assert [command.lines() for command in published(folder)] == [[f"{A}/new"]]


def test_a_key_is_verified_by_the_copy_that_the_crawl_has_of_it(tmp_path: Path) -> None:
    key = "0123456789abcdef"
    routes = {f"/{key}.txt": text(f"{key}\n", "text/plain"), "/wrong.txt": text("nothing", "text/plain")}
    found = crawled(tmp_path / "crawl", routes, f"/{key}.txt", "/wrong.txt", given={"keep": "versions"})  # type: ignore[arg-type]
    doors = CrawlDoors(tmp_path / "crawl", ALL)
    assert doors._has_key(f"{found.url}/{key}.txt", key)
    assert not doors._has_key(f"{found.url}/{key}.txt", "another-key")
    assert not doors._has_key(f"{found.url}/wrong.txt", key)
    assert not doors._has_key(f"{found.url}/never.txt", key)
    form = {"host": found.url.removeprefix("http://"), "key": key, "urlList": [f"{found.url}/new"]}
    assert asyncio.run(doors.indexnow(json.dumps(form).encode()))[0] == 202
    assert published(tmp_path / "crawl")[0].lines() == [f"{found.url}/new"]


def test_an_indexnow_request_without_a_valid_key_or_of_a_crawl_without_copies_is_refused(
    asker: Asker, folder: Path
) -> None:
    def ask(**form: object) -> int:
        return asker.ask("POST", "/push/museum/indexnow", body=json.dumps(form).encode()).status

    urls = [f"{A}/one"]
    assert ask(host="a.example", key="short", urlList=urls) == 400
    assert ask(host="a.example", urlList=urls) == 400
    assert ask(host="a.example", key="12345678", urlList="x") == 400
    assert ask(host="b.example", key="12345678", urlList=urls) == 422
    assert ask(host="a.example", key="12345678", keyLocation="https://b.example/k.txt", urlList=urls) == 422
    assert ask(host="a.example", key="12345678", urlList=urls) == 403
    assert published(folder) == []


def test_a_hub_is_subscribed_to_with_the_secret_and_again_before_its_lease_ends(folder: Path) -> None:
    async def work() -> dict[str, str]:
        now = [1000.0]
        async with Server({"/hub": answer(status="202 Accepted"), "/no": answer(status="500 No")}) as server:
            topics = {
                "news": WebSub(TOPIC, SECRET, f"{server.url}/hub", "https://window.example/push/museum/websub/news"),
                "other": WebSub(f"{A}/other", SECRET, f"{server.url}/no", "https://window.example/"),
                "own": WebSub(f"{A}/own", SECRET),
            }
            doors = CrawlDoors(folder, Doors(websub=topics), clock=lambda: now[0])
            subscriber = HubSubscriber(folder, doors, clock=lambda: now[0])
            for name, topic in subscriber._topics().items():
                await subscriber._subscribe(name, topic)
            assert server.asked == ["/hub", "/no"]
            assert subscriber._due("news") > now[0]
            asked = {"hub.mode": "subscribe", "hub.topic": TOPIC, "hub.challenge": "x", "hub.lease_seconds": "100000"}
            assert doors.intent("news", asked) == (200, "x")
            assert subscriber._due("news") == pytest.approx(1000.0 + 90_000.0)
            now[0] += 200_000.0
            assert subscriber._due("news") <= now[0]
            return subscriber.troubles

    troubles = run(work())
    assert list(troubles) == ["other"]
    assert "500" in troubles["other"]


def test_the_request_to_a_hub_is_the_form_of_websub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, dict[str, list[str]], str]] = []

    async def post(self: object, url: str, body: bytes, identity: str, *, seconds: float, kind: str) -> str:
        sent.append((url, parse_qs(body.decode()), kind))
        return ""

    monkeypatch.setattr("centime.fetch.notice.Notifier.post", post)
    topic = WebSub(TOPIC, SECRET, "https://hub.example/", "https://window.example/")
    subscriber = HubSubscriber(folder, CrawlDoors(folder, Doors(websub={"news": topic})))
    asyncio.run(subscriber._subscribe("news", topic))
    ((url, form, kind),) = sent
    assert (url, kind) == ("https://hub.example/", "application/x-www-form-urlencoded")
    assert form["hub.mode"] == ["subscribe"]
    assert (form["hub.topic"], form["hub.secret"]) == ([TOPIC], [SECRET])


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "[other.ping]",
        "[museum.nonsense]",
        '[museum.webhook]\nsecret = "short"',
        "[museum.webhook]",
        '[museum.websub.x]\ntopic = "https://a.example/"\nsecret = "sixteen letters or more"\nhub = "https://h.example/"',
    ],
)
def test_a_wrong_file_of_doors_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "doors.toml").write_text(text)
    with pytest.raises(BadInput, match=r"doors\.toml"):
        read_doors(tmp_path / "doors.toml", frozenset({"museum"}))


def test_a_file_of_doors_is_read(tmp_path: Path) -> None:
    (tmp_path / "doors.toml").write_text(f'[museum.webhook]\nsecret = "{SECRET}"\n[museum.ping]\n')
    found = read_doors(tmp_path / "doors.toml", frozenset({"museum"}))
    assert found == {"museum": Doors(webhook=Webhook(SECRET), ping=Open())}
