"""Messages to a node. The first message on a connection says what the connection is for:

Join        another node belongs to this head; repeated every second
List        asks the head for all nodes
Leave       asks the head to empty a node, or to use it again
Follow      asks a node to join a head
End         ends a node
Work        a run of a crawl; then Ping, Kill, Find, Drop and Note. When it hangs up or is silent, its processes are
            killed
Forget      asks to delete all that a node has of a crawl
Crawls      asks for the copies of `cluster.json` that a node has
Start       from here on the connection belongs to a new process of that run
Send        from here on it belongs to a process that sends a folder (`gathering.py`)
"""

import msgspec


class NodeInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A node, as it describes itself; `leaving`: its head was asked to empty it."""

    address: str
    folder: str
    cores: int
    processes: int = 0
    partitions: int = 0  # folders on its disk
    replicas: int = 0
    is_head: bool = False
    leaving: bool = False


class Join(msgspec.Struct, array_like=True, frozen=True, tag="join"):
    """A node that belongs to this head."""

    node: NodeInfo


class List(msgspec.Struct, array_like=True, frozen=True, tag="list"):
    """Asks for all nodes."""


class Listing(msgspec.Struct, array_like=True, frozen=True, tag="listing"):
    """All nodes of a head."""

    nodes: list[NodeInfo]


class Leave(msgspec.Struct, array_like=True, frozen=True, tag="leave"):
    """Partitions are to move away from a node, or may come back to it."""

    address: str
    leaving: bool = True


class Follow(msgspec.Struct, array_like=True, frozen=True, tag="follow"):
    """Join the head at this address; none if it is empty."""

    head: str


class End(msgspec.Struct, array_like=True, frozen=True, tag="end"):
    """End."""


class Done(msgspec.Struct, array_like=True, frozen=True, tag="done"):
    """It was done."""


class Work(msgspec.Struct, array_like=True, frozen=True, tag="work"):
    """The line of a run of a crawl; of a ranking if no crawl is named."""

    run: str
    crawl: str = ""


class Ready(msgspec.Struct, array_like=True, frozen=True, tag="ready"):
    """The node takes part in a run; its steady time now, and the copy of `cluster.json` that it has of the crawl."""

    steady: float
    folder: str
    copy: bytes = b""


class Busy(msgspec.Struct, array_like=True, frozen=True, tag="busy"):
    """The node takes no part: another run of the same crawl is here."""


class Start(msgspec.Struct, array_like=True, frozen=True, tag="start"):
    """Starts a process of a run on this connection: "partition", "keeper" or "ranker"."""

    run: str
    key: int
    kind: str


class Send(msgspec.Struct, array_like=True, frozen=True, tag="send"):
    """Starts a process on this connection that sends a folder."""


class Ping(msgspec.Struct, array_like=True, frozen=True, tag="ping"):
    """Asks how the processes are."""


class Pong(msgspec.Struct, array_like=True, frozen=True, tag="pong"):
    """The processes of this run: their numbers in the system and the seconds of CPU that they have used."""

    processes: dict[int, tuple[int, float]]


class Kill(msgspec.Struct, array_like=True, frozen=True, tag="kill"):
    """Kills a process."""

    key: int


class Find(msgspec.Struct, array_like=True, frozen=True, tag="find"):
    """Asks whether a folder below that of the node is a crawl."""

    folder: str


class Found(msgspec.Struct, array_like=True, frozen=True, tag="found"):
    """Whether it is."""

    folder: str
    is_crawl: bool


class Drop(msgspec.Struct, array_like=True, frozen=True, tag="drop"):
    """Deletes a folder below that of the node, which another node has now."""

    folder: str


class Forget(msgspec.Struct, array_like=True, frozen=True, tag="forget"):
    """Deletes all that a node has of a crawl; `Busy` answers if the crawl runs."""

    crawl: str


class Note(msgspec.Struct, array_like=True, frozen=True, tag="note"):
    """A copy of the `cluster.json` of a crawl that runs on this line; an older version never replaces a newer one."""

    crawl: str
    version: int
    data: bytes


class Crawls(msgspec.Struct, array_like=True, frozen=True, tag="crawls"):
    """Asks for all copies of `cluster.json`."""


class CrawlCopy(msgspec.Struct, array_like=True, frozen=True):
    """One of them, and whether the crawl runs."""

    data: bytes
    runs: bool


class Known(msgspec.Struct, array_like=True, frozen=True, tag="known"):
    """All of them, by the names of crawls."""

    crawls: dict[str, CrawlCopy]


ToNode = Join | List | Leave | Follow | End | Work | Start | Send | Ping | Kill | Find | Drop | Forget | Note | Crawls
FromNode = Listing | Done | Ready | Busy | Pong | Found | Known

pack = msgspec.msgpack.Encoder().encode
unpack_order = msgspec.msgpack.Decoder(ToNode).decode
unpack_answer = msgspec.msgpack.Decoder(FromNode).decode
