"""`centime cluster`: the nodes of a cluster."""

from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated

import typer

from centime.cli.output import Csv, Json, show
from centime.cli.progress import progress
from centime.cli.visible import say
from centime.model.errors import BadInput, BadSetting, CentimeError

if TYPE_CHECKING:
    from centime.cluster.nodes.said import NodeInfo

USUAL_ADDRESS = "127.0.0.1:7400"
ACTIONS = ("start", "status", "add", "remove", "stop", "gather", "recover", "delete")
LOOK_SECONDS = 1.0
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="File with the secret that all nodes share. Default: ~/.config/centime/cluster-token.",
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("cluster")(_cluster)


def _cluster(
    action: Annotated[str, typer.Argument(metavar="ACTION", help=f"What to do: {', '.join(ACTIONS)}.")],
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[NODE|DIR]",
            help="Address of a node (add, remove, stop), or folder of a crawl (gather, recover, delete).",
        ),
    ] = None,
    head: Annotated[bool, typer.Option("--head", help="With start: the node that others join.")] = False,
    join: Annotated[
        str | None, typer.Option("--join", metavar="ADDRESS:PORT", help="With start: the head to join.")
    ] = None,
    listen: Annotated[
        str,
        typer.Option("--listen", metavar="ADDRESS:PORT", help="With start: listen there."),
    ] = USUAL_ADDRESS,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="With start: keep partitions and replicas there.")
    ] = Path("centime-node"),
    cluster: Annotated[
        str,
        typer.Option("--cluster", metavar="ADDRESS:PORT", help="The head of the cluster."),
    ] = USUAL_ADDRESS,
    bodies: Annotated[
        bool, typer.Option("--bodies", help="With gather: also copy stored bodies and versions that are new.")
    ] = False,
    crawl: Annotated[
        str, typer.Option("--crawl", metavar="ID", help="With recover and delete: which crawl, if not by DIR.")
    ] = "",
    token_file: TokenFile = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Runs and lists the nodes of a cluster.

    A node is a process that runs partitions of crawls on its machine. One node is the head; the others join it.
    `centime crawl DIR --cluster ADDRESS:PORT` then crawls on all of them.

    \b
    start     runs a node until it is stopped: the head (--head), one that joins a
              head (--join), or one that waits for add
    status    lists the nodes
    add       makes a node join the head; running crawls move partitions to it
    remove    moves all partitions and replicas off a node, which then leaves
    stop      stops a node; without NODE all of them
    gather    copies the partitions of a crawl into DIR, for reports
    recover   rebuilds DIR from the nodes, if the machine of the coordinator
              was lost
    delete    deletes what the nodes hold of the crawl of DIR, or of --crawl

    Examples:

    \b
      centime cluster start --head --listen 10.0.0.1:7400 --folder /data/node
      centime cluster start --join 10.0.0.1:7400 --listen 10.0.0.2:7400
      centime cluster status --cluster 10.0.0.1:7400
      centime cluster remove 10.0.0.2:7400 --cluster 10.0.0.1:7400
      centime cluster gather web
      centime cluster recover web --cluster 10.0.0.1:7400
    """
    from centime.cluster.nodes.token import read_token

    if action not in ACTIONS:
        raise BadSetting(f"cluster: {action!r} is none of {', '.join(ACTIONS)}")
    if as_csv and action != "status":
        raise BadSetting("--csv works only with cluster status: no other action has rows")
    if action == "start":
        _start(listen, folder, token_file, head=head, join=join or "")
        return
    token = read_token(token_file)
    match action:
        case "status":
            report = {"head": cluster, "nodes": [_row(node) for node in _nodes(cluster, token)]}
            show(report, as_json=as_json, as_csv=as_csv, table="nodes")
        case "add":
            _add(_needed(target, "NODE"), cluster, token)
        case "remove":
            _remove(_needed(target, "NODE"), cluster, token)
        case "stop":
            _stop(target, cluster, token)
        case "gather":
            _gather(Path(_needed(target, "DIR")), token, bodies=bodies, as_json=as_json)
        case "recover":
            _recover(Path(_needed(target, "DIR")), cluster, token, crawl)
        case "delete":
            _delete(target, cluster, token, crawl)


def _start(listen: str, folder: Path, token_file: Path | None, *, head: bool, join: str) -> None:
    from centime.cli.crawl.stopping import stopped_by_signals
    from centime.cluster.nodes.node import Node
    from centime.cluster.nodes.token import make_token, read_token, split_address

    if head and join:
        raise BadSetting("--head and --join exclude each other: the head is what others join")
    if join:
        split_address(join)
    made = make_token(token_file) if head else None
    try:
        node = Node(listen, read_token(token_file), folder, head=join, is_head=head, report=say)
    except OSError as trouble:
        raise BadInput(f"--listen {listen}: {trouble}") from trouble
    if made is not None:
        say(f"{made}: a new token; copy this file to every machine of the cluster")
    what = "head" if head else f"node of {join}" if join else "node without a head"
    with stopped_by_signals(node.end):
        node.run(lambda: say(f"{node.address}: {what}; partitions and replicas are in {folder}; Ctrl-C stops it"))


def _nodes(cluster: str, token: bytes) -> "list[NodeInfo]":
    from centime.cluster.nodes.line import ask_node
    from centime.cluster.nodes.said import List, Listing

    listing = ask_node(cluster, token, List())
    assert isinstance(listing, Listing)
    return listing.nodes


def _row(node: "NodeInfo") -> dict[str, object]:
    return {
        "node": node.address,
        "state": ("head, leaves" if node.is_head else "leaves")
        if node.leaving
        else "head"
        if node.is_head
        else "there",
        "partitions": node.partitions,
        "replicas": node.replicas,
        "processes": node.processes,
        "cores": node.cores,
        "folder": node.folder,
    }


def _add(address: str, cluster: str, token: bytes) -> None:
    from centime.cluster.nodes.line import ask_node
    from centime.cluster.nodes.said import Follow, Leave

    ask_node(cluster, token, Leave(address, leaving=False))
    if not any(node.is_head and node.address == address for node in _nodes(cluster, token)):
        ask_node(address, token, Follow(cluster))
    say(f"{address}: joins {cluster}")


def _remove(address: str, cluster: str, token: bytes) -> None:
    from centime.cluster.nodes.line import ask_node
    from centime.cluster.nodes.said import Follow, Leave, Listing

    if address not in [node.address for node in _nodes(cluster, token)]:
        raise BadInput(f"{address}: the head at {cluster} knows no such node")
    before = (-1, -1)
    while True:
        listing = ask_node(cluster, token, Leave(address))
        assert isinstance(listing, Listing)
        node = next((node for node in listing.nodes if node.address == address), None)
        if node is None:
            raise CentimeError(
                f"{address}: the node disappeared before it was empty; its partitions continue from replicas"
            )
        if (node.partitions, node.replicas) == (0, 0):
            break
        if (node.partitions, node.replicas) != before:
            say(f"{address}: {node.partitions} partitions and {node.replicas} replicas are left to move")
        elif not any(one.processes for one in listing.nodes):
            raise CentimeError(
                f"{address}: {node.partitions} partitions and {node.replicas} replicas are there, and move only while"
                " their crawl runs: start it, then repeat this command"
            )
        before = node.partitions, node.replicas
        sleep(LOOK_SECONDS)
    if node.is_head:  # others find each other through it
        say(f"{address}: is empty, and stays the head without partitions; centime cluster add {address} takes it back")
        return
    ask_node(address, token, Follow(""))
    ask_node(cluster, token, Leave(address, leaving=False))
    say(f"{address}: is empty and has left {cluster}; centime cluster stop {address} ends it")


def _stop(address: str | None, cluster: str, token: bytes) -> None:
    from centime.cluster.nodes.line import ask_node
    from centime.cluster.nodes.said import End

    nodes = [address] if address is not None else [node.address for node in _nodes(cluster, token)]
    for one in sorted(nodes, key=lambda name: name == cluster):  # the head last: it has the list of nodes
        ask_node(one, token, End())
        say(f"{one}: ends")


def _gather(path: Path, token: bytes, *, bodies: bool, as_json: bool) -> None:
    from centime.cluster.nodes.gathering import gather_all

    with progress(1.0, f"copying {path.name}", quiet=as_json) as step:
        received = gather_all(path, token, step, bodies=bodies)
    show({"folder": str(path), "received_bytes": received}, as_json=as_json)


def _recover(path: Path, cluster: str, token: bytes, crawl: str) -> None:
    from centime.cluster.nodes.recovering import recover

    about = recover(path, cluster, token, crawl)
    say(f"{path}: crawl {about.id} with {about.partitions} partitions; centime crawl {path} continues it")


def _delete(folder: str | None, cluster: str, token: bytes, crawl: str) -> None:
    from centime.cluster.folder import read_about
    from centime.cluster.nodes.line import ask_node
    from centime.cluster.nodes.said import Busy, Crawls, Forget, Known

    if (folder is None) == (not crawl):
        raise BadSetting("cluster: give DIR or --crawl ID, and not both")
    crawl = crawl or read_about(Path(folder or "")).id
    nodes = [node.address for node in _nodes(cluster, token)]
    known = {address: ask_node(address, token, Crawls()) for address in nodes}
    holding = [one for one, found in known.items() if isinstance(found, Known) and crawl in found.crawls]
    if not holding:
        raise BadInput(f"{cluster}: none of its {len(nodes)} nodes holds crawl {crawl}")
    runs = [one for one in holding if isinstance(found := known[one], Known) and found.crawls[crawl].runs]
    if runs or any(isinstance(ask_node(one, token, Forget(crawl)), Busy) for one in holding):
        raise BadInput(f"crawl {crawl} is running; stop it first")
    say(f"crawl {crawl}: deleted from {', '.join(holding)}")


def _needed(target: str | None, what: str) -> str:
    if target is None:
        raise BadSetting(f"cluster: give {what}")
    return target
