"""Pages for people: templates with everything escaped, and figures written as people read them."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from centime.crawl.report.opening import moment
from centime.model.visible import visible
from centime.serve import charts
from centime.serve.fields import FIELDS
from centime.serve.resource import Parameters

HERE = Path(__file__).parent
NOTHING = "\u2013"
LINKS = ("http://", "https://")


def render(template: str, **values: Any) -> bytes:
    """A page."""
    return _environment().get_template(template).render(**values).encode()


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": number,
        "between": between,
        "octets": octets,
        "share": share,
        "when": when,
        "span": span,
        "text": text,
        "words": words,
        "cell": cell,
        "points": lambda rows, name: [(row["time"], row[name]) for row in rows if row[name] is not None],
        "pairs": lambda rows, *names: [tuple(row[name] for name in names) for row in rows],
        "triples": lambda rows: [(row["from"], row["to"], row["energy"]) for row in rows],
        "marked": marked,
        "secretless": secretless,
        "until": until,
    }
    made.globals |= {
        "label": label,
        "outside": outside,
        "address": address,
        "continued": continued,
        "same_as": same_as,
        "curve": lambda *given, **more: Markup(charts.curve(*given, **more)),
        "bands": lambda *given: Markup(charts.bands(*given)),
    }
    return made


def label(name: str) -> Markup:
    """The name of a figure as a link to its explanation."""
    spoken = name.replace("_", " ")
    if name not in FIELDS:
        return escape(spoken)
    return Markup('<a class="meaning" href="/help#{}" title="{}">{}</a>').format(name, FIELDS[name].meaning, spoken)


def address(*parts: str, **query: object) -> str:
    """An address of this server: parts of the path and parameters, quoted."""
    given = {name: value for name, value in query.items() if value not in (None, "", False)}
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    return f"{path}?{urlencode(given)}" if given else path


def continued(crawl: str, name: str, wanted: Parameters, cursor: str) -> str:
    """The address of the next part of a list."""
    return address("c", crawl, name, **(_given(wanted) | {"cursor": cursor}))


def same_as(crawl: str, name: str, wanted: Parameters, form: str) -> str:
    """The address of the same list in another form."""
    return address("c", crawl, f"{name}.{form}", **_given(wanted))


def _given(wanted: Parameters) -> dict[str, object]:
    """The parameters that differ from their defaults."""
    given = {field.name: getattr(wanted, field.name) for field in msgspec.structs.fields(wanted)}
    usual = {field.name: field.default for field in msgspec.structs.fields(wanted)}
    return {name: _query(value) for name, value in given.items() if value != usual[name]}


def _query(value: object) -> object:
    return ("true" if value else "false") if isinstance(value, bool) else value


def marked(row: Mapping[str, Any]) -> Markup:
    """The snippet of a page that was found, with its words marked."""
    parts, end = [], 0
    for begin, stop in row["marks"]:
        parts += [
            escape(visible(row["snippet"][end:begin])),
            Markup("<mark>{}</mark>").format(row["snippet"][begin:stop]),
        ]
        end = stop
    return Markup("").join([*parts, escape(visible(row["snippet"][end:]))])


def until(seconds: float) -> str:
    """A time in whole seconds that is not before another."""
    return moment(math.ceil(seconds)) or ""


def secretless(to: str) -> str:
    """A subscriber's address without the parts that may be secret: user, path and query."""
    scheme, _, rest = to.partition("://")
    if not rest:
        return visible(to.partition(":")[0])
    return visible(f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}/…")


def outside(url: str) -> Markup:
    """A link to a page of the web, if it is one."""
    if not url.startswith(LINKS):
        return escape(visible(url))
    return Markup('<a rel="noreferrer nofollow external" href="{}" title="{}">↗</a>').format(
        url, "open the page itself"
    )


def number(value: object) -> str:
    """A number with as many digits as a person needs."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f")
    if isinstance(value, float):
        plain = f"{value:,.0f}".replace(",", "\u202f") if abs(value) >= 1e4 else f"{value:.4g}"
        return plain.replace("e-0", "e-")  # as JavaScript writes it
    return visible(str(value))


def between(ends: Sequence[float | None]) -> str:
    """An interval; its high end is None if there is none."""
    low, high = ends
    if high is None:
        return f"at least {number(low)}" if low else "unknown"
    return f"{number(low)} to {number(high)}"


def octets(value: float | None) -> str:
    """An amount of bytes."""
    if value is None:
        return NOTHING
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} B"


def share(value: float | None) -> str:
    """A share in percent."""
    return NOTHING if value is None else f"{100 * value:.1f} %"


def when(value: str | None) -> Markup:
    """A time, for people and for scripts."""
    if not value:
        return Markup(NOTHING)
    shown = value.replace("T", " ").removesuffix("Z")
    return Markup('<time datetime="{}">{}</time>').format(value, visible(shown))


def span(value: float | None) -> str:
    """A length of time."""
    if value is None:
        return NOTHING
    for size, unit in ((86_400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if value >= 2 * size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} s"


def text(value: object) -> str:
    """Text of a page or a server, in one line."""
    return NOTHING if value is None or value == "" else visible(str(value))


def words(names: Mapping[str, int]) -> str:
    """Counts by name, in words."""
    return ", ".join(f"{visible(name).replace('_', ' ')} {number(count)}" for name, count in names.items()) or "none"


_FORMS: dict[str, Callable[[Any], str | Markup]] = {
    "days": lambda days: span(86_400.0 * days),
    "bytes": octets,
    "share": share,
    "seconds": span,
    "time": when,
}


def cell(value: Any, name: str) -> str | Markup:
    """A cell of a table, in the form of its column."""
    kind = FIELDS[name].kind if name in FIELDS else ""
    if name == "process" and value is not None:
        return str(value)  # a name, not an amount
    if kind in _FORMS and isinstance(value, int | float if kind != "time" else str):
        return _FORMS[kind](value)
    if kind == "percent" and isinstance(value, float):
        return f"{value:.1f} %"
    return number(value) if value is None or isinstance(value, int | float) else text(value)
