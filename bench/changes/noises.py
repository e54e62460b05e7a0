"""What differs between two reads of a page although nothing happened: at each read (FAST), or with time (SLOW).

A noise says what stands in which slot of a source at a read; the random numbers of a read and of a page are given.
"""

import re
from dataclasses import dataclass
from random import Random

from bench.changes.prose import MONATE, WORDS, digits, heading, sentence
from bench.changes.templates import BEGIN, END

DAY, HOUR = 86_400, 3_600
OFFERS = [
    f"Save {percent}% on {first} {second} today only"
    for percent, first, second in zip(range(10, 70, 3), WORDS, WORDS[20:], strict=False)
]
BANNERS = (
    "Winter sale ends soon, shop now",
    "New: our app for phones",
    "Free delivery over 50 euro",
    "Read the report of the year",
    "Help us keep the lights on",
)
FAST = (
    "advertisement", "order", "subset", "watching", "token", "stamp", "counter in a sentence", "session",
    "random class", "variant", "cookie", "banner", "cache key", "served by", "random quote", "reordered attributes",
)  # fmt: skip
SLOW = ("age", "shares", "last viewed", "today", "site box", "stock ticker")
VARIANTS = ("variant of the body", "variant of the layout")  # shown, and asked no figure of


@dataclass(frozen=True, slots=True)
class Constants:
    """What a page keeps from read to read."""

    related: list[str]
    pool: list[str]
    views: int
    year: int
    sentence: str
    born: float
    shared_every: int


def constants(random: Random, time: float) -> Constants:
    """The constants of a new page."""
    return Constants(
        [heading(random) for _ in range(6)],
        [heading(random) for _ in range(20)],
        random.randint(100, 90_000),
        random.randint(1900, 2020),
        sentence(random),
        time - random.expovariate(1 / 40_000) - 60,
        random.choice([300, 1800, 7200]),
    )


def rendered(source: str, noises: tuple[str, ...], random: Random, time: float, page: Constants) -> bytes:
    """The bytes of a page as they are read at a time."""
    slots: dict[str, str] = {}
    for noise in noises:
        for slot, html in _slots(noise, random, int(time), page).items():
            slots[slot] = slots.get(slot, "") + html
    text = re.sub("«(\\w+)»", lambda mark: slots.get(mark[1], ""), source)
    if "variant of the body" in noises:
        text = re.sub("<body[^>]*>", f'<body class="exp-{random.choice(["red", "blue"])}">', text, count=1)
    if "variant of the layout" in noises and random.random() < 0.5:
        text = text.replace("<main", '<div class="shell"><section class="col"><main')
        text = text.replace("</main>", "</main></section></div>")
        text = text.replace('<div id="content">', '<div class="shell"><div id="content">')
    if "reordered attributes" in noises and random.random() < 0.5:
        text = re.sub(r"<img (src=\S+) (alt=\"[^\"]*\")>", r"<img \2 \1>", text)
    return text.replace(BEGIN, "").replace(END, "").encode()


def _slots(noise: str, random: Random, time: int, page: Constants) -> dict[str, str]:
    match noise:
        case "advertisement":
            click = f'<a href="/click?c={digits(random, 12)}">more</a>'
            return {
                "inread": f'<div class="ad"><p>{random.choice(OFFERS)}</p>{click}</div>',
                "side": f'<div class="ad"><p>{random.choice(OFFERS)}</p></div>',
            }
        case "order":
            return {"after": f'<ul class="related">{_listed(random.sample(page.related, 6))}</ul>'}
        case "subset":
            cards = "".join(
                f'<div class="card"><a href="/r/{one.replace(" ", "-")}">{one}</a></div>'
                for one in random.sample(page.pool, 5)
            )
            return {"after": f'<section class="rec"><h3>You may like</h3>{cards}</section>'}
        case "watching":
            return {"byline": f'<p class="live">{random.randint(3, 60)} people are watching this right now</p>'}
        case "token":
            hidden = f'<input type=hidden name=csrf value="{digits(random)}"><input name=q>'
            script = f'<script nonce="{digits(random, 8)}">var s="{digits(random)}"</script>'
            return {
                "side": f'<form action="/login">{hidden}</form>',
                "meta": f'<meta name="csrf-token" content="{digits(random)}">{script}',
            }
        case "stamp":
            clock = f"2026-11-{1 + time // DAY % 28:02d} {time // HOUR % 24:02d}:{time // 60 % 60:02d}:{time % 60:02d}"
            made = f"Generated in 0.{random.randrange(999):03d} seconds at {clock} UTC by web{random.randint(1, 9)}"
            return {"foot": f'<p class="gen">{made}</p>'}
        case "counter in a sentence":
            return {
                "mid": f"<p>The page was opened by {page.views + time // 7} readers, so the council said, and the "
                f"garden stayed as it was in {page.year}.</p>"
            }
        case "session":
            key = digits(random, 20)
            tools = "".join(f'<li><a href="/t/{one};jsessionid={key}">{one}</a></li>' for one in WORDS[10:16])
            return {"side": f'<ul class="tools">{tools}</ul>'}
        case "random class":
            name, number = digits(random, 6), digits(random, 5)
            return {"byline": f'<div class="c{name}" id="x{number}"><p>{page.sentence}</p></div>'}
        case "variant":
            if random.random() < 0.5:
                text = "Subscribe to our letter and never miss a story."
                return {"inread": f'<section class="join"><h3>Join us</h3><p>{text}</p></section>'}
            return {"after": '<div class="promo-b"><p>Members read more for less.</p></div>'}
        case "cookie":
            text = "<p>We use cookies to improve this site. <button>Accept</button></p>"
            return {"end": f'<div class="consent">{text}</div>'} if random.random() < 0.5 else {}
        case "banner":
            return {"top": f'<div class="strip"><p>{random.choice(BANNERS)}</p></div>'}
        case "cache key":
            return {"after": f'<p class="pic"><img src="/logo.png?v={digits(random, 10)}" alt="logo"></p>'}
        case "served by":
            return {"foot": f"<!-- {digits(random, 16)} --><p>Node web{random.randint(1, 40)}</p>"}
        case "random quote":
            quote = Random(random.randrange(200))
            return {"side": f"<blockquote><p>{sentence(quote, 9)}</p><cite>{heading(quote)}</cite></blockquote>"}
        case "age":
            return {"byline": f'<span class="age">posted {_age(int(time - page.born))}</span>'}
        case "shares":
            shares, comments = page.views + time // page.shared_every, 5 + time // (page.shared_every * 9)
            return {"byline": f'<div class="share"><span>{shares} shares</span> <span>{comments} comments</span></div>'}
        case "last viewed":
            at = f"{1 + time // DAY % 28} November 2026, at {time // HOUR % 24:02d}:{time // 60 % 60:02d}"
            return {"foot": f"<p>This page was last viewed on {at}.</p>"}
        case "today":
            day = time // DAY
            return {"date": f'<span class="date">{1 + day % 28}. {MONATE[day // 28 % 12]} 2026</span>'}
        case "site box":
            newest = time // (6 * HOUR)
            items = "".join(f"<li>{heading(Random(newest - back))}</li>" for back in range(5))
            return {"side": f'<div class="latest"><h4>Latest</h4><ul>{items}</ul></div>'}
        case "stock ticker":
            value = 4000 + Random(time // 60).randrange(900)
            return {"date": f'<span class="tick">ACME {value / 100:.2f}</span>'}
        case "slow counter in a sentence":
            return {
                "mid": f"<p>The page was opened by {page.views + time // HOUR} readers, so the council said, and the "
                f"garden stayed as it was in {page.year}.</p>"
            }
    return {}


def _listed(titles: list[str]) -> str:
    return "".join(f'<li><a href="/r/{title.replace(" ", "-")}">{title}</a></li>' for title in titles)


def _age(seconds: int) -> str:
    if seconds < HOUR:
        return f"{max(1, seconds // 60)} minutes ago"
    return f"{seconds // HOUR} hours ago" if seconds < DAY else f"{seconds // DAY} days ago"
