"""True changes of a page, of 20 kinds. A change is planted between the marks of true content, and always alters what a
reader of the page can see or follow.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

from bench.changes.prose import MONTHS, WORDS, date, heading, paragraph, sentence
from bench.changes.templates import BEGIN, END

KINDS = (
    "number", "version", "date", "clock time", "price", "word", "sentence", "new paragraph", "removed paragraph",
    "moved paragraph", "title", "link", "image", "table cell", "list item", "code", "machine date", "image text",
    "long id", "unit",
)  # fmt: skip
MINOR = ("white space", "markup")
_CONTENT = re.compile(re.escape(BEGIN) + "(.*?)" + re.escape(END), re.DOTALL)
_PARAGRAPH = r"(<p>[^<]{15,}</p>)"
_SEEN = re.compile(r"<(script|style|svg|noscript|template)\b.*?</\1>|<[^>]*>", re.DOTALL)
_IN_TAGS = frozenset({"link", "image", "machine date", "image text"})
_WORD = r"[a-z] ([a-z]{4,9}) [a-z]"
_VALUES = {
    "version": r"release (\d+\.\d+\.\d+)",
    "clock time": r"\b(\d\d:\d\d)\b(?=[ <.])",
    "long id": r"\b([0-9a-f]{32})\b",
    "unit": r"\b(\d+) (?:years|users|seconds|comments|days)\b",
}
_AROUND = {"version": ("release ", ""), "clock time": ("at ", ""), "long id": ("", ""), "unit": ("", " years")}


def planted(source: str, kind: str, random: Random) -> str | None:
    """The source with a change of a kind; None if the kind does not apply to the page."""
    for _ in range(4):
        changed = _planted(source, kind, random)
        if changed is None:
            return None
        if kind in _IN_TAGS or kind in MINOR or _SEEN.sub(" ", changed).split() != _SEEN.sub(" ", source).split():
            return changed
    return None


def _planted(source: str, kind: str, random: Random) -> str | None:
    parts = list(_CONTENT.finditer(source))
    body = [part for part in parts if len(part[1]) > 300] or parts

    def put(pattern: str, change: Callable[[str], str], where: Sequence[re.Match[str]] = body) -> str | None:
        """The source with one match of a pattern changed."""
        places = [
            (part.start(1) + found.start(1), part.start(1) + found.end(1), found[1])
            for part in where
            for found in re.finditer(pattern, part[1], re.DOTALL)
        ]
        for _ in range(8 if places else 0):
            begin, end, old = random.choice(places)
            new = change(old)
            if new != old:
                return source[:begin] + new + source[end:]
        return None

    def other_number(old: str) -> str:
        return str(abs(int(old) + random.choice([1, -1, 7, 10, 100])))

    def value() -> str:
        """A value of a kind that a signature without numbers ignores."""
        return {
            "version": f"{random.randint(2, 9)}.{random.randint(0, 20)}.{random.randint(0, 9)}",
            "clock time": f"{random.randint(0, 23):02d}:{random.randint(0, 59):02d}",
            "long id": f"{random.getrandbits(128):032x}",
            "unit": str(random.randint(2, 900)),
        }[kind]

    match kind:
        case "number":
            return put(r"(?:>|\s)(\d{1,4})(?=[ .<])(?! [JFMASOND][a-z]+ \d)", other_number)
        case "version" | "clock time" | "long id" | "unit":
            before, after = _AROUND[kind]
            return put(_VALUES[kind], lambda old: value()) or put(_WORD, lambda old: f"{old} {before}{value()}{after}")
        case "date":
            return put(rf"(\d{{1,2}} (?:{'|'.join(MONTHS)}) \d{{4}})", lambda old: date(random))
        case "price":
            return put(r"€ (\d+\.\d\d)", lambda old: f"{float(old) + random.choice([1, -0.5, 10]):.2f}")
        case "word":
            return put(_WORD, lambda old: random.choice(WORDS))
        case "sentence":
            return put(r"<p>[^<]{20,}?\.( )", lambda old: " " + sentence(random) + " ")
        case "new paragraph":
            return put(_PARAGRAPH, lambda old: old + paragraph(random))
        case "removed paragraph":
            count = sum(len(re.findall(_PARAGRAPH, part[1])) for part in body)
            return put(_PARAGRAPH, lambda old: "") if count > 2 else None
        case "moved paragraph":
            return _swapped(source, body, random)
        case "title":
            return put(r"(?:<h1[^>]*>|\A)([^<>]{5,})(?=</h1>|\Z)", lambda old: heading(random), parts)
        case "link":
            return put(r"<a [^>]*href=\"([^\"]+)\"", lambda old: old + random.choice(["2", "-new", "/x"]))
        case "image":
            return put(r"<img [^>]*src=\"([^\"]+)\"", lambda old: f"{old}?v{random.randrange(99)}")
        case "table cell":
            return put(r"<td[^>]*>([^<]{2,})</td>", lambda old: old.strip() + " " + random.choice(WORDS))
        case "list item":
            return put(r"(<li>[^<]{3,}</li>)", lambda old: _longer(old, random))
        case "code":
            return put(r"<pre[^>]*>[^<]*?(\d)", lambda old: str((int(old) + random.randint(1, 8)) % 10))
        case "machine date":
            day = f"2026-{random.randint(1, 12):02d}-{random.randint(1, 28):02d}T{random.randint(0, 23):02d}:00"
            return put(r"datetime=\"([^\"]+)\"", lambda old: day)
        case "image text":
            return put(r"alt=\"([^\"]*)\"", lambda old: old + " " + random.choice(WORDS))
        case "white space":
            return put(r"</p>(\s*)", lambda old: old + "\n  ") or put(r">(\s*)<", lambda old: old + "\n ")
        case "markup":
            return put(_WORD, lambda old: f"<b>{old}</b>")
    raise ValueError(kind)


def _longer(item: str, random: Random) -> str:
    """A list item with one more word, or with another item behind it."""
    if random.random() < 0.5:
        return f"{item}<li>{sentence(random, 5)}</li>"
    return item.replace("</li>", f" {random.choice(WORDS)}</li>")


def _swapped(source: str, body: Sequence[re.Match[str]], random: Random) -> str | None:
    """The source with two neighbouring paragraphs exchanged."""
    for part in random.sample(list(body), len(body)):
        found = list(re.finditer(_PARAGRAPH, part[1]))
        for first, second in pairwise(found):
            if first.end() == second.start() and first[0] != second[0]:
                at = part.start(1)
                return source[: at + first.start()] + second[0] + first[0] + source[at + second.end() :]
    return None
