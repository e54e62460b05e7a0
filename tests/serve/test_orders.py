"""Orders of visitors reach the crawl as those of the command line do."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from centime.crawl.commands.inbox import CommandInbox
from centime.crawl.commands.order_log import MOST_BYTES, log_orders, read_orders
from centime.shard.people.command import PublishCommand, SetCommand, SubscribeCommand, new_id
from tests.crawl.report.made import NOW, A, hand_made
from tests.serve.asking import Asker, cookie_of
from tests.serve.test_access import form_key

API = "/api/v1/crawls/museum/orders"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with hand_made(tmp_path / "crawl") as opened:
        opened.close()
    return tmp_path / "crawl"


@pytest.fixture
def asker(folder: Path) -> Any:
    made = Asker({"museum": folder})
    yield made
    made.close()


def order(asker: Asker, **form: str) -> Any:
    return asker.ask("POST", API, headers={"content-type": "application/json"}, body=msgspec.json.encode(form))


def test_orders_of_every_kind_are_commands_in_the_inbox_with_the_name_of_who_gave_them(
    asker: Asker, folder: Path
) -> None:
    assert order(asker, order="set", values="rate=5/s alpha=0.5").status == 202
    assert order(asker, order="ban", host="spam.example").status == 202
    assert order(asker, order="boost", pattern="/news/", weight="4").status == 202
    assert order(asker, order="publish", urls=f"{A}/one {A}/two", publisher="newsroom").status == 202
    assert order(asker, order="subscribe", pattern=".", to="https://h.example/secret-path", name="all").status == 202
    taken = [command for _, command in CommandInbox(folder).take(10)]
    kinds = [type(command) for command in taken]
    assert kinds == [SetCommand, SetCommand, SetCommand, PublishCommand, SubscribeCommand]
    assert {command.by for command in taken} == {"window: local"}
    page = asker.get("/c/museum/orders").text
    assert "rate=5/s" in page
    assert "secret-path" not in page
    assert [row["state"] for row in asker.get(API).json["rows"]] == ["waiting"] * 5


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"order": "nonsense"},
        {"order": "set"},
        {"order": "set", "values": "rate"},
        {"order": "set", "values": "keep=all"},
        {"order": "set", "values": "rate=-1/s"},
        {"order": "publish", "urls": "feed:/etc/passwd"},
        {"order": "publish", "urls": "nonsense"},
        {"order": "publish", "urls": "mailto:a@b.example x://"},
        {"order": "subscribe", "pattern": "(", "to": "https://hooks.example/"},
        {"order": "subscribe", "pattern": ".", "to": "file:/tmp/notices"},
        {"order": "subscribe", "pattern": ".", "to": "command:true"},
        {"order": "subscribe", "pattern": ".", "to": "http://127.0.0.1/"},
        {"order": "unsubscribe", "name": "nobody"},
        {"order": "boost", "pattern": "/news/", "weight": "heavy"},
    ],
)
def test_what_the_command_line_refuses_is_refused_and_files_and_programs_are_left_to_it(
    asker: Asker, folder: Path, form: dict[str, str]
) -> None:
    answered = order(asker, **form)
    assert answered.status == 400
    assert answered.json["error"]
    assert CommandInbox(folder).waiting() == []


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"order": 1}', b"\xff"])
def test_a_body_that_is_no_order_is_refused(asker: Asker, body: bytes) -> None:
    assert asker.ask("POST", API, headers={"content-type": "application/json"}, body=body).status == 400


def test_a_form_gives_an_order_and_leads_to_the_list_which_says_who_applies_it(asker: Asker, folder: Path) -> None:
    page = asker.get("/c/museum/orders")
    given = {"key": form_key(page), "order": "set", "values": "rate=5/s"}
    answered = asker.post("/c/museum/orders", given, headers={"cookie": cookie_of(page)})
    assert (answered.status, answered.headers["location"]) == (303, "/c/museum/orders?ordered=yes")
    assert "by the next run" in asker.get(answered.headers["location"]).text  # to load it again orders nothing
    wrong = asker.post("/c/museum/orders", given | {"values": "nonsense"}, headers={"cookie": cookie_of(page)})
    assert wrong.status == 400
    assert 'role="alert"' in wrong.text
    assert len(CommandInbox(folder).waiting()) == 1


def test_too_many_orders_in_a_minute_are_refused(asker: Asker) -> None:
    statuses = [order(asker, order="set", values="rate").status for _ in range(121)]
    assert statuses == [400] * 120 + [429]
    answered = order(asker, order="set", values="rate=1/s")
    assert "Too many commands" in answered.json["error"]
    assert int(answered.headers["retry-after"]) > 0


def test_the_list_of_orders_is_also_json_and_csv(asker: Asker) -> None:
    assert order(asker, order="set", values="rate=5/s").status == 202
    assert asker.get("/c/museum/orders.json").json == asker.get(API).json
    head, row = asker.get("/c/museum/orders.csv").text.splitlines()
    assert head.startswith("id,time,applied,command")
    assert "rate=5/s" in row
    assert asker.get("/c/museum/orders.xml").status == 404


def test_the_log_of_orders_is_bounded_survives_damage_and_names_each_order_once(tmp_path: Path) -> None:
    made = [SetCommand(id=new_id(), time=NOW, values={"rate": "5/s"}, by="anna") for _ in range(3)]
    log_orders(tmp_path, [(made[0], ""), (made[1], "no"), (made[0], "")], NOW)
    with (tmp_path / "orders.jsonl").open("ab") as file:
        file.write(b"\xff{torn\n[]\n")
    log_orders(tmp_path, [(made[2], "")], NOW + 1)
    found = read_orders(tmp_path)
    assert [(row["id"], row["state"]) for row in found] == [
        (made[2].id, "applied"),
        (made[1].id, "refused"),
        (made[0].id, "applied"),
    ]
    for _ in range(60):
        log_orders(tmp_path, [(one, "x" * 10_000) for one in made], NOW)
    assert (tmp_path / "orders.jsonl").stat().st_size <= MOST_BYTES
    assert len(read_orders(tmp_path)) == 3
    assert read_orders(tmp_path / "nothing") == []
