"""The pages of the bed: sources with marks for true content and with slots for noise.

Hand-made templates are those of modern sites; the others are real pages of Debian's documentation, of four generators
(`bench/crawl_server.py`), with the slots at the same places of every page of a site.
"""

import re
from functools import cache
from pathlib import Path
from random import Random

from bench.changes.prose import MONTHS, WORDS, heading, paragraph, sentence
from bench.crawl_server import documentation_tree

BEGIN, END = "<!--[-->", "<!--]-->"  # around true content
HAND_MADE = ("news", "shop", "forum", "events", "status", "wiki", "app")
GENERATORS = {"sphinx": "python", "docbook": "postgresql", "asciidoc": "git", "publican": "handbook"}
LEAST_BYTES, MOST_BYTES = 4_000, 60_000


def source(template: str, random: Random) -> str:
    """The source of a new page."""
    return _real(template, random) if template in GENERATORS else _made(template, random)


def _true(text: str) -> str:
    return BEGIN + text + END


def _facts(random: Random) -> str:
    """What every hand-made page has, so that all kinds of change apply."""

    def word() -> str:
        return random.choice(WORDS)

    rows = "".join(f"<tr><td>{word()}</td><td>{word()} {random.randint(1, 500)}</td></tr>" for _ in range(4))
    points = "".join(f"<li>{sentence(random, 6)}</li>" for _ in range(4))
    day, month = random.randint(1, 28), random.randint(1, 12)
    return (
        f'<figure><img src="/img/{random.randrange(9999)}.jpg" alt="{word()} {word()}">'
        f"<figcaption>{sentence(random, 5)}</figcaption></figure>"
        f'<table class="facts">{rows}</table>'
        f'<pre class="code">x = {random.randint(100, 999)}\ny = call({random.randint(10, 99)}, "{word()}")</pre>'
        f'<ul class="points">{points}</ul>'
        f'<p>By <a href="/who/{random.randrange(99)}">{word()}</a> on '
        f'<time datetime="2026-{month:02d}-{day:02d}T10:00">'
        f"{day} {MONTHS[month - 1]} 2026</time>, price € {random.randint(5, 900)}.{random.randrange(100):02d}, "
        f'see <a href="/page/{random.randrange(9999)}">{word()}</a>.</p>'
    )


def _made(template: str, random: Random) -> str:
    title = heading(random)
    top = _true(f"<h1>{title}</h1>")
    paragraphs = [paragraph(random) for _ in range(random.randint(4, 9))]
    half = len(paragraphs) // 2
    text = _true("".join(paragraphs[:half])) + "«mid»" + _true("".join(paragraphs[half:]) + _facts(random))
    links = "".join(f'<li><a href="/s/{word}">{word}</a></li>' for word in WORDS[:7])
    if template == "news":
        main = (
            f'<main class="story"><article>{top}«byline»<div class="body">{text}</div></article>«inread»'
            f'<aside class="rail">«side»</aside>«after»</main>'
        )
    elif template == "shop":
        price = _true(
            f'<p class="price">€ {random.randint(5, 900)}.{random.randrange(100):02d}</p>'
            f'<p class="stock">{random.randint(1, 40)} in stock</p>'
        )
        main = (
            f'<main class="product"><section class="buy">{top}{price}«byline»</section><section class="desc">{text}'
            f"</section>«inread»<aside>«side»</aside>«after»</main>"
        )
    elif template == "forum":
        posts = "".join(
            f'<div class="post"><div class="meta"><a class="user" href="/u/{random.randrange(999)}">'
            f'user{random.randrange(999)}</a> «byline»</div><div class="msg">{_true(one)}</div></div>'
            for one in paragraphs[:4]
        )
        last = f'<div class="post"><div class="msg">«mid»{_true("".join(paragraphs[4:]) + _facts(random))}</div></div>'
        main = f'<main><div class="thread">{top}{posts}{last}</div>«inread»<div class="rail">«side»</div>«after»</main>'
    elif template == "events":
        rows = "".join(
            f'<tr><td class="d">{random.randint(1, 28)} {random.choice(MONTHS)} 2026</td>'
            f'<td class="t">{random.randint(8, 22)}:{random.choice([0, 15, 30]):02d}</td>'
            f"<td>{heading(random)}</td></tr>"
            for _ in range(8)
        )
        table = _true(f'<table class="events">{rows}</table>')
        main = f'<main class="cal">{top}{table}{text}«byline»«inread»<aside>«side»</aside>«after»</main>'
    elif template == "status":
        states = "".join(
            f'<dt>{random.choice(WORDS)}</dt><dd class="st">{random.choice(["Operational", "Degraded", "Outage"])}</dd>'
            for _ in range(8)
        )
        listed = _true(f'<dl class="comp">{states}</dl>')
        main = f'<main class="status">{top}{listed}{text}«byline»«inread»<div>«side»</div>«after»</main>'
    elif template == "app":  # class names as a build of a modern site writes them, and elements without meaning
        main = (
            f'<div id="root"><div class="css-1x{len(title)}q sc-bdVaJa"><div class="Layout_main__3kP9z">'
            f'<div class="css-9vd2a"><div class="Heading_h__2s">{top}</div>«byline»<div class="Article_body__x1">{text}'
            f'</div></div>«inread»<div class="Rail_rail__77aQ">«side»</div>«after»</div></div></div>'
        )
    else:
        main = (
            f'<div id="content">{top}<div id="body" class="mw">{text}</div>«byline»«inread»'
            f'<div id="side">«side»</div>«after»</div>'
        )
    return (
        f'<!doctype html><html lang="en"><head><title>{_true(title)}</title>«meta»<link rel=stylesheet href="/s.css">'
        f'</head><body class="v1">«top»<header class="site"><a href="/" class="logo">Example</a>«date»'
        f'<nav class="top"><ul>{links}</ul></nav></header>{main}'
        "<footer><p>Example Media Ltd. Contact us at desk@example.org. All rights reserved.</p>«foot»</footer>"
        "«end»</body></html>"
    )


@cache
def _files(template: str) -> tuple[Path, ...]:
    paths = sorted((documentation_tree() / GENERATORS[template]).rglob("*.html"))
    return tuple(path for path in paths if LEAST_BYTES < path.stat().st_size < MOST_BYTES)


def _real(template: str, random: Random) -> str:
    """A real page: its body becomes content."""
    while True:
        text = random.choice(_files(template)).read_text(encoding="utf-8", errors="replace")
        found = re.search(r"<body[^>]*>", text, re.IGNORECASE)
        end = text.lower().rfind("</body>")
        if found and end > 0:
            break
    text = re.sub(r"[«»]", lambda mark: " " * len(mark[0]), text)
    head, body = text[: found.end()], text[found.end() : end]
    head, body = (re.sub(r"<script.*?</script>|<!--.*?-->", "", part, flags=re.DOTALL) for part in (head, body))
    head = re.sub(r"<title>(.*?)</title>", lambda m: f"<title>{_true(m[1])}</title>«meta»", head, flags=re.DOTALL)
    ends = [one.end() for one in re.finditer("</p>", body)]
    middle = ends[len(ends) // 2] if ends else len(body)
    return (
        f'{head}«top»<header class="site">«date»«byline»</header>{_true(body[:middle])}«mid»{_true(body[middle:])}'
        '«inread»<div class="side">«side»</div>«after»<footer><p>Served by example.</p>«foot»</footer>'
        "«end»</body></html>"
    )
