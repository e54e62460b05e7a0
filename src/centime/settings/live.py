"""Settings that can be changed while a crawl runs, written as NAME=VALUE.

    rate=50/s  bandwidth=2GB/day  fill-rate=100/s  delay=2s       as the options of the crawl; none lifts a limit
    most-pages=1000000  most-memory=4GB          none: as much as the machine has room for
    least-interval=1h  greatest-interval=30d     of all pages
    least-interval=/news/=5m                     of a pattern; /news/=none removes it; repeat it for more
    alpha=0.2  beta=1  discovery=auto  discovery=30%  discovery-weight=2
    shares=0.5,0.5,0.5  policy=paper
    ban=spam.example                             bans this host alone; repeat it for more, `none` bans no host
    ban+=spam.example  ban-=spam.example         bans one more host, one less
    want=xml  want=/reports/  want=none          the pages that the crawl wants; none: all pages alike
    focus=/politics/=4                           the weight of a pattern; a new pattern applies to pages found later

A list changes when the crawl applies the command, not when the command is written, so that two people can each ban a
host. A rule of focus is never removed, because pages belong to its class: the weight 1 has the same effect.
"""

import difflib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from centime.model.errors import BadSetting
from centime.settings.crawl import CrawlSettings
from centime.settings.focus import FocusRule
from centime.settings.intervals import check_interval
from centime.settings.reading import NONE, hosts_named, replayed_settings, settings_from

Value = str | float | list[str] | None

LISTS = ("ban", "focus")
NUMBERS = ("alpha", "beta", "discovery-weight")
LIMITS = ("rate", "bandwidth", "fill-rate", "most-pages", "most-memory", "greatest-interval")
INTERVALS = ("least-interval", "greatest-interval")
RULES = ("least-intervals", "greatest-intervals")  # of patterns
SETTABLE = (*LIMITS, "want", "delay", *NUMBERS, "discovery", "least-interval", "shares", "policy", *LISTS)


def read_values(words: Sequence[str]) -> dict[str, Value]:
    """The values of words NAME=VALUE, for a SetCommand; BadSetting names the word that is not one."""
    values: dict[str, Value] = {}
    for word in words:
        name, equals, text = word.partition("=")
        name = name.strip().lower().replace("_", "-")
        bare = name.rstrip("+-") if name[:-1] in LISTS else name
        if not equals:
            raise BadSetting(f"a setting is NAME=VALUE, such as rate=50/s, not {word!r}")
        if bare not in SETTABLE:
            raise BadSetting(_unknown(name))
        if bare in INTERVALS and "=" in text:
            check_interval(text.strip())
            _listed_in(values, f"{name}s").append(text.strip())
            continue
        if bare in LISTS:
            _add(values, name, text.strip())
            continue
        if name in values:
            raise BadSetting(f"{name} is given twice")
        values[name] = _value(name, text.strip())
    return values


def changed(settings: CrawlSettings, values: Mapping[str, Value]) -> CrawlSettings:
    """The settings with these values; BadSetting if a name cannot be changed or a value is out of range."""
    return settings_from(_given(settings, values), where="set", start=settings)


def changed_again(settings: CrawlSettings, values: Mapping[str, Value]) -> CrawlSettings:
    """The settings with values of a journal: the result of `changed` when they were accepted."""
    return replayed_settings(_given(settings, values), where="the journal", start=settings)


def _given(settings: CrawlSettings, values: Mapping[str, Value]) -> dict[str, Any]:
    """The values that a command changes, lists merged with those of the settings."""
    given: dict[str, Any] = {}
    for name, value in values.items():
        bare = name.rstrip("+-") if name[:-1] in LISTS else name
        if bare not in (*SETTABLE, *RULES):
            raise BadSetting(_unknown(name))
        if bare in RULES:
            given[bare] = _replaced(getattr(settings, bare.replace("-", "_")), _items(name, value))
        elif bare == "focus":
            given["focus"] = _replaced(given.get("focus", settings.focus), _items(name, value))
        elif bare == "ban":
            given["ban"] = _listed(given.get("ban", settings.ban), name.removeprefix("ban"), _items(name, value))
        else:
            given[name] = value
    return given


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name.rstrip("+-"), SETTABLE, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"these can: {', '.join(SETTABLE)}"
    return f"{name!r} cannot be changed while a crawl runs; {hint}"


def _add(values: dict[str, Value], name: str, text: str) -> None:
    """Adds the item of one word to a list of the command."""
    items = _listed_in(values, name)
    if name == "ban" and text in ("", NONE):
        return
    if name.startswith("ban") and text:
        items.extend(hosts_named(text))
    elif name == "focus":
        FocusRule.parse(text).check()
        items.append(text)
    elif name.startswith("focus"):
        raise BadSetting("a focus is set as focus=PATTERN=WEIGHT; the weight 1 has the same effect as removing it")
    else:
        raise BadSetting(f"{name}= names a host, such as {name}=spam.example")


def _listed_in(values: dict[str, Value], name: str) -> list[str]:
    """The list of this name in the command."""
    items = values.setdefault(name, [])
    assert isinstance(items, list)
    return items


def _value(name: str, text: str) -> Value:
    if name in (*LIMITS, "want") and text == NONE:
        return None
    if name in (*NUMBERS, "most-pages"):
        with suppress(ValueError):  # refused with its range later
            return float(text)
    return text


def _items(name: str, value: Value) -> list[str]:
    if not isinstance(value, list):
        raise BadSetting(f"{name} is a list of words, not {value!r}")
    return value


def _listed(before: Sequence[str], sign: str, items: Sequence[str]) -> tuple[str, ...]:
    match sign:
        case "+":
            return tuple(dict.fromkeys([*before, *items]))
        case "-":
            return tuple(item for item in before if item not in items)
        case _:
            return tuple(dict.fromkeys(items))


def _replaced(before: Sequence[str], rules: Sequence[str]) -> tuple[str, ...]:
    """The rules PATTERN=VALUE with new values for known patterns, and new patterns behind them: the place of a rule of
    focus is the class of its pages.
    """
    after = list(before)
    for rule in rules:
        patterns = [known.rpartition("=")[0] for known in after]
        pattern = rule.rpartition("=")[0]
        place = patterns.index(pattern) if pattern in patterns else len(after)
        after[place : place + 1] = [rule]
    return tuple(after)
