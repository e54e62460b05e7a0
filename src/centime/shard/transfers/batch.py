"""A batch: the money for pages of another partition that one frame has closed, and the URLs of pages new to it.

    batch     chain of the batches before it on this channel, sums of the sender's ledger, new names, entries, needed
    name      URL, depth and redirect hops of a page that the channel has not named before; the k-th name of a channel
              has index k at both ends permanently, so a URL is sent once
    needed    a requisite of a page of the sender. No money flows to it, so it has no index; one that the receiver
              already knows changes nothing. A batch without any is packed without this field, as in older versions: so
              an old journal reproduces the same batches
    entry     varint: the index minus that of the entry before, then the amount as a signed varint (`model/varint.py`)
    chain     xxh3-64 of a batch; it contains the chain before it, so it identifies all batches up to here

A batch stays below about MOST_BYTES: larger messages are disproportionately slow.
"""

import msgspec
import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from centime.ledger.accounts import Sums
from centime.model.errors import TransferBroken
from centime.model.kernel import Whole, late_kernel
from centime.model.row_batch import Pages
from centime.model.varint import LONGEST, Octets, read_signed, read_varint, write_signed, write_varint

MOST_BYTES = 64 << 10
MOST_ENTRIES = 8_192  # of 4 to 5 bytes each as a rule
MOST_TEXT = 16 << 10  # bytes of new URLs

Amounts = npt.NDArray[np.int64]


class Name(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A page that a channel names for the first time."""

    url: str
    depth: int
    hops: int = 0


class Needed(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A requisite that a page of the sender needs to be shown."""

    url: str
    depth: int
    nesting: int
    parent: int  # the fingerprint of the page that needs it
    importance: float  # of that page, when it was read
    among: int  # how many requisites that page needs


class Batch(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The content of one message from a partition to another."""

    chain: int
    sums: Sums
    names: list[Name]
    entries: bytes
    needed: list[Needed] = []


_encode = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(Batch).decode


def pack_batch(batch: Batch) -> bytes:
    """The bytes of a batch."""
    return _encode(batch if batch.needed else (batch.chain, batch.sums, batch.names, batch.entries))


def unpack_batch(packed: bytes) -> Batch:
    """The batch in these bytes; TransferBroken if they are not a batch."""
    try:
        return _unpack(packed)
    except (msgspec.DecodeError, ValueError) as trouble:
        raise TransferBroken(f"this is not a batch of transfers: {trouble}") from trouble


def chain_of(packed: bytes) -> int:
    """The chain up to a batch."""
    return xxh3_64_intdigest(packed)


def pack_entries(places: Pages, amounts: Amounts) -> bytes:
    """Entries with ascending places."""
    octets = np.empty(2 * LONGEST * len(places), dtype=np.uint8)
    return octets[: int(_pack(places, amounts, octets))].tobytes()


def unpack_entries(packed: bytes, most: int) -> tuple[Pages, Amounts]:
    """The places and amounts of entries, with places below `most`; TransferBroken if they are damaged."""
    places = np.empty(len(packed) // 2, dtype=np.int64)  # an entry has two bytes at least
    amounts = np.empty(len(places), dtype=np.int64)
    count = int(_unpack_entries(np.frombuffer(packed, dtype=np.uint8).copy(), places, amounts, most))
    if count < 0:
        raise TransferBroken(
            f"entry {-1 - count} of a batch is damaged, or names a page that the channel does not know"
        )
    return places[:count], amounts[:count]


@late_kernel(0.3)
def _pack(places: Pages, amounts: Amounts, octets: Octets) -> Whole:
    """Writes entries; returns the number of bytes."""
    at: Whole = np.int64(0)
    previous: Whole = np.int64(0)
    for k in range(len(places)):
        at = write_varint(octets, at, places[k] - previous)
        at = write_signed(octets, at, amounts[k])
        previous = places[k]
    return at


@late_kernel(0.3)
def _unpack_entries(octets: Octets, places: Pages, amounts: Amounts, most: Whole) -> Whole:
    """Reads entries; returns their number, or -1 - k if entry k is damaged."""
    at: Whole = np.int64(0)
    place: Whole = np.int64(0)
    count = 0
    while at < len(octets):
        if count == len(places):
            return -1 - count
        step, at = read_varint(octets, at)
        place += step
        amount, at = read_signed(octets, at)
        if place >= most or at > len(octets):
            return -1 - count
        places[count] = place
        amounts[count] = amount
        count += 1
    return count
