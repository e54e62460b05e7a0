"""Which columns of a table hold the links: by the names in its heading.

The ends of a link are in the columns `source` and `target` (or `from` and `to`, and the like, in any case), otherwise
in the first two; a column `weight` has the weights.
"""

from collections.abc import Sequence

from centime.graphs.dialect import SOURCES, TARGETS
from centime.model.errors import BadGraph


def choose_columns(
    where: str,
    names: Sequence[str],
    source: str | None = None,
    target: str | None = None,
    weight: str | None = "weight",
) -> tuple[str, ...]:
    """The columns of source, target and, if there is one, weight."""
    if len(set(names)) != len(names):
        raise BadGraph(f"{where}: two columns have the same name")
    for given in (source, target):
        if given is not None and given not in names:
            raise BadGraph(f"{where}: there is no column {given!r}; the columns are {', '.join(names)}")
    lowered = {name: str(name).lower().encode("utf-8", "replace") for name in names}
    start = source or next((name for name in names if lowered[name] in SOURCES and name != target), None)
    end = target or next((name for name in names if lowered[name] in TARGETS and name != start), None)
    if start is None or end is None:
        if source is not None or target is not None:
            raise BadGraph(f"{where}: give both columns, source and target; the columns are {', '.join(names)}")
        if len(names) < 2:
            raise BadGraph(f"{where}: a graph needs two columns, source and target; there are {len(names)}")
        start, end = names[:2]
    weights = (name for name in names if weight is not None and name.lower() == weight.lower())
    return start, end, *[name for name in weights if name not in (start, end)][:1]
