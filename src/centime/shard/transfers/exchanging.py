"""Closes batches for other partitions and applies theirs: the effects of the frames `Flushed` and `Received`.

A page that another partition names becomes known as if a link had led to it. If the crawl refuses it (limits of its
host, the bound on pages), it becomes known nevertheless, in the class OUTSIDE of the ledger, because money for it
arrives; it waits nowhere and counts as dropped. A requisite that is named becomes a page.
"""

import numpy as np
import numpy.typing as npt

from centime.frontier.kind import DISCOVERY
from centime.ledger.partial import OUTSIDE
from centime.model.errors import TransferBroken
from centime.shard.joining import add_pages, fingerprints_of, join, suspects_among
from centime.shard.limits.bounds import Values
from centime.shard.message import Flushed, Received
from centime.shard.needing import join_needed_elsewhere
from centime.shard.pages import origins_at
from centime.shard.queueing import reorder
from centime.shard.state import ShardState
from centime.shard.transfers.batch import (
    MOST_ENTRIES,
    Batch,
    Name,
    pack_batch,
    pack_entries,
    unpack_batch,
    unpack_entries,
)
from centime.shard.transfers.channel import Closed, Incoming
from centime.shard.transfers.transfers import Transfers
from centime.store.record import NO_PAGE


def transfers_of(state: ShardState) -> Transfers:
    """The transfers of a partition; TransferBroken if this is a crawl of its own."""
    if state.transfers is None:
        raise TransferBroken("this crawl is not a partition of a cluster: it has no transfers")
    return state.transfers


def close_batch(state: ShardState, frame: Flushed, index: int) -> bool:
    """Closes the next batch for a partition; returns False if there is nothing to send. `index` is the frame's."""
    transfers = transfers_of(state)
    channel = transfers.outgoing.get(frame.partition)
    if channel is None:
        return False
    names, needed = channel.take_names(), channel.take_needed()
    known = channel.proxies.numbers[: channel.named]
    begin = channel.cursor if channel.cursor < len(known) else 0
    places, amounts, channel.cursor = transfers.ledger.take_unsent(known, frame.threshold, MOST_ENTRIES, begin)
    if not len(places) and not names and not needed:
        return False
    packed = pack_batch(Batch(channel.chain, transfers.ledger.sums, names, pack_entries(places, amounts), needed))
    channel.advance(packed, amounts)
    channel.outbox[channel.number] = Closed(index, packed)
    return True


def is_next(state: ShardState, partition: int, number: int) -> bool:
    """Whether a batch of a partition is the one that comes next."""
    channel = transfers_of(state).incoming.get(partition)
    return number == (1 if channel is None else channel.number + 1)


def must_fit(state: ShardState, frame: Received) -> None:
    """Raises TransferBroken unless a batch is the one that comes next, follows the ones before it, and is for us."""
    transfers = transfers_of(state)
    channel = transfers.incoming.get(frame.partition, Incoming())
    where = f"batch {frame.number} of partition {frame.partition}"
    if frame.number != channel.number + 1:
        raise TransferBroken(f"{where} came after batch {channel.number}")
    batch = unpack_batch(frame.batch)
    if batch.chain != channel.chain:
        raise TransferBroken(f"{where} does not follow the batches before it: its sender has a different history")
    unpack_entries(batch.entries, channel.pages.count + len(batch.names))
    urls = [name.url for name in batch.names] + [one.url for one in batch.needed]
    strange = np.flatnonzero(~transfers.is_own(fingerprints_of(urls)))
    if len(strange):
        raise TransferBroken(f"{where} names {urls[strange[0]]}, a page of another partition")


def apply_batch(state: ShardState, frame: Received) -> None:
    """Applies a batch that fits."""
    transfers = transfers_of(state)
    channel = transfers.incoming.setdefault(frame.partition, Incoming())
    batch = unpack_batch(frame.batch)
    before = channel.pages.count
    places, amounts = unpack_entries(batch.entries, before + len(batch.names))
    values = np.zeros(len(batch.names))
    values[places[places >= before] - before] = amounts[places >= before] * state.ledger.unit()
    channel.pages.extend(_named_pages(state, batch.names, values))
    join_needed_elsewhere(state, batch.needed)
    channel.advance(frame.batch, amounts)
    channel.sums = batch.sums
    transfers.ledger.arrive(channel.pages.numbers[places].astype(np.int64), amounts)
    transfers.ledger.receive_sums(transfers.sums_of_others())
    reorder(state)


def _named_pages(state: ShardState, names: list[Name], values: Values) -> npt.NDArray[np.int64]:
    """The pages of names, which become known; `values` are the sender's payments to them."""
    urls = [name.url for name in names]
    fingerprints = fingerprints_of(urls)
    origins = origins_at([name.depth for name in names], hops=[name.hops for name in names])
    if names:
        state.requisites.become_pages(state.pages.table.find(fingerprints))
        sources = np.full(len(urls), NO_PAGE, dtype=np.int64)
        shapes = suspects_among(urls)
        join(state, fingerprints, urls, origins, DISCOVERY, values=values, sources=sources, shapes=shapes)
        refused = np.flatnonzero(state.pages.table.find(fingerprints) < 0)
        if len(refused):
            added = add_pages(state, fingerprints, urls, origins, refused, focus=OUTSIDE)
            state.bounds.dropped += len(added.pages)
    return state.pages.table.find(fingerprints)
