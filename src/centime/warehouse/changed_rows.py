"""Changed sentences as rows to show, with some that did not change around them."""

from collections.abc import Sequence

from centime.warehouse.sequence_diff import Step

Row = tuple[str, str, str]
"""A sign (`-`, `+` or a blank), an old and a new sentence."""

AROUND = 2  # sentences before and after a change
BETWEEN = "..."  # in place of those that are left out


def changed_rows(steps: Sequence[Step]) -> list[Row]:
    """The rows of a comparison."""
    rows: list[Row] = []
    for place, step in enumerate(steps):
        if step.equal:
            rows += _around(step.old, first=place == 0, last=place == len(steps) - 1)
        else:
            rows += [("-", sentence, "") for sentence in step.old] + [("+", "", sentence) for sentence in step.new]
    return rows


def _around(sentences: tuple[str, ...], *, first: bool, last: bool) -> list[Row]:
    """Unchanged sentences next to a change, with a mark for those between."""
    begin = () if first else sentences[:AROUND]
    end = () if last else sentences[max(len(sentences) - AROUND, len(begin)) :]
    shown = [*begin, *([BETWEEN] if len(begin) + len(end) < len(sentences) else []), *end]
    return [(" ", sentence, sentence) for sentence in shown]
