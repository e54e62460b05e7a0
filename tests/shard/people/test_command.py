"""Commands: unpacking gives what was packed, none is too large, none is carried out twice."""

import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.crawl.commands.checking import check_content, check_subscription, unpack_command
from centime.model.errors import BadInput, BadSetting
from centime.shard.people import command as commands
from centime.shard.people.command import (
    Command,
    PublishCommand,
    RecentIds,
    SetCommand,
    SubscribeCommand,
    UnsubscribeCommand,
    column_of,
    decode_command,
    new_id,
    pack_command,
    publications,
)
from centime.shard.people.subscriptions import Subscription

GOOD = Subscription("news", "/news/", 3600.0, "file:changes.json", "//h1")
URLS = st.lists(st.text("abc/", max_size=30).map(lambda path: f"http://a.example/{path}"), min_size=1, max_size=40)


@pytest.mark.parametrize(
    "command",
    [
        SetCommand(
            id=new_id(), time=1.5, values={"rate": 50.0, "ban+": ["spam.example"], "delay": "2s", "bandwidth": None}
        ),
        PublishCommand(
            id=new_id(),
            time=2.0,
            urls=b"http://a.example/\nhttp://b.example/",
            cluster="c",
            publisher="p",
            source="feed",
        ),
        SubscribeCommand(id=new_id(), time=3.0, subscription=GOOD),
        UnsubscribeCommand(id=new_id(), time=4.0, name="news"),
    ],
    ids=lambda command: type(command).__name__,
)
def test_a_command_is_unpacked_as_it_was_packed(command: Command) -> None:
    assert unpack_command(pack_command(command)) == command


@given(urls=URLS, most=st.integers(1, 7), most_bytes=st.integers(1, 200))
def test_a_publication_is_cut_into_commands_of_bounded_size_and_nothing_is_lost(
    urls: list[str], most: int, most_bytes: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands, "MOST_URLS", most)
        patch.setattr(commands, "MOST_URL_BYTES", most_bytes)
        modified = [float(place) for place in range(len(urls))]
        made = list(publications(urls, time=100.0, modified=modified))
    assert [url for command in made for url in command.lines()] == urls
    assert [time for command in made for time in column_of(command.modified, len(command.lines())).tolist()] == modified
    assert all(
        len(command.lines()) <= most and (len(command.urls) <= most_bytes or len(command.lines()) == 1)
        for command in made
    )
    assert [command.time for command in made] == sorted({command.time for command in made})
    assert len({command.id for command in made}) == len(made)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "x"}, "32 hexadecimal digits"),
        ({"time": float("nan")}, "seconds since the epoch"),
        ({"urls": b""}, "1 to 20000 URLs, not 0"),
        ({"urls": b"\xff"}, "are not text"),
        ({"urls": b"\n" * 20_000}, "not 20001"),
        ({"modified": bytes(7)}, "7 bytes for 1"),
        ({"periods": struct.pack("<d", float("inf"))}, "not a finite number of seconds"),
        ({"source": "rumour"}, "not a command"),
    ],
)
def test_a_command_that_cannot_be_carried_out_is_refused(change: dict[str, object], message: str) -> None:
    command = PublishCommand(id=new_id(), time=1.0, urls=b"http://a.example/")
    with pytest.raises(BadInput, match=message):
        unpack_command(pack_command(msgspec.structs.replace(command, **change)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "a b"}, "name of a subscription"),
        ({"pattern": "("}, "not a regular expression"),
        ({"pattern": r"(a)\1"}, "back-reference"),
        ({"every": 0.0}, "at most every second"),
        ({"every": float("nan")}, "at most every second"),
        ({"to": "mail:me"}, "not to 'mail:me'"),
        ({"to": "file:"}, "not to 'file:'"),
        ({"xpath": "//a["}, "not an XPath"),
        ({"xpath": "$x"}, "not an XPath"),
    ],
)
def test_a_subscription_that_could_never_be_served_is_refused(change: dict[str, object], message: str) -> None:
    check_subscription(GOOD)
    with pytest.raises(BadSetting, match=message):
        check_subscription(msgspec.structs.replace(GOOD, **change))


@given(st.lists(st.integers(0, 20), max_size=60), st.integers(1, 8), st.integers(0, 60))
def test_the_last_ids_are_remembered_also_across_a_snapshot(numbers: list[int], most: int, cut: int) -> None:
    ids = RecentIds(most=most)
    kept: list[str] = []
    for place, number in enumerate(numbers):
        if place == cut:
            ids = RecentIds(RecentIds.from_state(ids.state()).state(), most)
        identity = str(number)
        assert ids.add(identity) == (identity not in kept)
        if identity not in kept:
            kept = [*kept, identity][-most:]
    assert ids.state() == kept
    assert len(ids) == len(kept)
    assert all(identity in ids for identity in kept)


def test_a_pattern_that_is_too_long_is_refused_when_it_is_new_and_never_when_a_journal_is_replayed() -> None:
    long = "a" * 1_001
    subscription = msgspec.structs.replace(GOOD, pattern=long)
    command = SubscribeCommand(id=new_id(), time=1.0, subscription=subscription)
    assert decode_command(pack_command(command)) == command
    with pytest.raises(BadSetting, match="at most 1000 characters"):
        unpack_command(pack_command(command))


@pytest.mark.parametrize("name", ["publisher", "cluster"])
def test_a_name_that_is_too_long_is_refused_when_it_is_new(name: str) -> None:
    command = PublishCommand(id=new_id(), time=1.0, urls=b"http://a.example/")
    check_content(msgspec.structs.replace(command, **{name: "x" * 200}))
    with pytest.raises(BadInput, match="200 characters"):
        check_content(msgspec.structs.replace(command, **{name: "x" * 201}))
