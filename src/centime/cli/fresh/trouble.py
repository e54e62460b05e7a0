"""Problems while pages are watched, in sentences: each problem once when it starts, and once when it is over."""

from collections.abc import Iterator, Mapping
from typing import Any

from centime.model.outcome import Outcome

READABLE = {outcome.name.lower().replace("_", " ") for outcome in Outcome if outcome.present}
REFUSED = "refused address"


class Trouble:
    """The problems that were reported."""

    def __init__(self) -> None:
        self._pages: dict[str, tuple[str, str]] = {}
        self._notices: dict[str, str] = {}
        self._others: set[str] = set()

    def of_pages(self, visits: list[dict[str, Any]]) -> Iterator[str]:
        """A sentence for each page that cannot be read, or redirects, and when it can be read again."""
        for visit in visits:
            url, outcome, target = visit["url"], visit["outcome"], visit.get("leads_to", "")
            if outcome in READABLE:
                if self._pages.pop(url, None):
                    yield f"{url}: can be read again"
            elif self._pages.get(url) != (outcome, target):
                self._pages[url] = outcome, target
                status = f" (status {visit['status']})" if visit["status"] else ""
                hint = "; --allow-network CIDR permits addresses that are not public" if outcome == REFUSED else ""
                said = f"redirects to {target}" if target else f"cannot be read: {outcome}"
                yield f"{url}: {said}{status}{hint}; it is tried again"

    def of_notices(self, reasons: Mapping[str, str], places: Mapping[str, str]) -> Iterator[str]:
        """A sentence for each subscriber whose notices start to fail, or arrive again. `reasons` are those of the
        subscriptions that fail, and `places` say where the notices of each go.
        """
        for name, reason in reasons.items():
            if name not in self._notices:
                yield f"notices to {place_in_words(places.get(name, name))} fail: {reason}; they are tried again"
        for name in self._notices.keys() - reasons.keys():
            yield f"notices to {place_in_words(places.get(name, name))} arrive again"
        self._notices = dict(reasons)

    def once(self, sentence: str) -> Iterator[str]:
        """Any other sentence, the first time."""
        if sentence and sentence not in self._others:
            self._others.add(sentence)
            yield sentence


def place_in_words(to: str) -> str:
    """Where notices go, without the secrets that a URL of Apprise has."""
    kind, _, rest = to.partition(":")
    return f"{kind}:{rest.partition(':')[0]}" if kind == "apprise" else to
