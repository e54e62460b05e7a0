"""What can be changed of a crawl while it runs, and how it is written: NAME=VALUE.

    rate=50/s  bandwidth=2GB/day  delay=2s  least-interval=1h        as the options of the crawl are written; rate=none lifts a limit
    alpha=0.2  beta=1  discovery=auto  discovery=30%  discovery-weight=2  shares=0.5,0.5,0.5  policy=paper
    ban=spam.example                                                 the banned hosts are this one now; repeat it for more, `none` for none
    ban+=spam.example  ban-=spam.example                             one more, one less
    focus=/politics/=4                                               the weight of a pattern; a new one holds for pages found from now on

Lists are changed where the command is carried out and not where it was written, so that two people can each ban a host.
A focus never vanishes, for pages belong to its class: the weight 1 makes it as if it were not there.
"""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from centime.model.errors import BadSetting
from centime.settings.crawl import CrawlSettings
from centime.settings.focus import FocusRule
from centime.settings.reading import NONE, hosts_named, replayed_settings, settings_from

Value = str | float | list[str] | None

LISTS = ("ban", "focus")
NUMBERS = ("alpha", "beta", "discovery-weight")
LIMITS = ("rate", "bandwidth")
SETTABLE = (*LIMITS, "delay", *NUMBERS, "discovery", "least-interval", "shares", "policy", *LISTS)


def read_values(words: Sequence[str]) -> dict[str, Value]:
    """What words NAME=VALUE say, for a SetCommand; BadSetting names the word that says nothing."""
    values: dict[str, Value] = {}
    for word in words:
        name, equals, text = word.partition("=")
        name = name.strip().lower().replace("_", "-")
        bare = name.rstrip("+-") if name[:-1] in LISTS else name
        if not equals:
            raise BadSetting(f"a setting is NAME=VALUE, as rate=50/s, not {word!r}")
        if bare not in SETTABLE:
            raise BadSetting(_unknown(name))
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
    """The settings with values that a journal holds: what `changed` returned when they were accepted."""
    return replayed_settings(_given(settings, values), where="the journal", start=settings)


def _given(settings: CrawlSettings, values: Mapping[str, Value]) -> dict[str, Any]:
    """The values that a command changes, lists merged with those of the settings."""
    given: dict[str, Any] = {}
    for name, value in values.items():
        bare = name.rstrip("+-") if name[:-1] in LISTS else name
        if bare not in SETTABLE:
            raise BadSetting(_unknown(name))
        if bare == "focus":
            given["focus"] = _weighed(given.get("focus", settings.focus), _items(name, value))
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
    """Adds to a list of the command what one word says."""
    items = values.setdefault(name, [])
    assert isinstance(items, list)
    if name == "ban" and text in ("", NONE):
        return
    if name.startswith("ban") and text:
        items.extend(hosts_named(text))
    elif name == "focus":
        FocusRule.parse(text).check()
        items.append(text)
    elif name.startswith("focus"):
        raise BadSetting("a focus is set as focus=PATTERN=WEIGHT; with the weight 1 it is as if it were not there")
    else:
        raise BadSetting(f"{name}= names a host, as {name}=spam.example")


def _value(name: str, text: str) -> Value:
    if name in LIMITS and text == NONE:
        return None
    if name not in NUMBERS:
        return text
    try:
        return float(text)
    except ValueError:
        raise BadSetting(f"{name} is a number, not {text!r}") from None


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


def _weighed(before: Sequence[str], rules: Sequence[str]) -> tuple[str, ...]:
    """The rules of focus with new weights for known patterns, and new patterns behind them."""
    by_pattern = {FocusRule.parse(rule).pattern: rule for rule in (*before, *rules)}
    return tuple(by_pattern.values())
