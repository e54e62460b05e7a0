"""Targets of fuzzing for files: the folder of a crawl, the archive, settings."""

import io
import json
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from xxhash import xxh3_64_hexdigest

from bench.fuzz_target import URL, InputFile, Target, must, own
from centime.crawl.commands.checking import check_content, unpack_command
from centime.discover.seeds import read_seeds
from centime.files.appended import AppendedFile
from centime.files.frame import FRAME, frame_at, frame_behind, frame_head
from centime.files.mark import Mark, create_mark, mark_trouble, read_mark
from centime.model.errors import BadInput, DamagedFile
from centime.model.ids import PageId
from centime.model.outcome import Outcome
from centime.model.response import Response
from centime.settings.crawl import CrawlSettings
from centime.settings.reading import decode_settings, read_config, settings_from
from centime.shard import message
from centime.shard.people.command import PublishCommand, SetCommand, SubscribeCommand, UnsubscribeCommand, pack_command
from centime.shard.people.subscriptions import Subscription
from centime.store.archives.captures import Capture, capture_of, find_bodies
from centime.store.archives.warc import HEAD_BYTES, answer, date_in, facts_of, payload_of
from centime.store.journal import Journal
from centime.store.row_code import count_links, decode, measure
from centime.store.snapshot import read_snapshot, write_content

CONFIG = b"""seeds = ["http://a.example/"]\nrate = "50/s"\nbandwidth = "2GB/day"\nscope = "domain"\ninclude = ["/a/"]
focus = ["/x/=4"]\nmax-depth = 3\ndelay = 1.5\ncontinuous = true\nshares = "0.5,0.2,0.1"\nallow-network = ["10.0.0.0/8"]
resolve = ["a.example=10.0.0.1"]\nfirst-rate = "5/d"\ndiscovery = "auto"\nledger = "opic"\nkeep = "all"\n"""
SEEDS = [b"http://a.example/ # x\nsitemap:https://a.example/s.xml\n# y\n\nb.example/c#d\n", b"\xef\xbb\xbf[::1]:80\n"]


def file_targets(folder: Path) -> dict[str, Target]:
    """The targets by name; each writes into a folder of its own inside this one."""
    return {
        "frames": Target([_frames()], _frame, (b"\0\0\0\0\1",), 4),
        "messages": Target(_messages(), _message, (b"\x90", b"\xc4\xff", b"\xdd\xff\xff\xff\xff", b"\xc0")),
        "commands": Target(_commands(), _command, (b"\xa3set", b"\xc4\xff", b"\xc0", b"//a[")),
        "journal": Target(*_journal(own(folder, "journal"))),
        "state file": Target(*_appended(own(folder, "state"))),
        "rows": Target(_row_bytes(), _rows),
        "snapshot": Target(*_snapshot(own(folder, "snapshot")), (b'"O"', b"[-1]", b"null", b'"<V8"', b'".."')),
        "mark": Target(*_mark(own(folder, "mark"))),
        "warc": Target(_records(), _record, (b"\r\n\r\n", b"WARC/1.1\r\n", b"Content-Length: "), 4),
        "captures": Target([_index()], _captures(own(folder, "captures")), (b'"', b"\n", b" ", b"{}")),
        "seeds": Target(SEEDS, _seeds(own(folder, "seeds")), (b"://", b"sitemap:", b"#", b"\n", b"\xef\xbb\xbf")),
        "settings": Target(
            [CONFIG, *CONFIG.splitlines(keepends=True), json.dumps(CrawlSettings(seeds=(URL,)).facts()).encode()],
            _settings(own(folder, "settings")),
        ),
    }


# ---- the folder of a crawl


def _frames() -> bytes:
    data, chain = b"", 7
    for index, payload in enumerate([b"one", b"", b"three" * 20]):
        head, chain = frame_head(index + 1, index, payload, chain)
        data += head + payload
    return data


def _frame(data: bytes) -> None:
    frame = frame_at(data, 0, 0, 7)
    if frame is not None:
        head, chain = frame_head(frame.kind, 0, frame.payload, 7)
        must(data.startswith(head + frame.payload) and chain == frame.chain, "a frame is what was written")
    place = frame_behind(data, 0)
    must(place is None or FRAME.size <= place <= len(data) - FRAME.size, "a frame lies in the data")


def _messages() -> list[bytes]:
    page = PageId(1)
    visit = message.Visit(page=page, outcome=Outcome.READ, etag='"x"', links=b"l" * 16, watched=(("s", 1, "t"),))
    lease = message.Lease(page, URL, 2, watch=(Subscription("s", "/a/", 60.0, "file:/tmp/x", "//a"),))
    made = [
        message.Seeded(1.0, URL.encode()),
        message.Visits(1.0, [msgspec.Raw(message.pack(visit))]),
        message.Granted(1.0, 2, [page, page]),
        message.Returned(1.0, [page]),
        message.Configured(1.0, "{}"),
        message.Settled(0.1, 5),
        message.Clocked(1.0, "boot", 2.0),
    ]
    return [*map(message.pack, made), message.pack(visit), message.pack([lease])]


_FRAMES = [message.Seeded, message.Visits, message.Granted, message.Returned, message.Configured, message.Bounded]
_DECODERS: list[Callable[[bytes], Any]] = [
    *(msgspec.msgpack.Decoder(kind).decode for kind in (*_FRAMES, message.Settled, message.Commanded, message.Clocked)),
    message.unpack_visit,
    message.unpack_leases,
    message.unpack_batch,
]


def _message(data: bytes) -> None:
    for read in _DECODERS:
        with suppress(msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError):
            packed = message.pack(read(data))
            must(message.pack(read(packed)) == packed, "a message is what was sent")


def _commands() -> list[bytes]:
    about: dict[str, Any] = {"id": "0123456789abcdef" * 2, "time": 1.0}
    subscription = Subscription("s", "/a/", 60.0, "file:/tmp/x", "//a")
    return [
        pack_command(SubscribeCommand(**about, subscription=subscription)),
        pack_command(PublishCommand(**about, urls=URL.encode(), publisher="p", periods=bytes(8))),
        pack_command(SetCommand(**about, values={"rate": "5/s", "include+": ["/a/"]})),
        pack_command(UnsubscribeCommand(**about, name="s")),
    ]


def _command(data: bytes) -> None:
    with suppress(BadInput):
        check_content(unpack_command(data))


def _journal(folder: Path) -> tuple[list[bytes], Callable[[bytes], object]]:
    Journal.create(folder / "journal", 7)
    journal = Journal.open(folder / "journal", True, 7)
    for index in range(5):
        journal.append(1 + index, b"payload" * index)
    journal.close()
    path = next((folder / "journal").glob("*.log"))
    good, file = path.read_bytes(), InputFile(path)

    def read(data: bytes) -> None:
        file.take(data)
        try:
            frames = [payload for _, _, payload in Journal.open(folder / "journal", False, 7).follow(None, 0, 7)]
        except DamagedFile:
            return
        must(frames == [b"payload" * index for index in range(5)], "a damaged journal is not taken for a whole one")
        must(data.startswith(good), "the confirmed part is what was written")

    return [good], read


def _appended(folder: Path) -> tuple[list[bytes], Callable[[bytes], object]]:
    path = folder / "fuzz.bin"
    file = AppendedFile.open(path, "fuzz", None, writable=True)
    for index in range(300):
        file.append(b"item" * (index % 9))
    state, good = file.state(), file.base.tobytes()
    file.close()
    taken = InputFile(path)

    def read(data: bytes) -> None:
        taken.take(data)
        try:
            file = AppendedFile.open(path, "fuzz", state, writable=False)
        except DamagedFile:
            return
        must(file.base.tobytes() == good, "a damaged file is not taken for a whole one")
        file.close()

    return [good], read


def _row_bytes() -> list[bytes]:
    """Rows behind each other: varints, then weights."""
    plain = bytes([6, 4, 1, 2, 0x80, 1, 0, 0])
    weighted = bytes([3, 9, 5]) + np.array([0.5]).tobytes() + b"\0"
    return [b"CENTIME\1" + plain + weighted, plain * 4, bytes([200, 1, 100]) + bytes(range(100))]


def _rows(data: bytes) -> None:
    """Rows at all places, in a file that ends within them or behind them."""
    half = len(data) // 2
    octets = np.frombuffer(data, dtype=np.uint8)
    base, tail = octets[:half], octets[half:]
    row_at = np.arange(len(data) // 4 + 2, dtype=np.uint32)
    starts, lengths = np.empty(1, dtype=np.int64), np.empty(1, dtype=np.int64)
    for page in range(0, len(row_at), 1 + len(row_at) // 8):
        pages = np.array([page])
        measure(pages, row_at, base, tail, starts)
        total, weighted = count_links(pages, row_at, base, tail, starts, lengths)
        if total < 0:
            continue
        must(bool(0 <= total <= len(data)), "a row has no more links than bytes")
        targets, weights = np.zeros(int(total), dtype=np.int32), np.zeros(int(total) if weighted else 0)
        if decode(pages, row_at, base, tail, starts, targets, weights, weights.view(np.uint8), 1 << 30) < 0:
            must(bool((np.diff(targets) >= 0).all()), "the links of a row ascend")


def _snapshot(folder: Path) -> tuple[list[bytes], Callable[[bytes], object]]:
    """Manifests whose checksum is right, as somebody could make them."""
    arrays = {"a": np.arange(5), "b": np.zeros((2, 3), dtype=[("x", "<i4"), ("y", "<f8")])}
    path = folder / "1"
    write_content(path, {"frame": 1, "chain": 2}, arrays)
    good = json.dumps(json.loads((path / "manifest.json").read_bytes())["snapshot"]).encode()
    file = InputFile(path / "manifest.json")

    def read(data: bytes) -> None:
        try:
            content = json.loads(data)
            checksum = xxh3_64_hexdigest(json.dumps(content, sort_keys=True).encode())
            text = json.dumps({"checksum": checksum, "snapshot": content}).encode()
        except (ValueError, RecursionError):
            text = data
        file.take(text)
        with suppress(DamagedFile):
            read_snapshot(path)

    return [good], read


def _mark(folder: Path) -> tuple[list[bytes], Callable[[bytes], object]]:
    path = folder / "mark"
    create_mark(path, Mark(7, 3, 1, 5, 9))
    good, file = path.read_bytes(), InputFile(path)

    def read(data: bytes) -> None:
        mark = read_mark(file.take(data))
        must(mark is None or mark == Mark(7, 3, 1, 5, 9), "a damaged mark is not taken for a whole one")
        must(mark is not None or mark_trouble(path) != "", "a damaged mark is noticed")

    return [good], read


# ---- the archive


def _records() -> list[bytes]:
    response = Response(url=URL, outcome=Outcome.READ, status=200, body=b"body", headers=(("a", "b"),), asked_at=1.7e9)
    return [
        zlib.decompress(answer(response, "<urn:x>", "<urn:y>", b"d" * 20, original), wbits=31)
        for original in ("", "2026-01-31T12:00:00Z")
    ]


def _record(data: bytes) -> None:
    """Records as they are, and as whole gzip members."""
    must(payload_of(data) is None or data[:2] == b"\x1f\x8b", "a record is a gzip member")
    facts_of(data[:HEAD_BYTES])
    member = zlib.compress(data, 1, wbits=31)
    payload = payload_of(member)
    must(payload is None or payload + b"\r\n\r\n" == data[-len(payload) - 4 :], "a payload is the end of its record")
    date_in(io.BytesIO(member))


def _index() -> bytes:
    capture = Capture(
        url=URL, timestamp="20260131120000", mime="text/html", digest="D", offset=1, length=2, filename="f", status=200
    )
    return capture.line() * 3


def _captures(folder: Path) -> Callable[[bytes], object]:
    file = InputFile(folder / "fuzz.cdxj")

    def read(data: bytes) -> None:
        for line in data.splitlines(keepends=True):
            with suppress(ValueError, KeyError):
                capture_of(line)
        file.take(data)
        with suppress(DamagedFile):
            find_bodies(folder, URL)

    return read


# ---- settings


def _seeds(folder: Path) -> Callable[[bytes], object]:
    file = InputFile(folder / "seeds.txt")

    def read(data: bytes) -> None:
        with suppress(BadInput):
            read_seeds([str(file.take(data))])

    return read


def _settings(folder: Path) -> Callable[[bytes], object]:
    file = InputFile(folder / "config.toml")

    def read(data: bytes) -> None:
        try:
            facts = json.loads(data)
        except (ValueError, RecursionError):
            with suppress(BadInput):
                settings_from(read_config(file.take(data)) | {"seeds": [URL]}, where="fuzz")
            return
        with suppress(BadInput, DamagedFile):
            if isinstance(facts, dict):
                decode_settings(facts, where="fuzz")

    return read
