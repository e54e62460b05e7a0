"""Format 2, and the conversion of its journal and snapshots to format 3.

Format 2 had frames without a chain, snapshots with checksums of blocks of 1 MiB, and fingerprints without the bits of
the host. Nothing here depends on today's frames: the positions of the fields of a visit are those of format 2.

Fingerprints occur in visits: of links, of new URLs, of claims. The URL behind an old fingerprint is found among the
texts of the newest snapshot and of the journal. A link whose URL is in neither leads to no page and stays unknown.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from struct import Struct
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from centime.files.appended import BLOCK, HEAD_BYTES
from centime.files.frame import ALL_BITS, frame_head
from centime.files.listing import list_files
from centime.files.mark import Mark, create_mark
from centime.files.replacement import replace_file
from centime.model.address import fingerprint
from centime.model.errors import DamagedFile
from centime.store import snapshot
from centime.store.journal import SEGMENTS, VERSION, Head, Journal, mark_path, packed_head

Numbers = npt.NDArray[np.uint64]

OLD_BLOCK = 1 << 20
APPENDED = ("texts", "text_ends", "origins", "records", "rows")
_HEAD = Struct("<8sIIQ")
_FRAME = Struct("<IBQ")
_VISITS = 2  # the kind of a frame
_LINKS, _FRESH, _TEXTS, _INDEX_OF, _CLAIMS = 20, 21, 22, 24, 26  # fields of a visit
_CLAIM = np.dtype([("fingerprint", "<u8"), ("modified", "<f8"), ("period", "<f8")])


class Fingerprints:
    """From the fingerprints of format 2 to those of format 3."""

    def __init__(self, urls: Iterable[str]) -> None:
        listed = list(dict.fromkeys(urls))
        old = np.fromiter(map(_old_fingerprint, listed), dtype=np.uint64, count=len(listed))
        new = np.fromiter(map(fingerprint, listed), dtype=np.uint64, count=len(listed))
        order = np.argsort(old)
        self._old, self._new = old[order], new[order]

    def of(self, old: Numbers) -> Numbers:
        """The new fingerprints; an unknown one stays as it is."""
        if not len(self._old):
            return old
        places = np.minimum(np.searchsorted(self._old, old), len(self._old) - 1)
        return np.where(self._old[places] == old, self._new[places], old)


def _old_fingerprint(url: str) -> int:
    return xxh3_64_intdigest(url.encode()) or 1


def upgrade_journal(folder: Path, identity: int) -> None:
    """Rewrites every segment of the journal of a crawl folder; one that was rewritten by an earlier attempt stays."""
    segments = list_files(folder / "journal", SEGMENTS)
    heads = {path: _HEAD.unpack_from(path.read_bytes()[: _HEAD.size].ljust(_HEAD.size)) for path in segments}
    old = [path for path in segments if heads[path][1] < VERSION]
    table = Fingerprints([*_urls_of_state(folder), *(url for path in old for url in _urls_of_segment(path))])
    chain, index = identity, 0
    for path in segments:
        if path in old:
            index = heads[path][3]
            data = [packed_head(int(path.stem), Head(identity, index, chain))]
            for index, kind, payload in _old_frames(path):
                payload = _with_new_fingerprints(payload, table) if kind == _VISITS else payload
                head, chain = frame_head(kind, index, payload, chain)
                data += (head, payload)
                index += 1
            replace_file(path, b"".join(data))
        else:
            for cursor, _, _ in Journal(folder / "journal", False, identity).read_alone(int(path.stem)):
                index, chain = cursor.frame, cursor.chain
    if not segments:
        Journal.create(folder / "journal", identity)
    else:
        create_mark(mark_path(folder / "journal"), Mark(identity, 0, int(segments[-1].stem), index, chain))


def upgrade_snapshots(folder: Path, identity: int) -> Iterator[tuple[str, dict[str, Any], snapshot.Arrays]]:
    """Facts and arrays of the snapshots of format 2 in the words, checksums and fingerprints of format 3."""
    journal = Journal.open(folder / "journal", False, identity)
    for name, facts, arrays in _readable(folder / "snapshots"):
        facts["chain"] = journal.chain_at(facts["frame"])
        facts["refreshing"] = facts.pop("upkeep")
        renamed = {_renamed(title): array for title, array in arrays.items()}
        hosts, addresses = msgspec.msgpack.decode(renamed["hosts"].tobytes())
        for host in hosts:
            host["politeness"] = host.pop("manners")
        renamed["hosts"] = np.frombuffer(msgspec.msgpack.encode([hosts, addresses]), dtype=np.uint8)
        for title in APPENDED:
            content = _content(folder, title, renamed)
            renamed[f"pages_{title}"] = np.array(
                [len(content), *(xxh3_64_intdigest(content[at : at + BLOCK]) for at in range(0, len(content), BLOCK))]
                + ([xxh3_64_intdigest(b"")] if len(content) % BLOCK == 0 else []),
                dtype=np.uint64,
            )
        urls = list(_texts(folder, renamed))
        renamed["pages_fingerprints"] = np.fromiter(map(fingerprint, urls), dtype=np.uint64, count=len(urls))
        yield name, facts, renamed


def _readable(folder: Path) -> Iterator[tuple[str, dict[str, Any], snapshot.Arrays]]:
    """The undamaged snapshots of format 2; opening the crawl reports a damaged one."""
    for name in snapshot.names(folder):
        try:
            if snapshot.version_of(folder / name) == 1:
                yield name, *snapshot.read_snapshot(folder / name, version=1)
        except DamagedFile:
            continue


def _renamed(title: str) -> str:
    if title == "wishes":
        return "requests"
    return title.replace("upkeep_eagerness", "refreshing_spending").replace("upkeep_", "refreshing_", 1)


def _content(folder: Path, title: str, arrays: snapshot.Arrays) -> bytes:
    """The bytes of an append-only file at a snapshot of format 2; DamagedFile if they do not have their checksums."""
    generation = int(arrays["pages_row_facts"][0])
    path = folder / "state" / (f"rows-{generation:06}.bin" if title == "rows" else f"{title}.bin")
    state = arrays[f"pages_{title}"]
    data = path.read_bytes()[: int(state[0])]
    for block, known in enumerate(state[1:].tolist()):
        if xxh3_64_intdigest(data[block * OLD_BLOCK : (block + 1) * OLD_BLOCK]) != known:
            raise DamagedFile(f"{path}: damaged between byte {block * OLD_BLOCK} and byte {(block + 1) * OLD_BLOCK}")
    return data


def _texts(folder: Path, arrays: snapshot.Arrays) -> Iterator[str]:
    lengths = {title: int(arrays[f"pages_{title}"][0]) for title in ("texts", "text_ends")}
    texts = (folder / "state" / "texts.bin").read_bytes()[: lengths["texts"]]
    ends = np.fromfile(folder / "state" / "text_ends.bin", dtype=np.uint8)[HEAD_BYTES : lengths["text_ends"]]
    begin = HEAD_BYTES
    for end in ends.view(np.uint64).tolist():
        yield texts[begin:end].decode()
        begin = end


def _urls_of_state(folder: Path) -> Iterator[str]:
    for name in reversed(snapshot.names(folder / "snapshots")):
        for version in (1, snapshot.VERSION):
            try:
                _, arrays = snapshot.read_snapshot(folder / "snapshots" / name, version=version)
            except DamagedFile:
                continue
            if version == 1:
                _content(folder, "texts", arrays)
            yield from _texts(folder, arrays)
            return


def _urls_of_segment(path: Path) -> Iterator[str]:
    for _, kind, payload in _old_frames(path):
        if kind == _VISITS:
            for visit in msgspec.msgpack.decode(payload)[1]:
                if len(visit) > _TEXTS and visit[_TEXTS]:
                    yield from visit[_TEXTS].decode().split("\n")


def _old_frames(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """The complete frames of a segment of format 2, with their indexes."""
    data = path.read_bytes()
    magic, version, _, index = _HEAD.unpack_from(data.ljust(_HEAD.size))
    begin = _HEAD.size + 8
    if (
        magic != b"CENTJRNL"
        or version != 1
        or xxh3_64_intdigest(data[: _HEAD.size]).to_bytes(8, "little") != (data[_HEAD.size : begin])
    ):
        raise DamagedFile(f"{path}: the head of this segment is damaged")
    while begin + _FRAME.size <= len(data):
        length, kind, stored = _FRAME.unpack_from(data, begin)
        payload = data[begin + _FRAME.size : begin + _FRAME.size + length]
        checksum = (xxh3_64_intdigest(payload, length << 8 | kind) + index) & ALL_BITS
        if not kind or len(payload) < length or checksum != stored:
            return
        yield index, kind, payload
        index, begin = index + 1, begin + _FRAME.size + length


def _with_new_fingerprints(payload: bytes, table: Fingerprints) -> bytes:
    now, visits = msgspec.msgpack.decode(payload)
    for visit in visits:
        visit += [b"", b"", b"", False, 0, 0.0, b""][len(visit) - _LINKS :] if len(visit) < _CLAIMS + 1 else []
        visit[_LINKS] = table.of(np.frombuffer(visit[_LINKS], dtype=np.uint64)).tobytes()
        if visit[_TEXTS]:
            urls = visit[_TEXTS].decode().split("\n")
            visit[_FRESH] = np.fromiter(map(fingerprint, urls), dtype=np.uint64, count=len(urls)).tobytes()
        if visit[_INDEX_OF]:
            visit[_INDEX_OF] = int(table.of(np.array([visit[_INDEX_OF]], dtype=np.uint64))[0])
        if visit[_CLAIMS]:
            claims = np.frombuffer(visit[_CLAIMS], dtype=_CLAIM).copy()
            claims["fingerprint"] = table.of(claims["fingerprint"].astype(np.uint64))
            visit[_CLAIMS] = claims.tobytes()
    return msgspec.msgpack.encode([now, visits])
