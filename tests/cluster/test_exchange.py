"""The protocol between partitions: what may leave, what is applied, what is answered."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from centime.cluster.exchange import WINDOW, Exchange
from centime.cluster.message import Acknowledged, Message, Sent
from centime.crawl.engine.writer import CrawlWriter
from centime.model.errors import TransferBroken
from centime.shard.transfers.exchanging import transfers_of
from tests.shard.transfers.test_transfers import crawl, partitions


@pytest.fixture
def both(tmp_path: Path) -> Iterator[list[CrawlWriter]]:
    """Two partitions, the first of which has something to tell the second."""
    with partitions(tmp_path) as opened:
        crawl(opened[0], Random(1))
        yield opened


def sent(messages: list[Message]) -> list[Sent]:
    return [message for message in messages if isinstance(message, Sent)]


def durable(exchange: Exchange) -> None:
    exchange.made_durable(exchange.shard.journal.next_index)


def test_a_batch_leaves_when_its_frame_is_durable_and_again_until_it_is_acknowledged(both: list[CrawlWriter]) -> None:
    one, other = Exchange(both[0].shard, 1), Exchange(both[1].shard, 1)
    both[0].shard.flush(1000.0, 1)
    assert one.outgoing() == []
    one.made_durable(both[0].shard.frame - 1)
    assert one.outgoing() == []
    durable(one)
    [message] = one.outgoing()
    assert one.outgoing() == [message]
    assert other.take(1000.0, message)
    assert other.outgoing() == [], "an answer waits until the batch is durable"
    durable(other)
    [answer] = other.outgoing()
    assert answer == Acknowledged(1, 0, 1, 1)
    assert other.outgoing() == []
    assert one.take(1000.0, answer)
    assert one.outgoing() == []


def test_a_batch_that_comes_twice_is_applied_once_and_answered_twice(both: list[CrawlWriter]) -> None:
    one, other = Exchange(both[0].shard, 1), Exchange(both[1].shard, 1)
    both[0].shard.flush(1000.0, 1)
    durable(one)
    [message] = one.outgoing()
    assert other.take(1000.0, message)
    durable(other)
    first, frames = other.outgoing(), both[1].shard.frame
    assert not other.take(1000.0, message)
    assert both[1].shard.frame == frames
    assert other.outgoing() == first


def test_batches_that_overtake_each_other_are_applied_in_their_order(both: list[CrawlWriter]) -> None:
    one, other = Exchange(both[0].shard, 1), Exchange(both[1].shard, 1)
    for turn in range(WINDOW + 3):
        crawl(both[0], Random(turn), turns=2, now=1010.0 + 10 * turn)
        both[0].shard.flush(1000.0, 1)
    durable(one)
    closed = transfers_of(both[0].shard).outgoing[1].number
    assert closed > WINDOW
    for _ in range(closed):
        messages = sent(one.outgoing())
        assert len(messages) <= WINDOW
        for message in reversed(messages):
            other.take(1000.0, message)
        durable(other)
        for answer in other.outgoing():
            one.take(1000.0, answer)
    assert transfers_of(both[1].shard).incoming[0].number == closed
    assert one.outgoing() == []


def test_messages_of_an_older_incarnation_are_dropped(both: list[CrawlWriter]) -> None:
    old, young, other = Exchange(both[0].shard, 1), Exchange(both[0].shard, 2), Exchange(both[1].shard, 1)
    both[0].shard.flush(1000.0, 1)
    durable(old)
    durable(young)
    [late], [message] = old.outgoing(), young.outgoing()
    assert other.take(1000.0, message)
    durable(other)
    other.outgoing()
    assert not other.take(1000.0, late)
    assert other.outgoing() == []


def test_a_partition_that_is_opened_again_answers_what_it_has_applied(both: list[CrawlWriter]) -> None:
    one, other = Exchange(both[0].shard, 1), Exchange(both[1].shard, 1)
    both[0].shard.flush(1000.0, 1)
    durable(one)
    other.take(1000.0, one.outgoing()[0])
    again = Exchange(both[1].shard, 2)
    assert again.outgoing() == []
    durable(again)
    assert again.outgoing() == [Acknowledged(1, 0, 2, 1)]


def test_an_answer_to_a_batch_that_was_never_closed_is_a_broken_invariant(both: list[CrawlWriter]) -> None:
    one = Exchange(both[0].shard, 1)
    with pytest.raises(TransferBroken, match="never closed here"):
        one.take(1000.0, Acknowledged(1, 0, 1, 9))
