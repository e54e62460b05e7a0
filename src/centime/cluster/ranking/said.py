"""Messages between the coordinator of a ranking and its workers. A worker has a slice of the pages and all links to
them. Boundary values are the values of pages of one slice that link to pages of another.

    Slice                               the first message to a worker
    Step, then Values and Moved         synchronous: one iteration, from the values of the last one
    Run, then Values and Moved ...      chaotic: iterations in place from the newest values, until Pause, then Paused
    Share, then Values and Total        all boundary values as they are now
    Certify, then Carried               one exact iteration from h = scale y: what its links bring
    Finish, then Part                   the rest of it: x, and |x - h|
    Keep, then Kept                     the values of a slice, for the process that continues if this one is lost
"""

import msgspec


class Slice(msgspec.Struct, array_like=True, frozen=True, kw_only=True, tag="slice"):
    """The pages of a worker. Its own come first in all local numbers, then those of other workers that link to them."""

    damping: float
    offsets: bytes  # of the links to each own page
    sources: bytes  # local numbers
    weights: bytes
    shares: bytes  # the payment of each local page along a link of weight 1
    ghosts: list[int]  # where the pages of each worker begin in the local numbers, and their end
    needed: list[bytes]  # own pages whose values each worker needs, in its order
    values: bytes = b""  # of its own pages, if another process has ranked them before


class Step(msgspec.Struct, array_like=True, frozen=True, tag="step"):
    """Make one iteration."""


class Run(msgspec.Struct, array_like=True, frozen=True, tag="run"):
    """Make iterations; changes of a value below `least` need not be sent."""

    least: float


class Pause(msgspec.Struct, array_like=True, frozen=True, tag="pause"):
    """Stop making iterations."""


class Paused(msgspec.Struct, array_like=True, frozen=True, tag="paused"):
    """It makes none any more."""


class Values(msgspec.Struct, array_like=True, frozen=True, tag="values"):
    """Boundary values of one worker for another: all of them, or those of some positions."""

    sender: int
    receiver: int
    positions: bytes
    values: bytes


class Moved(msgspec.Struct, array_like=True, frozen=True, tag="moved"):
    """By how much an iteration has changed the values of a slice, and their sum."""

    change: float
    total: float


class Share(msgspec.Struct, array_like=True, frozen=True, tag="share"):
    """Send all boundary values."""


class Total(msgspec.Struct, array_like=True, frozen=True, tag="total"):
    """The sum of the values of a slice."""

    total: float


class Certify(msgspec.Struct, array_like=True, frozen=True, tag="certify"):
    """Make an exact iteration from the values times `scale`."""

    scale: float


class Carried(msgspec.Struct, array_like=True, frozen=True, tag="carried"):
    """The values that links bring to the slice."""

    carried: float


class Finish(msgspec.Struct, array_like=True, frozen=True, tag="finish"):
    """The value that the virtual page brings to each page."""

    left: float


class Part(msgspec.Struct, array_like=True, frozen=True, tag="part"):
    """The scores of a slice, and how far they are from where the exact iteration began."""

    scores: bytes
    moved: float


class Keep(msgspec.Struct, array_like=True, frozen=True, tag="keep"):
    """Send the present values of the slice."""


class Kept(msgspec.Struct, array_like=True, frozen=True, tag="kept"):
    """The values of a slice."""

    values: bytes


ToWorker = Step | Run | Pause | Values | Share | Certify | Finish | Keep
FromWorker = Paused | Values | Moved | Total | Carried | Part | Kept

pack = msgspec.msgpack.Encoder().encode
unpack_slice = msgspec.msgpack.Decoder(Slice).decode
unpack_order = msgspec.msgpack.Decoder(ToWorker).decode
unpack_answer = msgspec.msgpack.Decoder(FromWorker).decode
