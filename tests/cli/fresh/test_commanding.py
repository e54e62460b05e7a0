"""The commands that give commands to a crawl, and the one that shows what changed.

Over 400 lines: all cases share one running crawl.
"""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import typer
from lxml import etree

from centime.cli.crawl import set as setting
from centime.cli.ending import run
from centime.cli.fresh import changes, publish, subscribe
from centime.cli.look import stats
from centime.crawl.commands.checking import unpack_command
from centime.crawl.commands.inbox import CommandInbox
from centime.crawl.notify.delivery import Trouble, write_troubles
from centime.settings.live import SETTABLE
from centime.shard.people.command import (
    Command,
    PublishCommand,
    SetCommand,
    SubscribeCommand,
    UnsubscribeCommand,
    new_id,
)
from centime.shard.people.subscriptions import Subscription
from tests.crawl.report.made import NOW, ROOT, A, hand_made

app = typer.Typer(add_completion=False, rich_markup_mode=None)
for module in (changes, publish, setting, stats, subscribe):
    module.register(app)


def centime(*arguments: object) -> int:
    return run(app, list(map(str, arguments)))


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    said = capsys.readouterr()
    assert said.err == ""
    return json.loads(said.out)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "crawl"
    with hand_made(folder) as opened:
        opened.close()
    return folder


@pytest.fixture
def crawl(made: Path) -> Iterator[Path]:
    yield made
    inbox = CommandInbox(made)
    inbox.done(inbox.waiting())


def waiting(crawl: Path) -> list[Command]:
    return [unpack_command(path.read_bytes()) for path in CommandInbox(crawl).waiting()]


@contextmanager
def taking(crawl: Path, *, refuse: str = "", leave: bool = False) -> Iterator[None]:
    """Stands in for a running crawl: holds its lock and takes commands, or ends without taking any."""
    from centime.store.folder import CrawlFolder

    folder = CrawlFolder.open(crawl, writable=True)
    ended = threading.Event()

    def take() -> None:
        inbox = CommandInbox(crawl)
        while not ended.wait(0.01):
            for path, _ in inbox.take():
                if leave:
                    folder.close()
                    return
                if refuse:
                    inbox.refuse(path, refuse)
                inbox.done([path])

    thread = threading.Thread(target=take)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        folder.close()


def test_set_changes_settings_and_says_who_applies_them(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert centime("set", crawl, "rate=20/s", "ban+=spam.example", "--json") == 0
    facts = told(capsys)
    assert facts["by"] == "the next run: no crawl is running here"
    assert facts["taken"] is False
    (command,) = waiting(crawl)
    assert isinstance(command, SetCommand)
    assert command.values == {"rate": "20/s", "ban+": ["http://spam.example", "https://spam.example"]}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rat=5"], "did you mean 'rate'?"),
        (["rate=x"], "a rate is a number per second"),
        (["alpha=0", "beta=0"], "both 0"),
        (["rate"], "a setting is NAME=VALUE"),
        (["focus=/a/=0.1"], "a multiple of 1/16"),
        (["want=pdf"], "start it with --want pdf"),
        (["want=hmtl"], "did you mean html?"),
        (["delay=5s"], "start it with another --delay"),
    ],
)
def test_set_refuses_a_typo_at_once(
    crawl: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert centime("set", crawl, *words) == 2
    assert said in capsys.readouterr().err
    assert waiting(crawl) == []


def test_the_help_of_set_lists_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert centime("set", "--help") == 0
    listed = " ".join(capsys.readouterr().out.split()).partition("Names:")[2].partition(".")[0]
    assert sorted(word.strip() for word in listed.split(",")) == sorted(SETTABLE)


def test_an_order_to_a_running_crawl_is_waited_for(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with taking(crawl):
        assert centime("set", crawl, "rate=20/s", "--wait", "--json") == 0
        facts = told(capsys)
    assert facts["taken"] is True
    assert "the running crawl, process" in facts["by"]
    assert waiting(crawl) == []


def test_an_order_that_the_crawl_refuses_is_an_error_with_its_reason(
    crawl: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with taking(crawl, refuse="not today"):
        assert centime("publish", crawl, ROOT, "--wait") == 2
    assert "the crawl refused the command: not today" in capsys.readouterr().err


def test_nobody_waits_for_a_crawl_that_does_not_run_or_ends_meanwhile(
    crawl: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert centime("publish", crawl, ROOT, "--wait") == 2
    assert "without --wait the next run applies the command" in capsys.readouterr().err
    assert waiting(crawl) == []
    with taking(crawl, leave=True):
        assert centime("publish", crawl, ROOT, "--wait") == 1
    assert "the next run applies it" in capsys.readouterr().err
    assert len(waiting(crawl)) == 1


def test_publish_requests_pages_and_names_what_is_out_of_scope(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        centime(
            "publish", crawl, f"{A}/one#x", f"{A}/p.jpg", "sitemap:http://a.example/s.xml", "--cluster", "c", "--json"
        )
        == 0
    )
    facts = told(capsys)
    assert (facts["pages"], facts["sitemaps"], facts["feeds"], facts["refused"], facts["commands"]) == (1, 1, 0, 1, 2)
    assert facts["out"] == [{"url": f"{A}/p.jpg", "reason": "pages do not end in .jpg"}]
    commands = [command for command in waiting(crawl) if isinstance(command, PublishCommand)]
    assert {(command.source, command.urls, command.cluster) for command in commands} == {
        ("url", f"{A}/one".encode(), "c"),
        ("sitemap", b"http://a.example/s.xml", "c"),
    }


def test_publish_takes_what_a_hub_has_posted_and_no_signature_without_it(
    crawl: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "posted.xml").write_text(f"<rss><channel><item><link>{A}/one</link></item></channel></rss>")
    assert centime("publish", crawl, "--websub", tmp_path / "posted.xml", "--json") == 0
    assert told(capsys)["pages"] == 1
    assert centime("publish", crawl, ROOT, "--signature", "sha256=00") == 2
    assert "--signature and --secret-file need --websub" in capsys.readouterr().err


def test_publish_tells_people_what_is_out(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert centime("publish", crawl, ROOT, f"{A}/p.jpg") == 0
    assert f"{A}/p.jpg" in capsys.readouterr().out
    assert centime("publish", crawl, f"{A}/p.jpg") == 2
    assert (
        "none of the URLs can be published; http://a.example/p.jpg: pages do not end in .jpg" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cluster", ""], "the name of the cluster is empty: leave out --cluster"),
        (["--publisher", " "], "the name of the publisher is empty: leave out --publisher"),
        (["--publisher", "x" * 201], "the name of a publisher has at most 200 characters, not 201"),
        (["sitemap:"], "sitemap: names no sitemap; give a URL or a file"),
        (["feed: "], "feed: names no feed; give a URL or a file"),
    ],
)
def test_publish_refuses_empty_and_endless_names(
    crawl: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert centime("publish", crawl, ROOT, *words) == 2
    assert said in capsys.readouterr().err
    assert waiting(crawl) == []


def test_a_large_publication_is_several_commands(
    crawl: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "u.txt").write_text("".join(f"{A}/{number}\n" for number in range(120_000)))
    assert centime("publish", crawl, "-f", tmp_path / "u.txt", "--json") == 0
    assert told(capsys)["commands"] == 6
    assert [len(command.lines()) for command in waiting(crawl) if isinstance(command, PublishCommand)] == [20_000] * 6


def test_subscribe_makes_a_subscription_with_a_name_that_says_the_same(
    crawl: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = f"file:{tmp_path}/news"
    assert centime("subscribe", crawl, "/news/", "--xpath", "//h1", "--every", "2h", "--to", to, "--json") == 0
    first = told(capsys)
    assert centime("subscribe", crawl, "/news/", "--xpath", "//h1", "--every", "1h", "--to", to, "--json") == 0
    assert told(capsys)["name"] == first["name"]
    command = waiting(crawl)[0]
    assert isinstance(command, SubscribeCommand)
    assert (command.subscription.pattern, command.subscription.xpath, command.subscription.every) == (
        "/news/",
        "//h1",
        7200.0,
    )
    assert command.subscription.to == to


def test_a_place_is_the_same_wherever_the_crawl_is_started(
    crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    crawl = crawl.absolute()
    monkeypatch.chdir(tmp_path)
    assert centime("subscribe", crawl, ".", "--to", "file:news", "--json") == 0
    assert told(capsys)["to"] == f"file:{tmp_path}/news"
    assert centime("subscribe", crawl, ".", "--to", "command:sh -c 'a b'", "--json") == 0
    assert told(capsys)["to"].endswith("/sh -c 'a b'")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give a PATTERN to subscribe to, or --list, or --remove NAME"),
        (["x", "--list"], "give a PATTERN to subscribe to"),
        (["x"], "give a subscriber"),
        (["(", "--to", "file:a"], "not a regular expression"),
        (["x", "--to", "mail:me"], "not to 'mail:me'"),
        (["x", "--to", "file:/no/such/folder/a"], "the folder does not exist"),
        (["x", "--to", "file:/dev/null"], "/dev/null is not a file"),
        (["x", "--to", "file:/"], "is a folder"),
        (["x", "--to", "command:no-such-program"], "there is no executable program 'no-such-program'"),
        (["x", "--to", "command:'"], "cannot parse the command"),
        (["x", "--to", "http://127.0.0.1/"], "127.0.0.1 is not a public address"),
        (["x", "--to", "http://0x7f.1:80/"], "127.0.0.1 is not a public address"),
        (["x", "--to", "http://[::1]:8/"], "::1 is not a public address"),
        (["x", "--to", "http://a.localhost/"], "not a public address"),
        (["x", "--to", "http://"], "is not an http or https URL"),
        (["x", "--to", "file:a", "--xpath", ""], "leave out --xpath"),
        (["x", "--to", "file:a", "--xpath", " "], "leave out --xpath"),
        (["x", "--to", "file:a", "--name", ""], "leave out --name"),
        ([r"(a)\1", "--to", "file:a"], "back-reference"),
        (["x", "--to", "file:a", "--every", "soon"], "a time is a number"),
        (["x", "--to", "file:a", "--every", "0"], "at most every second"),
        (["x", "--to", "file:a", "--xpath", "//a["], "is not an XPath"),
        (["x", "--to", "file:a", "--xpath", "//*[count(//*[count(//*) > 1]) > 1]"], "takes too long"),
        (["x", "--words", " ", "--to", "file:x"], "the words are empty: leave out --words"),
        (["x", "--words", "-tea", "--to", "file:x"], "says only what must not be there"),
        (["x", "--words", "tea " * 300, "--to", "file:x"], "the words have at most 1000 characters"),
        (["x", "--words", "tea", "--when", "always", "--to", "file:x"], "--when is appears or vanishes, not 'always'"),
        (["x", "--when", "appears", "--to", "file:x"], "'appears' needs an XPath or words"),
        (["x", "--xpath", "//a", "--when", "appears", "--to", "file:x"], "stores none; centime crawl"),
        (["--remove", "nobody"], "no subscription has the name 'nobody'; existing names: none"),
    ],
)
def test_a_subscription_that_could_not_be_served_is_refused_at_once(
    crawl: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert centime("subscribe", crawl, *words) == 2
    assert said in capsys.readouterr().err
    assert waiting(crawl) == []


def test_subscribe_takes_words_and_when_they_are_told(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        centime("subscribe", crawl, ".", "--words", "tea", "--when", "vanishes", "--to", "file:x", "--name", "a") == 0
    )
    (command,) = waiting(crawl)
    assert isinstance(command, SubscribeCommand)
    assert (command.subscription.words, command.subscription.when) == ("tea", "vanishes")
    capsys.readouterr()
    assert centime("subscribe", crawl, "--list", "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["subscriptions"]
    assert (row["words"], row["when"], row["xpath"]) == ("tea", "vanishes", None)


def test_subscriptions_that_were_ordered_are_listed_and_removed(
    crawl: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert centime("subscribe", crawl, ".", "--to", f"file:{tmp_path}/a", "--name", "all") == 0
    capsys.readouterr()
    assert centime("subscribe", crawl, "--list", "--json") == 0
    (row,) = told(capsys)["subscriptions"]
    assert (row["name"], row["state"], row["waiting"], row["every_seconds"]) == ("all", "requested", 0, 86_400.0)
    assert centime("subscribe", crawl, "--list") == 0
    assert "requested" in capsys.readouterr().out
    assert centime("subscribe", crawl, "--remove", "all", "--json") == 0
    assert told(capsys)["removed"] == "all"
    assert isinstance(waiting(crawl)[-1], UnsubscribeCommand)
    assert centime("subscribe", crawl, "--list", "--json") == 0
    assert told(capsys)["subscriptions"] == []


def test_a_subscriber_in_trouble_is_listed_with_the_reason_and_the_next_attempt(
    crawl: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("well", "ill"):
        assert centime("subscribe", crawl, ".", "--to", f"file:{tmp_path}/a", "--name", name) == 0
    write_troubles(
        crawl, {"ill": Trouble(3, 1_800_000_000.0, "false ended with code 1"), "removed": Trouble(1, 1.0, "x")}
    )
    capsys.readouterr()
    assert centime("subscribe", crawl, "--list", "--json") == 0
    rows = {row["name"]: row for row in told(capsys)["subscriptions"]}
    assert [rows["ill"][name] for name in ("failures", "next_attempt", "trouble")] == [
        3,
        "2027-01-15T08:00:00Z",
        "false ended with code 1",
    ]
    assert [rows["well"][name] for name in ("failures", "next_attempt", "trouble")] == [0, None, None]
    assert centime("subscribe", crawl, "--list") == 0
    assert "false ended with code 1" in capsys.readouterr().out
    write_troubles(crawl, {})


@pytest.mark.parametrize("place", ["crawl/news", "link/news", "dangling", "crawl/bodies/../centime.json"])
def test_changes_are_not_delivered_to_the_folder_of_the_crawl_itself(
    crawl: Path, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "crawl").symlink_to(crawl)
    (tmp_path / "link").symlink_to(crawl)
    (tmp_path / "dangling").symlink_to(crawl / "news")
    assert centime("subscribe", crawl, ".", "--to", f"file:{tmp_path / place}") == 2
    assert "is inside the crawl's own folder" in capsys.readouterr().err
    assert waiting(crawl) == []


def test_stats_tells_publishers_in_words_and_counts_subscribers_in_trouble(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with hand_made(tmp_path / "crawl") as opened:
        given = Subscription("ill", ".", 60.0, f"file:{tmp_path}/a")
        opened.shard.command(NOW + 3, SubscribeCommand(id=new_id(), time=NOW, subscription=given))
        opened.shard.command(
            NOW + 3, PublishCommand(id=new_id(), time=NOW, urls=f"{A}/seven".encode(), publisher="newsroom")
        )
        opened.close()
    write_troubles(tmp_path / "crawl", {"ill": Trouble(3, 1.0, "x"), "removed": Trouble(1, 1.0, "x")})
    assert centime("stats", tmp_path / "crawl", "--json") == 0
    facts = told(capsys)
    assert facts["subscribers_in_trouble"] == 1
    assert set(facts["publishers"]["newsroom"]) == {"credit", "right", "wrong", "unverified"}
    assert centime("stats", tmp_path / "crawl") == 0
    said = capsys.readouterr().out
    assert re.search(r"^name +credit +right +wrong +unverified *$", said, re.MULTILINE)
    assert re.search(r"^newsroom +[0-9.]+ +0 +0 +1 *$", said, re.MULTILINE)
    assert "{" not in said


def test_changes_are_shown_to_people_to_programs_and_to_readers_of_feeds(
    crawl: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert centime("changes", crawl, "--json") == 0
    facts = told(capsys)
    assert facts["seen"] == 3
    assert [(row["change"], row["url"]) for row in facts["changes"]][-1] == ("new", ROOT)
    assert centime("changes", crawl, "-n", 1, "--json") == 0
    assert told(capsys)["changes"] == facts["changes"][:1]
    assert centime("changes", crawl, "-n", 0, "--json") == 0
    assert told(capsys) == facts
    assert centime("changes", crawl) == 0
    assert ROOT in capsys.readouterr().out
    assert centime("changes", crawl, "--atom") == 0
    assert len(etree.fromstring(capsys.readouterr().out.encode()).findall("{*}entry")) == 3
    assert centime("changes", crawl, "--until", "2020-01-01", "--json") == 0
    assert told(capsys) == {"known": facts["known"], "seen": 0, "changes": []}
    assert centime("changes", crawl, "--until", "2020-01-01") == 0
    assert "none" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--json", "--atom"], "exclude each other"),
        (["--self", "https://a.example/"], "give --atom too"),
        (["--atom", "--self", "museum.atom"], "begins with https://"),
        (["-n", "-1"], "not -1"),
        (["--since", "soon"], "a time is written like"),
        (["--match", "("], "not a regular expression"),
        (["--match", "(?=a)"], "look-around"),
    ],
)
def test_changes_refuses_what_cannot_be_meant(
    crawl: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert centime("changes", crawl, *words) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [["set", "rate=1"], ["publish", ROOT], ["subscribe", ".", "--to", "file:a"], ["changes"]]
)
def test_a_folder_without_a_crawl_is_refused(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert centime(command[0], tmp_path, *command[1:]) == 2
    assert "this is not a crawl" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
