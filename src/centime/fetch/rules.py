"""Parses robots.txt by RFC 9309, for one robot.

This module splits the file into groups and reduces it to the rules for us, which protego matches (longest match wins,
allow before disallow, `*` and `$`, percent-encoding normalised). Why not protego alone: by the RFC a group is chosen by
product token, whatever its case and whatever follows it ("Centime/2.0 beta" is for `centime`, "centimeter" is not); all
groups of one token are one group; a group for us without rules allows everything; and only allow and disallow end a
list of agents, other lines between them do not.

Mistakes of people are read as Google's open-source parser reads them: misspelt fields, fields with an ending
("disallows"), a missing colon between two words, a byte order mark that was cut, lines of more than MOST_LINE_BYTES.

Most pages are allowed, and protego is slow because it normalises the URL's percent-encoding. So one regular expression
that matches more than the rules do (each disallow rule up to its first escape, its first `$` or its second `*`) passes
most pages first. A URL with escapes always goes to protego. Trap: only one `*` per alternative, or a hostile file could
make matching take exponential time.

`Sitemap` lines are for every robot, wherever they are; the first MOST_SITEMAPS count.

Guarantee: at most MOST_BYTES are parsed, the rest is ignored. There is a result for any bytes.
"""

import codecs
import re
from collections.abc import Callable, Iterable
from urllib.parse import quote

from protego import Protego

MOST_BYTES = 500 * 1024
MOST_LINE_BYTES = 2_083 * 8 - 1  # as Google's parser has it
MOST_SUSPECTS = 200
MOST_SITEMAPS = 1_000

_PRODUCT = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED_OR_END = re.compile(r"[%$]")
_LINES = re.compile(r"[\r\n]+")
_PRINTABLE = "".join(chr(code) for code in range(33, 127))
# Beginnings of fields, with common misspellings.
_AGENT = ("user-agent", "useragent", "user agent")
_DISALLOW = ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw")
_SITEMAP = ("sitemap", "site-map")
_DELAY = ("crawl-delay", "crawldelay", "crawl delay")


class Rules:
    """The rules of one robots.txt for one robot, and the sitemaps that it names, as written."""

    __slots__ = ("_matcher", "_suspect", "crawl_delay", "sitemaps", "size")

    def __init__(self, lines: list[str], crawl_delay: float, sitemaps: Iterable[str] = ()) -> None:
        """Rules from the lines for us."""
        text = "\n".join(lines)
        self._matcher = Protego.parse("User-agent: *\n" + text) if text else None
        self._suspect = _suspect([line.removeprefix("Disallow: ") for line in lines if line.startswith("D")])
        self.crawl_delay = crawl_delay
        self.sitemaps = tuple(sitemaps)
        self.size = len(text) + sum(map(len, self.sitemaps))

    def allows(self, url: str) -> bool:
        """Whether the page of a canonical URL may be fetched."""
        if self._matcher is None:
            return True
        if self._suspect is not None and "%" not in url and self._suspect(url, url.find("/", 8)) is None:
            return True
        return self._matcher.can_fetch(url, "*")


def _suspect(patterns: list[str]) -> Callable[[str, int], re.Match[str] | None] | None:
    """A function that finds every URL that a disallow rule matches, and some more; None if there are too many rules."""
    if len(patterns) > MOST_SUSPECTS:
        return None
    return re.compile("|".join(sorted({_laxer(pattern) for pattern in patterns})) or "(?!)").match


def _laxer(pattern: str) -> str:
    literal = _ESCAPED_OR_END.split(pattern, maxsplit=1)[0]
    parts = literal.split("*", 2)
    return ".*".join(re.escape(part) for part in parts[:2])


ALL_ALLOWED = Rules([], 0.0)


def parse_rules(body: bytes, product: str) -> Rules:
    """The rules of a robots.txt for the robot of this product token (in lower case)."""
    own: list[str] = []
    general: list[str] = []
    delays: dict[str, float] = {}
    sitemaps: dict[str, None] = {}
    agents: set[str] = set()
    named = False  # a group is for us
    listing = False  # the last line that counts was an agent
    for line in _LINES.split(_decode(body)):
        field, value = _split(line)
        if field.startswith(_AGENT):
            if not listing:
                agents = set()
            listing = True
            agents.add(_agent(value))
            named = named or product in agents
        elif field.startswith(("allow", *_DISALLOW)):
            listing = False
            if value:
                rule = f"{'Allow' if field.startswith('allow') else 'Disallow'}: {quote(value, safe=_PRINTABLE)}"
                if product in agents:
                    own.append(rule)
                if "*" in agents:
                    general.append(rule)
        elif field.startswith(_SITEMAP):  # belongs to no group, and does not end a list of agents
            if value and len(sitemaps) < MOST_SITEMAPS:
                sitemaps[value] = None
        elif field.startswith(_DELAY):
            for agent in agents & {product, "*"}:
                delays[agent] = _delay(value)
    chosen = own if named else general
    delay = delays.get(product if named else "*", 0.0)
    if not chosen and not delay and not sitemaps:
        return ALL_ALLOWED
    return Rules(chosen, delay, sitemaps)


def _decode(body: bytes) -> str:
    if len(body) > MOST_BYTES:
        body = body[:MOST_BYTES]
        end = max(body.rfind(b"\n"), body.rfind(b"\r"))
        body = body[: end + 1]  # half a rule may mean the opposite
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    cut = next((mark for mark in (codecs.BOM_UTF8[:2], codecs.BOM_UTF8[:1]) if body.startswith(mark)), b"")
    return body.removeprefix(cut).decode("utf-8", "replace")  # a byte order mark may be cut


def _split(line: str) -> tuple[str, str]:
    """A line's field in lower case and its value, without the comment. The colon may be missing if there are two words;
    long lines are cut.
    """
    if 4 * len(line) > MOST_LINE_BYTES:
        line = line.encode()[:MOST_LINE_BYTES].decode("utf-8", "ignore")
    line = line.partition("#")[0].strip()
    field, colon, value = line.partition(":")
    if not colon:
        words = line.split()
        field, value = words if len(words) == 2 else (line, "")
    return field.strip().lower(), value.strip()


def _agent(value: str) -> str:
    if value[:1] == "*":
        return "*"
    found = _PRODUCT.match(value)
    return found[0].lower() if found else ""


def _delay(value: str) -> float:
    try:
        delay = float(value)
    except ValueError:
        return 0.0
    return delay if 0 <= delay < float("inf") else 0.0
