"""The truth over HTTP, at http://truth.localhost:PORT/, as JSON: what a crawl is held against.

    /                  the settings and what else can be asked
    /page?url=URL      importance, rate of change, version now, last change of a page
    /top?n=20          the most important pages
    /time              what time it is in the box

Importance is that of the links at the start of the box, worked out when it is first asked for.
"""

from collections.abc import Callable
from dataclasses import asdict
from functools import cached_property
from urllib.parse import parse_qs

import numpy as np

from centime.lab.webbox.box import Vector, WebBox
from centime.lab.webbox.reply import Asked, Reply, as_json

FORM_NAMES = ("html", "bare", "xml", "text", "dtd", "moved", "found", "dead")
MOST_SHOWN = 10_000


class TruthAnswers:
    """The answers of the host that knows the truth."""

    def __init__(self, webbox: WebBox, now: Callable[[], float]) -> None:
        self.webbox = webbox
        self.now = now

    @cached_property
    def importance(self) -> Vector:
        """The true importance of every page at the start."""
        return self.webbox.importance()

    def reply(self, asked: Asked) -> Reply:
        """What is true about what was asked."""
        path, _, query = asked.path.decode("latin-1").partition("?")
        values = {name: found[0] for name, found in parse_qs(query).items()}
        match path:
            case "/":
                return as_json(asked, {"settings": asdict(self.webbox), "ask": ["/page?url=", "/top?n=20", "/time"]})
            case "/time":
                return as_json(asked, {"time": self.now()})
            case "/top":
                wanted = values.get("n", "20")
                if not (wanted.isascii() and wanted.isdigit()):
                    return as_json(asked, {"error": f"n is a number of pages, not {wanted}"}, 400)
                best = np.argsort(-self.importance, kind="stable")[: min(MOST_SHOWN, int(wanted))]
                rows = [
                    {"url": self.webbox.url(page), "importance": float(self.importance[page])} for page in best.tolist()
                ]
                return as_json(asked, {"top": rows})
            case "/page":
                page = self.webbox.page(values.get("url", ""))
                if page is None:
                    return as_json(asked, {"error": "the box has no page of that URL"}, 404)
                return as_json(asked, self.about(page))
            case _:
                return as_json(asked, {"error": "nothing can be asked there"}, 404)

    def about(self, page: int) -> dict[str, object]:
        """What is true about one page now."""
        now = self.now()
        return {
            "page": page,
            "url": self.webbox.url(page),
            "title": self.webbox.title(page),
            "form": FORM_NAMES[self.webbox.form(page)],
            "importance": float(self.importance[page]),
            "rate_per_day": self.webbox.rate(page),
            "time": now,
            "version": self.webbox.version(page, now),
            "last_change": float(self.webbox.changed(now, page, page + 1)[0]),
        }
