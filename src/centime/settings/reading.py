"""Reads settings: those that a user gives, and those that a crawl stores.

    settings_from(facts)        values that a user gives now: read, and all of them checked
    replayed_settings(facts)    the same values from a journal: read in the same way, and not checked again
    decode_settings(facts)      all settings of a journal, snapshot or folder, as `CrawlSettings.facts` wrote them

Values that were once accepted are never checked again, so that a stricter version can read those of an older one.

Names are those of the command's options, also in a configuration file; an unknown one is refused with the nearest known
one. A value must be of its setting's type: true is not a number, and 10.0 is the whole number 10 but 10.5 is not. Words
have units (10m, 50/s, 2GB/day). The word `none` removes a setting that may be absent, and empties a list. A refusal
is a BadSetting of one sentence that names the setting, what it may be, and what was given.
"""

import difflib
import tomllib
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
from msgspec import inspect, structs

from centime.change.part import check_rule, check_selection
from centime.discover.canonical import canonical
from centime.discover.suffixes import check_also, check_suffix
from centime.model.address import host_of
from centime.model.errors import BadSetting
from centime.model.link_weight import link_weights
from centime.model.pattern import check_pattern
from centime.settings.crawl import CrawlSettings
from centime.settings.focus import MOST_RULES, FocusRule
from centime.settings.intervals import check_interval, split_words
from centime.settings.retaining import check_retention
from centime.settings.secrets import check_auth, check_header, check_one_host, check_proxy
from centime.settings.units import bytes_per_second, per_second, seconds, size
from centime.settings.want import check_want

NONE = "none"
_UNITS: dict[Callable[[str], float], str] = {
    seconds: " of seconds",
    per_second: " per second",
    bytes_per_second: " of bytes per second",
    size: " of bytes",
}
_READERS: dict[str, Callable[[str], float]] = {
    "delay": seconds,
    "address-delay": seconds,
    "refresh-after": seconds,
    "timeout": seconds,
    "least-interval": seconds,
    "greatest-interval": seconds,
    "rate": per_second,
    "fill-rate": per_second,
    "first-rate": per_second,
    "bandwidth": bytes_per_second,
    "most-memory": size,
    "most-requisite-bytes": size,
}
_CHECKS: dict[str, Callable[[str], None]] = {
    "refuse-suffix": check_suffix,
    "include": check_pattern,
    "exclude": check_pattern,
    "select": check_selection,
    "ignore": check_rule,
    "focus": lambda rule: FocusRule.parse(rule).check(),
    "also": check_also,
    "least-intervals": check_interval,
    "greatest-intervals": check_interval,
    "retain": check_retention,
    "header": check_header,
    "auth": check_auth,
}


@dataclass(frozen=True, slots=True)
class _Setting:
    """One setting: its name, and its type with and without its range."""

    name: str
    ranged: Any
    bare: Any
    kind: inspect.Type
    optional: bool

    def read(self, given: object, *, checked: bool = True) -> Any:
        """The value that a user means."""
        value = given
        if isinstance(given, str):
            with _naming(self.name):
                value = self._of_word(given)
        elif self.name == "discovery" and isinstance(given, int | float) and not isinstance(given, bool):
            value = str(given)
        value = self.converted(value, given, checked=checked)
        if self.name == "ban":
            with _naming(self.name):
                return tuple(dict.fromkeys(host for name in value for host in hosts_named(name)))
        if self.name in ("also", "refuse-suffix"):
            return tuple(dict.fromkeys(word.lstrip(".").lower() for text in value for word in text.split(",")))
        return value

    def converted(self, value: object, given: object, *, checked: bool) -> Any:
        """The value converted to the setting's type; with its range checked if required."""
        if isinstance(self.kind, inspect.IntType) and isinstance(value, float) and value.is_integer():
            value = int(value)
        try:
            return msgspec.convert(value, self.ranged if checked else self.bare)
        except msgspec.ValidationError:
            raise self.refusal(given) from None

    def refusal(self, given: object) -> BadSetting:
        """A sentence with the allowed values and the given one."""
        return BadSetting(f"{self.name} is {self._expected()}{' or none' if self.optional else ''}, not {given!r}")

    def _of_word(self, word: str) -> object:
        if self.optional and word == NONE:
            return None
        match self.kind:
            case inspect.VarTupleType():
                return () if word == NONE else (word,)
            case inspect.TupleType():
                return tuple(map(_number, word.split(",")))
            case _:
                return _READERS[self.name](word) if self.name in _READERS else word

    def _expected(self) -> str:
        match self.kind:
            case inspect.BoolType():
                return "true or false"
            case inspect.IntType(ge=least, le=most):
                unit = _UNITS[_READERS[self.name]] if self.name in _READERS else ""
                return f"a whole number{unit} from {least} to {most}"
            case inspect.FloatType(ge=least, le=most):
                unit = _UNITS[_READERS[self.name]] if self.name in _READERS else ""
                return f"a number{unit} from {least:.12g} to {most:.12g}"
            case inspect.LiteralType():
                return f"one of {', '.join(get_args(self.bare))}"
            case inspect.VarTupleType():
                return "a list of words"
            case inspect.TupleType():
                return "three numbers above 0 and below 1, such as 0.5,0.5,0.5"
            case _:
                return "a word"


def _settings() -> dict[str, _Setting]:
    bare = get_type_hints(CrawlSettings)
    made = {}
    for field in structs.fields(CrawlSettings):
        kind = inspect.type_info(field.type)
        optional = isinstance(kind, inspect.UnionType)
        kind = kind.types[0] if isinstance(kind, inspect.UnionType) else kind
        made[field.encode_name] = _Setting(field.encode_name, field.type, bare[field.name], kind, optional)
    return made


_SETTINGS = _settings()
SETTINGS = frozenset(_SETTINGS)


def settings_from(facts: Mapping[str, Any], *, where: str, start: CrawlSettings | None = None) -> CrawlSettings:
    """Settings with values that a user gives on top of `start`; BadSetting if one is unknown or out of range.

    Only new values are checked: `start` was checked when it was given, perhaps by a version with other ranges. Of
    `continuous` and `refresh-after`, the given one replaces the other in `start`.
    """
    with _naming(where):
        given = {_known(name): _SETTINGS[_known(name)].read(value) for name, value in _split(facts).items()}
        start = start or CrawlSettings()
        settings = _with(start, given)
        _check(settings, start, given.keys())
    return settings


def replayed_settings(facts: Mapping[str, Any], *, where: str, start: CrawlSettings) -> CrawlSettings:
    """The result of `settings_from` when these values were accepted, whatever the ranges are by now."""
    with _naming(where):
        given = {_known(name): _SETTINGS[_known(name)].read(value, checked=False) for name, value in facts.items()}
    return _with(start, given)


def decode_settings(facts: Mapping[str, Any], *, where: str) -> CrawlSettings:
    """The settings that `CrawlSettings.facts` wrote: types are checked and ranges are not; missing settings take their
    defaults.
    """
    with _naming(where):
        for name in facts.keys() - SETTINGS:
            raise BadSetting(f"unknown setting {name!r}: a newer version of centime may have written it")
        return CrawlSettings(
            **{
                _attribute(name): _SETTINGS[name].converted(value, value, checked=False)
                for name, value in facts.items()
            }
        )


def read_config(path: Path) -> dict[str, Any]:
    """The values of a configuration file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadSetting(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:  # also a number with too many digits, for which tomllib has no error of its own
        raise BadSetting(f"{path} is not TOML: {error}") from error


def hosts_named(text: str) -> list[str]:
    """The hosts that a word names: one if it has a scheme, both schemes otherwise."""
    named = [text] if "://" in text else [f"http://{text}", f"https://{text}"]
    urls = [canonical(name) for name in named]
    if any(url is None or not url.endswith("/") or url.count("/") > 3 for url in urls) or any(
        character in text for character in "?#@"
    ):
        raise BadSetting(f"a host is a name, such as spam.example or https://spam.example:8443, not {text!r}")
    return [host_of(url) for url in urls if url]


def _known(name: str) -> str:
    known = name.replace("_", "-")
    if known not in SETTINGS:
        near = difflib.get_close_matches(known, SETTINGS, 1)
        raise BadSetting(f"unknown setting {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    return known


def _split(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The values, with rules of intervals by pattern apart from the interval of all pages."""
    split = {}
    for name, value in facts.items():
        if name.replace("_", "-") not in ("least-interval", "greatest-interval"):
            split[name] = value
            continue
        usual, rules = split_words(value)
        if len(usual) > 1:
            raise BadSetting(f"{name} is given twice for all pages: {usual[0]!r} and {usual[1]!r}")
        split |= {name: usual[0]} if usual else {}
        split |= {f"{name}s": rules} if rules else {}
    return split


def _attribute(name: str) -> str:
    return name.replace("-", "_")


def _with(start: CrawlSettings, given: dict[str, Any]) -> CrawlSettings:
    if given.get("continuous"):
        given.setdefault("refresh-after", None)
    elif given.get("refresh-after") is not None:
        given.setdefault("continuous", False)
    return structs.replace(start, **{_attribute(name): value for name, value in given.items()})


def _check(settings: CrawlSettings, start: CrawlSettings, names: Set[str]) -> None:
    """Raises for new settings of these names that break rules which types cannot express."""
    if names & {"partitions", "ledger", "want", "link-weight"} and settings.partitions > 1:
        if settings.ledger != "exact":
            raise BadSetting(
                f"--ledger {settings.ledger}: a crawl in partitions needs the exact ledger, the only one whose"
                f" money can be sent between partitions; leave out --ledger or --cluster"
            )
        if settings.want is not None:
            raise BadSetting(
                f"--want {settings.want}: interest flows backwards along links, and a partition knows only the"
                f" links of its own pages; leave out --want or --cluster (--focus PATTERN=WEIGHT works in partitions)"
            )
        _check_divided_weights(settings, start)
    if names & {"alpha", "beta"} and not settings.alpha and not settings.beta:
        raise BadSetting("alpha and beta are both 0: then no page is worth reading again")
    if names & {"continuous", "refresh-after"} and settings.continuous and settings.refresh_after is not None:
        raise BadSetting("either --continuous or --refresh-after decides when pages are read again: give one of them")
    unlimited = settings.rate is None and settings.bandwidth is None
    if names & {"continuous", "rate", "bandwidth"} and settings.continuous and unlimited:
        raise BadSetting("--continuous spends a budget: give it as --rate 50/s or --bandwidth 2GB/day")
    if names & {"rate", "fill-rate"} and settings.fill_rate is not None and settings.fill_rate < (settings.rate or 0.0):
        raise BadSetting(
            f"--fill-rate is for a first fill that is faster than --rate, but {settings.fill_rate:g} pages per second "
            f"are fewer than {settings.rate:g}; --fill-rate none takes it back"
        )
    if "discovery" in names:
        percent = _number(settings.discovery.removesuffix("%"))
        if settings.discovery != "auto" and not (isinstance(percent, float) and 0.1 <= percent <= 99.9):
            raise BadSetting(f"discovery is auto, or a percentage from 0.1 to 99.9, not {settings.discovery!r}")
    for name, check in _CHECKS.items():
        with _naming(name):
            for text in getattr(settings, _attribute(name)):
                if text not in getattr(start, _attribute(name)):
                    check(text)
    if len(settings.focus) > max(MOST_RULES, len(start.focus)):
        raise BadSetting(f"there are at most {MOST_RULES} rules of focus, not {len(settings.focus)}")
    if "want" in names and settings.want is not None and settings.want != start.want:
        with _naming("want"):
            check_want(settings.want)
    if names & {"link-weight", "follow-nofollow"} and settings.link_weight is not None:
        _check_link_weight(settings)
    if "proxy" in names and settings.proxy is not None:
        with _naming("proxy"):
            check_proxy(settings.proxy)
    if names & {"header", "auth", "seeds"}:
        check_one_host(settings)
    if names & {"user-agent", "allow-network", "resolve", "ca-file"}:
        settings.fetch_settings().check()


def _check_link_weight(settings: CrawlSettings) -> None:
    with _naming("link-weight"):
        link_weights(settings.link_weight or "")
    if settings.weighs_nofollow() and not settings.follow_nofollow:
        raise BadSetting(
            f"--link-weight {settings.link_weight}: links marked nofollow are not followed, so this crawl does"
            f" not have them; add --follow-nofollow"
        )


def _check_divided_weights(settings: CrawlSettings, start: CrawlSettings) -> None:
    """Refuses weights of links that partitions cannot have."""
    text = settings.link_weight
    if text is None or text == start.link_weight:
        return
    if start.partitions > 1 and start.link_weight is None:
        raise BadSetting(
            f"--link-weight {text}: a crawl in partitions needs it from the start: without it, the hosts of pages"
            f" in other partitions are not stored. `centime rank --link-weight` weighs the links afterwards"
        )
    with _naming("link-weight"):
        weights = link_weights(text)
    if weights.template is not None:
        raise BadSetting(
            f"--link-weight {text}: templates are counted over all pages of a host name, and a partition lacks"
            f" those with another scheme or port; leave out template or --cluster. `centime rank` supports it"
        )


def _number(text: str) -> float | str:
    """The word as a number; the word itself if it is not one."""
    try:
        return float(text)
    except ValueError:
        return text


@contextmanager
def _naming(what: str) -> Iterator[None]:
    """Puts the subject of a refusal before its sentence."""
    try:
        yield
    except BadSetting as error:
        raise BadSetting(f"{what}: {error}") from None
