"""Folds one journal frame into a shard's state: repeats what the writer did when it appended the frame.

    state = fold(fold(fold(empty, frame 0), frame 1), ...)      the same frames give the same state, bit for bit

Folding decodes frames and never validates them: frames that were once accepted stay valid for all later versions. Only
a grant is compared with its replay: if the replay grants other pages, the state does not belong to the journal, and
`JournalMismatch` is raised. Grants of a version with other rules for choosing pages (`RULES`) are applied as they are
recorded.
"""

from typing import Any

import msgspec
import numpy as np

from centime.model.errors import JournalMismatch
from centime.settings.crawl import CrawlSettings
from centime.settings.reading import decode_settings
from centime.shard import queueing
from centime.shard.filing import take_visits
from centime.shard.importing import take_imported
from centime.shard.joining import take_seeded
from centime.shard.limits.dropping import rebalance
from centime.shard.message import (
    Bounded,
    Clocked,
    Commanded,
    Configured,
    Delivered,
    Flushed,
    Granted,
    Imported,
    Received,
    Returned,
    Seeded,
    Settled,
    Visits,
)
from centime.shard.moving import set_clock
from centime.shard.people.command import decode_command
from centime.shard.people.commands import carry_out
from centime.shard.returning import begin_looking
from centime.shard.state import RULES, ShardState
from centime.shard.transfers.exchanging import apply_batch, close_batch
from centime.shard.wanting import apply_want, settle_interest
from centime.shard.weights.weighing import apply_link_weights, decide_templates

# kinds of frames, as the journal stores them
SEEDED, VISITS, GRANTED, RETURNED, SETTLED, CONFIGURED, COMMANDED, DELIVERED, CLOCKED, BOUNDED = range(1, 11)
FLUSHED, RECEIVED, IMPORTED = 11, 12, 13
FRAMES: dict[int, Any] = {
    SEEDED: Seeded,
    VISITS: Visits,
    GRANTED: Granted,
    RETURNED: Returned,
    SETTLED: Settled,
    CONFIGURED: Configured,
    COMMANDED: Commanded,
    DELIVERED: Delivered,
    CLOCKED: Clocked,
    BOUNDED: Bounded,
    FLUSHED: Flushed,
    RECEIVED: Received,
    IMPORTED: Imported,
}


def fold(state: ShardState, kind: int, payload: bytes) -> None:
    """Applies the next frame of the journal to a state."""
    if kind not in FRAMES:
        raise JournalMismatch(f"frame {state.frame} of the journal is of kind {kind}, which this version does not know")
    frame = msgspec.msgpack.decode(payload, type=FRAMES[kind])
    state.see(frame)
    match frame:
        case Seeded():
            take_seeded(state, frame)
        case Visits():
            take_visits(state, frame.now, [bytes(raw) for raw in frame.visits])
        case Granted():
            same_rules = state.rules == RULES
            granted, _ = queueing.lease(state, frame.now, frame.count if same_rules else 0, frame.slots)
            if not same_rules:
                state.placement.lease_recorded(np.array(frame.pages, dtype=np.int64), frame.now)
            elif granted.tolist() != frame.pages:
                raise JournalMismatch(
                    f"frame {state.frame} of the journal grants pages {frame.pages[:5]}; "
                    f"its replay grants {granted[:5].tolist()}"
                )
        case Returned():
            state.rules = frame.rules if frame.all else state.rules
            queueing.take_back(state, frame)
        case Settled():
            settle(state, frame)
        case Configured():
            configure(state, frame.now, decode_settings(msgspec.json.decode(frame.settings), where="the journal"))
        case Commanded():
            carry_out(state, frame.now, decode_command(frame.command))
        case Delivered():
            state.requests.subscriptions.delivered(frame.name, frame.up_to, frame.now)
        case Clocked():
            set_clock(state, frame)
        case Bounded():
            bound(state, frame)
        case Flushed():
            close_batch(state, frame, state.frame)
        case Received():
            apply_batch(state, frame)
        case Imported():
            take_imported(state, frame)
    state.frame += 1


def configure(state: ShardState, now: float, settings: CrawlSettings) -> None:
    """Applies the settings of a `Configured` frame."""
    begins = settings.refreshes() and not state.settings.refreshes()
    state.apply_settings(settings)
    apply_want(state)
    apply_link_weights(state)
    rebalance(state, now)
    if begins:
        begin_looking(state)


def bound(state: ShardState, frame: Bounded) -> None:
    """Applies the bounds of a `Bounded` frame."""
    state.bounds.machine, state.bounds.pressed = frame.machine, frame.pressed
    rebalance(state, frame.now)


def settle(state: ShardState, frame: Settled) -> None:
    """Pays debts until the error of a `Settled` frame is reached, or its number of payments."""
    decide_templates(state)
    state.ledger.settle(error=frame.error, payments=frame.payments)
    settle_interest(state, frame.error)
    queueing.reorder(state)
