"""Parts of a page that differ at every read although the page is the same, which a crawler must learn to ignore.

An advertisement, a counter in a sentence, a list in random order, a selection, a token, a banner that comes and goes, a
random class, a number of onlookers. None of them is a link. They follow from the number of the request alone.
"""

from random import Random

OFFERS = [
    f"Save {percent} percent on {what} today" for percent in range(10, 60, 5) for what in ("bread", "books", "boats")
]
RELATED = ["The old bridge", "A quiet harbour", "Trains of the north", "Paper and ink", "Winter gardens"]


def noise(request: int) -> bytes:
    """The noise of one response, as HTML."""
    random = Random(request)
    related = "".join(f"<li>{title}</li>" for title in random.sample(RELATED, len(RELATED)))
    chosen = "".join(f"<div class=card>{offer}</div>" for offer in random.sample(OFFERS, 3))
    banner = '<div class="consent"><p>We use cookies.</p></div>' if random.random() < 0.5 else ""
    return (
        f'<div class="ad"><p>{random.choice(OFFERS)}</p></div>'
        f'<p class="opened">This page was opened by {1000 + request} readers, says the council of the town.</p>'
        f'<ul class="related">{related}</ul><section class="rec"><h3>You may like</h3>{chosen}</section>'
        f'<form><input type=hidden name=token value="{random.getrandbits(64):016x}"></form>{banner}'
        f'<div class="c{random.getrandbits(24):06x}"><p>Always the same words.</p></div>'
        f'<p class="live">{random.randint(3, 60)} people are watching this right now</p>\n'
    ).encode()
