"""Troubles of a watch are told once when they begin, and once when they are over."""

from centime.cli.fresh.trouble import Trouble


def test_a_page_is_named_again_only_if_something_else_is_wrong_and_when_it_is_back() -> None:
    trouble = Trouble()
    outcomes = [("timed out", None), ("timed out", None), ("gone", 404), ("read", 200), ("read", 200)]
    visits = [{"url": "u", "outcome": outcome, "status": status} for outcome, status in outcomes]
    assert list(trouble.of_pages(visits)) == [
        "u: cannot be read: timed out; it is tried again",
        "u: cannot be read: gone (status 404); it is tried again",
        "u: can be read again",
    ]


def test_a_redirect_is_named_once_for_each_target() -> None:
    targets = ["http://a.example/login", "http://a.example/login", "http://b.example/", ""]
    visits = [
        {"url": "u", "outcome": "moved temporarily", "status": 302, "leads_to": target}
        if target
        else {"url": "u", "outcome": "unchanged", "status": 304}
        for target in targets
    ]
    assert list(Trouble().of_pages(visits)) == [
        "u: redirects to http://a.example/login (status 302); it is tried again",
        "u: redirects to http://b.example/ (status 302); it is tried again",
        "u: can be read again",
    ]


def test_notices_that_fail_are_told_when_they_begin_to_and_when_they_arrive_again() -> None:
    trouble, places = Trouble(), {"watch-1": "command:/bin/false", "watch-2": "apprise:mailto://me:secret@a.example"}
    looks = [{"watch-1": "code 1"}, {"watch-1": "code 2"}, {}, {"watch-2": "no answer"}]
    assert [list(trouble.of_notices(look, places)) for look in looks] == [
        ["notices to command:/bin/false fail: code 1; they are tried again"],
        [],
        ["notices to command:/bin/false arrive again"],
        ["notices to apprise:mailto fail: no answer; they are tried again"],
    ]
