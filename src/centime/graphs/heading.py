"""Which columns of a table hold the links: by the names in its heading.

The ends of a link are in the columns `source` and `target` (or `from` and `to`, `Source URL` and the like, in any
case), otherwise in the first two; a column `weight` has the weights. A column that the caller names must be there.
"""

from collections.abc import Sequence

from centime.graphs.dialect import SOURCES, TARGETS, heading_word
from centime.model.errors import BadGraph

WEIGHT = "weight"


def choose_columns(
    where: str,
    names: Sequence[str],
    source: str | None = None,
    target: str | None = None,
    weight: str | None = WEIGHT,
) -> tuple[str, ...]:
    """The columns of source, target and, if there is one, weight."""
    source, target, weight = (None if given is None else str(given) for given in (source, target, weight))
    for given in (source, target):
        if given is not None and given not in names:
            raise BadGraph(f"{where}: there is no column {given!r}; the columns are {', '.join(names)}")
    if source is not None and source == target:
        raise BadGraph(f"{where}: source and target are the same column, {source!r}")
    lowered = {name: heading_word(name.encode(errors="replace")) for name in names}
    start = source or next((name for name in names if lowered[name] in SOURCES and name != target), None)
    end = target or next((name for name in names if lowered[name] in TARGETS and name != start), None)
    if start is None or end is None:
        if source is not None or target is not None:
            raise BadGraph(f"{where}: give both columns, source and target; the columns are {', '.join(names)}")
        if len(names) < 2:
            raise BadGraph(f"{where}: a graph needs two columns, source and target; there are {len(names)}")
        start, end = names[:2]
    weights = [name for name in names if weight is not None and name.lower() == weight.lower()]
    weights = [name for name in weights if name not in (start, end)][:1]
    if not weights and weight not in (None, WEIGHT):
        raise BadGraph(f"{where}: there is no column {weight!r} of weights; the columns are {', '.join(names)}")
    chosen = (start, end, *weights)
    twice = next((name for name in chosen if names.count(name) > 1), None)
    if twice is not None:
        raise BadGraph(f"{where}: two columns have the name {twice!r}")
    return chosen
