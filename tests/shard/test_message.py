"""Messages arrive as they were sent, however the bytes are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from centime.model.ids import PageId
from centime.model.outcome import Outcome, PageKind
from centime.processes.channel import LENGTH, MessageBuffer
from centime.shard.message import Visit, pack, unpack_visit


@given(messages=st.lists(st.binary(max_size=50), max_size=20), cut=st.integers(1, 30))
def test_messages_come_out_whole_and_in_order(messages: list[bytes], cut: int) -> None:
    stream = b"".join(LENGTH.pack(len(message)) + message for message in messages)
    inbox = MessageBuffer()
    came = [message for at in range(0, len(stream), cut) for message in inbox.take(stream[at : at + cut])]
    assert came == messages


def test_an_absurd_length_is_refused() -> None:
    with pytest.raises(ValueError, match="4294967295"):
        list(MessageBuffer().take(b"\xff" * 8))


def test_a_visit_is_the_same_after_packing() -> None:
    visit = Visit(
        page=PageId(7),
        outcome=Outcome.MOVED,
        kind=PageKind.ERROR,
        asked_at=1.5,
        links=b"12345678",
        detail="ü",
        signature=2**64 - 1,
    )
    assert unpack_visit(pack(visit)) == visit
