"""The truth over HTTP, at http://truth.localhost:PORT/, as JSON, to compare a crawl with.

    /                  the settings, and the other paths
    /page?url=URL      importance, change rate, current version and last change of a page
    /top?n=20          the most important pages
    /time              the time in the box

Importance is that of the links at the start of the box; it is computed at the first request that needs it.
"""

from collections.abc import Callable
from dataclasses import asdict
from functools import cached_property
from urllib.parse import parse_qs

import numpy as np

from centime.lab.webbox.box import Vector, WebBox
from centime.lab.webbox.reply import Reply, Request, as_json

FORM_NAMES = ("html", "bare", "xml", "text", "dtd", "moved", "found", "dead")
MOST_SHOWN = 10_000


class TruthAnswers:
    """The replies of the host of the truth."""

    def __init__(self, webbox: WebBox, now: Callable[[], float]) -> None:
        self.webbox = webbox
        self.now = now

    @cached_property
    def importance(self) -> Vector:
        """The true importance of every page at the start."""
        return self.webbox.importance()

    def reply(self, request: Request) -> Reply:
        """The reply to a request."""
        path, _, query = request.path.decode("latin-1").partition("?")
        values = {name: found[0] for name, found in parse_qs(query).items()}
        match path:
            case "/":
                return as_json(request, {"settings": asdict(self.webbox), "ask": ["/page?url=", "/top?n=20", "/time"]})
            case "/time":
                return as_json(request, {"time": self.now()})
            case "/top":
                wanted = values.get("n", "20")
                if not (wanted.isascii() and wanted.isdigit()):
                    return as_json(request, {"error": f"n must be a number of pages, not {wanted}"}, 400)
                best = np.argsort(-self.importance, kind="stable")[: min(MOST_SHOWN, int(wanted))]
                rows = [
                    {"url": self.webbox.url(page), "importance": float(self.importance[page])} for page in best.tolist()
                ]
                return as_json(request, {"top": rows})
            case "/page":
                page = self.webbox.page(values.get("url", ""))
                if page is None:
                    return as_json(request, {"error": "the box has no page at this URL"}, 404)
                return as_json(request, self.about(page))
            case _:
                return as_json(request, {"error": "there is nothing at this path"}, 404)

    def about(self, page: int) -> dict[str, object]:
        """The truth about one page now."""
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
