"""Changed sentences as an HTML page of its own: nothing is loaded, and nothing in the texts becomes markup."""

from collections.abc import Iterable
from html import escape

from centime.warehouse.sequence_diff import Step, steps

_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em}"
    "ins{background:#d7f5d7;text-decoration:none}del{background:#fbdada}p{margin:.4em 0}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}ins{background:#143d14}del{background:#4a1616}}"
)


def page_of_changes(url: str, old: str, new: str, changes: Iterable[Step]) -> str:
    """The page: what was removed is struck out, what was added is marked, word by word."""
    lines = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f"<title>{escape(url)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(url)}</h1><p>from {escape(old)} to {escape(new)}</p>",
    ]
    for step in changes:
        if step.equal:
            lines += [f"<p>{escape(sentence)}</p>" for sentence in step.old]
            continue
        pairs = min(len(step.old), len(step.new))
        lines += [f"<p>{_words(*pair)}</p>" for pair in zip(step.old, step.new, strict=False)]
        lines += [f"<p><del>{escape(sentence)}</del></p>" for sentence in step.old[pairs:]]
        lines += [f"<p><ins>{escape(sentence)}</ins></p>" for sentence in step.new[pairs:]]
    return "\n".join([*lines, "</body></html>"])


def _words(old: str, new: str) -> str:
    """A sentence with the words that were removed and added."""
    made = []
    for step in steps(old.split(), new.split()):
        removed, added = escape(" ".join(step.old)), escape(" ".join(step.new))
        if step.equal:
            made.append(removed)
        else:
            made += [f"<del>{removed}</del>"] if removed else []
            made += [f"<ins>{added}</ins>"] if added else []
    return " ".join(made)
