"""Keeps the weights of link rows in step with visits and settings, if the crawl weighs links by kind. A crawl that does
not needs no memory or time for it.

    law          the shares of a row are the weights of its links (`model/link_weight.py`) divided by their sum; all are
                 0 if the sum is 0, and then the page pays the virtual page, as one without links
    paying       a new row is weighed before the ledger pays along it
    templates    are decided again when the visits of a host have doubled, and for all hosts when debts are settled, as
                 at the end of each run; rows of hosts whose template has changed are weighed again, and payments along
                 them are corrected
    settings     other weights weigh all rows again
    partitions   a link to another partition is internal if its URL had the host name of its page when it was found

So the cost of templates is a constant for each page, and at the end of a run the importance is that of `centime rank`
with the same weights. Interest (`--want`) counts all links of a page alike.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from centime.ledger.accounts import PROXY
from centime.model.errors import StoreBroken
from centime.model.row_batch import Pages, RowBatch
from centime.model.template import LEAST_PAGES, NO_TEMPLATES, Numbers, Templates, templates_of
from centime.shard.message import Visit
from centime.shard.queueing import reorder
from centime.shard.state import ShardState
from centime.shard.weights.link_kinds import LinkKinds

BATCH = 65_536  # pages
QUERY = "?"


def apply_link_weights(state: ShardState) -> None:
    """Weighs all rows again if the settings have other weights than before."""
    text = state.settings.link_weight
    before = state.link_kinds
    if text == (None if before is None else before.text):
        return
    state.link_kinds = None if text is None else LinkKinds(text) if before is None else before.continued(text)
    weigh_all(state)


def weigh_all(state: ShardState) -> None:
    """Decides all templates, and weighs all rows again."""
    decide_templates(state)
    _weigh_again(state, np.arange(state.pages.count, dtype=np.int64))
    reorder(state)


def weighed(state: ShardState, pages: Pages, rows: RowBatch) -> RowBatch:
    """The rows of these pages with the shares that their links have."""
    if state.link_kinds is None:
        return rows
    links = rows.links()
    raw = link_weights_of(state, pages, rows.lengths, links)
    return RowBatch(np.cumsum(rows.lengths) - rows.lengths, rows.lengths, links, _shares(rows.lengths, raw))


def link_weights_of(
    state: ShardState, pages: Pages, lengths: Numbers, links: npt.NDArray[np.int32], *, dynamic: bool = False
) -> npt.NDArray[np.float64]:
    """The weights of the links of these pages, one row after the other; all 1 if the crawl weighs none. `dynamic`
    includes the weight of pages with a query, which changes no share.
    """
    kinds = state.link_kinds
    if kinds is None:
        return np.ones(len(links))
    names = kinds.names_of(state.hosts.all)
    sources = np.repeat(names[state.hosts_of_pages(pages)], lengths)
    raw = np.where(
        _are_internal(state, kinds, sources, links), kinds.weights.of("internal"), kinds.weights.of("external")
    )
    if kinds.weights.template is not None:
        raw[kinds.templates.have(sources, links)] *= kinds.weights.template
    if kinds.weights.nofollow is not None:
        raw[kinds.are_unfollowed(pages, lengths, links)] *= kinds.weights.nofollow
    if dynamic and kinds.weights.dynamic is not None:
        queried = np.array([QUERY in url for url in state.pages.texts.get_many(pages)], dtype=np.bool_)
        raw[np.repeat(queried, lengths)] *= kinds.weights.dynamic
    return raw


def _are_internal(
    state: ShardState, kinds: LinkKinds, sources: Numbers, links: npt.NDArray[np.int32]
) -> npt.NDArray[np.bool_]:
    """Which links lead to pages of the same host name; `sources` has the numbers of the names that they come from."""
    away = links >= PROXY
    internal = np.empty(len(links), dtype=np.bool_)
    own = state.hosts_of_pages(links[~away].astype(np.int64))
    internal[~away] = sources[~away] == kinds.names_of(state.hosts.all)[own]
    internal[away] = kinds.hashes_of(sources[away]) == kinds.proxies[links[away] - PROXY]
    return internal


def take_unfollowed(state: ShardState, visits: Sequence[Visit]) -> None:
    """Records which links of pages that were read ask not to be followed, if these have another weight."""
    kinds = state.link_kinds
    if kinds is None or kinds.weights.nofollow is None:
        return
    for visit in visits:
        unfollowed = np.frombuffer(visit.unfollowed, dtype=np.uint64)
        targets = state.pages.table.find(unfollowed)
        if state.transfers is not None:
            targets = state.transfers.with_proxies(unfollowed, targets)
        kinds.set_unfollowed(visit.page, np.unique(targets[targets >= 0]).astype(np.int32))


def decide_due_templates(state: ShardState, visits: Sequence[Visit]) -> None:
    """Decides the templates of the hosts of these visits that have twice the visits of the last decision."""
    kinds = state.link_kinds
    if kinds is None or kinds.weights.template is None:
        return
    due = {}
    for host in set(state.hosts_of_pages(np.array([visit.page for visit in visits], dtype=np.int64)).tolist()):
        count = state.hosts.all[host].visits
        if count >= max(LEAST_PAGES, 2 * kinds.decided.get(host, 0)):
            due[host] = count
    if due:
        kinds.decided |= dict(sorted(due.items()))
        _decide(state, kinds, np.unique(kinds.names_of(state.hosts.all)[list(due)]))


def decide_templates(state: ShardState) -> None:
    """Decides the templates of all hosts."""
    kinds = state.link_kinds
    if kinds is not None and kinds.weights.template is not None and len(state.hosts):
        _decide(state, kinds, np.unique(kinds.names_of(state.hosts.all)))


def check_link_weights(state: ShardState) -> None:
    """Raises StoreBroken unless the shares of all rows are those of the kinds of their links."""
    kinds, transfers = state.link_kinds, state.transfers
    if kinds is not None and len(kinds.proxies) != (0 if transfers is None else transfers.table.count):
        raise StoreBroken(f"{len(kinds.proxies)} proxies have a host name, not as many as there are")
    for pages in _batches(np.arange(state.pages.count, dtype=np.int64)):
        rows = state.pages.rows.gather(pages)
        wrong = _differing(rows, weighed(state, pages, rows))
        if wrong.any():
            page = int(pages[np.argmax(wrong)])
            raise StoreBroken(f"the links of page {page} have other weights than those of their kinds")


def _decide(state: ShardState, kinds: LinkKinds, names: Numbers) -> None:
    """Decides the templates of host names, and weighs the rows again of those whose template has changed."""
    all_names = kinds.names_of(state.hosts.all)
    name_of_page = all_names[state.pages.origins.every()["host"]]
    chosen = np.zeros(int(all_names.max()) + 1, dtype=np.bool_)
    chosen[names] = True
    pages = np.flatnonzero(chosen[name_of_page])
    pages = pages[np.argsort(name_of_page[pages], kind="stable")]
    found = NO_TEMPLATES
    for some in _whole_hosts(pages, name_of_page[pages]):
        found = found.plus(_templates(state, some, name_of_page[some]))
    others = kinds.templates.without(names)
    changed = np.setxor1d(found.pairs, kinds.templates.pairs[~np.isin(kinds.templates.pairs, others.pairs)])
    kinds.templates = others.plus(found)
    if len(changed):
        _weigh_again(state, np.sort(pages[np.isin(name_of_page[pages], changed >> 32)]))


def _templates(state: ShardState, pages: Pages, names: Numbers) -> Templates:
    """The templates of the host names of these pages, which are all pages of them."""
    if len(pages) <= BATCH:
        rows = state.pages.rows.gather(pages)
        return templates_of(names, rows.lengths, rows.links())
    counts, linking = np.zeros(state.pages.count, dtype=np.int64), 0
    for some in _batches(pages):  # one host name, with too many links for one batch
        rows = state.pages.rows.gather(some)
        counts += np.bincount(rows.links(), minlength=len(counts))
        linking += int(np.count_nonzero(rows.lengths))
    if linking < LEAST_PAGES:
        return NO_TEMPLATES
    return Templates((int(names[0]) << 32) | np.flatnonzero(2 * counts >= linking))


def _weigh_again(state: ShardState, pages: Pages) -> None:
    """Weighs the rows of these pages again, and corrects the payments along those that change."""
    for some in _batches(pages):
        rows = state.pages.rows.gather(some)
        some, rows = some[rows.lengths > 0], rows.take(rows.lengths > 0)
        new = weighed(state, some, rows)
        if state.link_kinds is None:
            links = rows.links()
            new = RowBatch(np.cumsum(rows.lengths) - rows.lengths, rows.lengths, links, np.empty(0))
        differ = _differing(rows, new)
        if differ.any() and state.ledger.keeps_links:
            state.ledger.visit_many(some[differ], new.take(differ))
        elif differ.any():
            state.pages.rows.replace(some[differ], new.take(differ))


def _differing(rows: RowBatch, others: RowBatch) -> npt.NDArray[np.bool_]:
    """Which rows have other shares than the others, whose links are the same."""
    differ = _plain(rows) != _plain(others)
    return np.bincount(np.repeat(np.arange(len(rows.lengths)), rows.lengths)[differ], minlength=len(rows.lengths)) > 0


def _plain(rows: RowBatch) -> npt.NDArray[np.float64]:
    """The shares of all links, one row after the other."""
    return rows.shares() if len(rows.weights) else np.repeat(1.0 / np.maximum(1, rows.lengths), rows.lengths)


def _shares(lengths: Numbers, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The weights of each row divided by their sum. Links of equal weight have exactly 1 / links each."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    most = np.zeros(len(lengths))
    np.maximum.at(most, rows, raw)
    scaled = raw / np.where(most > 0, most, 1.0)[rows]
    total = np.bincount(rows, scaled, len(lengths))
    shares: npt.NDArray[np.float64] = scaled / np.where(total > 0, total, 1.0)[rows]
    return shares


def _whole_hosts(pages: Pages, names: Numbers) -> Iterator[Pages]:
    """The pages in parts of whole host names, of at most BATCH pages unless one host name has more."""
    ends = np.append(np.flatnonzero(np.diff(names)) + 1, len(names))
    begin = last = 0
    for end in ends.tolist():
        if end - begin > BATCH and last > begin:
            yield pages[begin:last]
            begin = last
        last = end
    yield pages[begin:last]


def _batches(pages: Pages) -> Iterator[Pages]:
    for begin in range(0, len(pages), BATCH):
        yield pages[begin : begin + BATCH]
