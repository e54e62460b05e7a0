"""Restores the folder of a crawl whose machine was lost, from the newest copy of `cluster.json` that a node has.

Nodes get a copy whenever it changes, before the next order that depends on where partitions are (`remote.py`). Numbers
of incarnations may be a little older in a copy, so they are raised by far more than the number of processes that could
have started since. Commands in the inbox of the lost folder are lost.
"""

from pathlib import Path

from msgspec import structs

from centime.cluster.folder import About, decode_about, encode_about, is_cluster
from centime.cluster.nodes.line import ask_node
from centime.cluster.nodes.said import Crawls, Known, List, Listing, Note
from centime.files.disk import make_folder
from centime.files.listing import list_folder
from centime.files.replacement import replace_file
from centime.model.errors import BadInput
from centime.store.folder import CLUSTER

INCARNATIONS = 1_000_000


def recover(path: Path, head: str, token: bytes, crawl: str = "") -> About:
    """Writes `cluster.json` into a new folder; returns its content. BadInput if nodes know none, or several crawls and
    none is named.
    """
    if is_cluster(path) or (path.exists() and list_folder(path)):
        raise BadInput(f"{path}: this folder is not empty; a crawl is recovered into a new one")
    listing = ask_node(head, token, List())
    assert isinstance(listing, Listing)
    newest: dict[str, About] = {}
    running: set[str] = set()
    for node in listing.nodes:
        known = ask_node(node.address, token, Crawls())
        assert isinstance(known, Known)
        for name, copy in known.crawls.items():
            about = decode_about(copy.data, Path(f"{node.address}: {name}/{CLUSTER}"))
            if copy.runs:
                running.add(name)
            if name not in newest or about.version > newest[name].version:
                newest[name] = about
    wanted = [name for name in newest if not crawl or name == crawl]
    if not wanted:
        raise BadInput(f"{head}: its {len(listing.nodes)} nodes have no copy of {crawl or 'any crawl'}")
    if len(wanted) > 1:
        raise BadInput(f"{head}: its nodes have copies of several crawls; give --crawl, one of {', '.join(wanted)}")
    if wanted[0] in running:
        raise BadInput(f"{head}: crawl {wanted[0]} is running; stop it first, or use its own folder")
    about = newest[wanted[0]]
    incarnations = [one + INCARNATIONS if one else 0 for one in about.incarnations]
    make_folder(path)
    about = structs.replace(about, version=about.version + INCARNATIONS, incarnations=incarnations, cluster=head)
    data = encode_about(about)
    replace_file(path / CLUSTER, data)
    for node in listing.nodes:  # from now on they refuse runs of the folder before
        ask_node(node.address, token, Note(about.id, about.version, data))
    return about
