"""What the links of a shard are, as far as their weights depend on it (`--link-weight`, `model/link_weight.py`).

    internal, external   follow from the host names of both ends. A partition keeps a hash of that of each proxy, whose
                         URL it has only until its owner knows it
    dynamic              follows from the URL of the page
    template             the template of each host name, as last decided (`weighing.py`); partitions have none
    nofollow             the links of each page that ask not to be followed, kept if that kind is named

Only the last two and the proxies are state. It follows from the frames of the journal and is part of every snapshot.
Memory: 8 bytes for each link of a template and for each proxy; 4 for each nofollow link and some 150 for each page that
has some.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from centime.model.address import host_of, name_of
from centime.model.ids import PageId, page_ids
from centime.model.link_weight import link_weights
from centime.model.row_batch import Pages
from centime.model.template import NO_TEMPLATES, Numbers, Templates
from centime.shard.host_table import Host
from centime.store.columns import Columns

Arrays = dict[str, npt.NDArray[Any]]
Hashes = npt.NDArray[np.uint64]


class LinkKinds:
    """The kinds of the links of a shard, and the weights of the kinds."""

    def __init__(self, text: str) -> None:
        self.text = text  # as written in the settings
        self.weights = link_weights(text)
        self.templates: Templates = NO_TEMPLATES  # by the number of a host name
        self.decided: dict[int, int] = {}  # host -> its visits when the template of its name was last decided
        self._unfollowed: dict[PageId, npt.NDArray[np.int32]] = {}  # page -> its nofollow links, ascending
        self._names: dict[str, int] = {}  # host name -> its number
        self._name_of: Numbers = np.empty(0, dtype=np.int64)  # by host: the number of its name
        self._hashes: Hashes = np.empty(0, dtype=np.uint64)  # by the number of a name
        self._proxies = Columns({"names": np.uint64})  # by proxy: a hash of its host name

    def continued(self, text: str) -> "LinkKinds":
        """The same kinds with other weights."""
        other = LinkKinds(text)
        other.templates = self.templates if other.weights.template is not None else NO_TEMPLATES
        other.decided = self.decided if other.weights.template is not None else {}
        other._unfollowed = self._unfollowed if other.weights.nofollow is not None else {}
        other._proxies = self._proxies
        return other

    def names_of(self, hosts: Sequence[Host]) -> Numbers:
        """The number of the name of each host. Hosts that differ in scheme or port may have one name."""
        known = len(self._name_of)
        if known < len(hosts):
            new = [self._names.setdefault(name_of(host.name), len(self._names)) for host in hosts[known:]]
            self._name_of = np.concatenate([self._name_of, np.array(new, dtype=np.int64)])
        return self._name_of

    def hashes_of(self, names: Numbers) -> Hashes:
        """The hash of each host name, by its number."""
        known = len(self._hashes)
        if known < len(self._names):
            new = [_hash(name) for name in islice(self._names, known, None)]
            self._hashes = np.concatenate([self._hashes, np.array(new, dtype=np.uint64)])
        return self._hashes[names]

    def join_proxies(self, urls: Sequence[str]) -> None:
        """Notes the host names of the next proxies."""
        known = self._proxies.count
        self._proxies.reach(known + len(urls))
        self._proxies["names"][known:] = [_hash(name_of(host_of(url))) for url in urls]

    @property
    def proxies(self) -> Hashes:
        """The hash of the host name of each proxy."""
        return self._proxies["names"]

    def set_unfollowed(self, page: PageId, targets: npt.NDArray[np.int32]) -> None:
        """Records which links of a page ask not to be followed."""
        if len(targets):
            self._unfollowed[page] = targets
        else:
            self._unfollowed.pop(page, None)

    def are_unfollowed(self, pages: Pages, lengths: Numbers, links: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Which links of the rows of these pages ask not to be followed."""
        found = np.zeros(len(links), dtype=np.bool_)
        if self._unfollowed:
            ends = np.cumsum(lengths)
            for page, begin, end in zip(page_ids(pages), (ends - lengths).tolist(), ends.tolist(), strict=True):
                targets = self._unfollowed.get(page)
                if targets is not None:
                    found[begin:end] = np.isin(links[begin:end], targets)
        return found

    # ---- for snapshots

    def state(self) -> Arrays:
        """The arrays for a snapshot."""
        unfollowed = list(self._unfollowed.values())
        return {
            "templates": self.templates.pairs,
            "decided": np.array(list(self.decided.items()), dtype=np.int64).reshape(-1, 2),
            "pages": np.fromiter(self._unfollowed, dtype=np.int64, count=len(unfollowed)),
            "lengths": np.fromiter(map(len, unfollowed), dtype=np.int64, count=len(unfollowed)),
            "targets": np.concatenate([np.empty(0, dtype=np.int32), *unfollowed]),
            "proxies": self.proxies,
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restores the kinds of a snapshot."""
        self.templates = Templates(np.array(arrays["templates"]))
        self.decided = {int(host): int(visits) for host, visits in arrays["decided"].tolist()}
        parts = np.split(np.array(arrays["targets"]), np.cumsum(arrays["lengths"])[:-1])
        self._unfollowed = dict(zip(page_ids(arrays["pages"]), parts, strict=False))
        if "proxies" in arrays:  # not if the crawl is one folder of an earlier version
            self._proxies = Columns({"names": np.uint64}, {"names": arrays["proxies"]})


@lru_cache(maxsize=1 << 14)
def _hash(name: str) -> int:
    return xxhash.xxh3_64_intdigest(name.encode())
