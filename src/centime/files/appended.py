"""An append-only file, read through a memory map: an item never moves, and its offset identifies it.

    head      "CENTIME", format version u8, then the name of the content, 8 bytes. So no item has offset 0, which
              means that there is none
    items     one after the other, each at a multiple of `unit` bytes

The file does not contain its own length. Its `state`, which a snapshot keeps, has the length; bytes after it are
garbage and are overwritten. Appending the same items again after a crash therefore gives the same file. Disk space is
allocated before it is written to: as much as the file has, from SMALLEST_STEP to LARGEST_STEP, or just for the item if
there is no room for more.

    state     length, then xxh3-64 of each block of 4 KiB; the last block may be short

`open` verifies every bit before the state, so nothing that was damaged is ever certified again: checksums come from the
bytes that were appended, never from bytes that were read back. Blocks are small, so that little is lost with one, and
so that a flipped bit can be found by trying all of them (`centime repair`).

A reader opens the file at the length in its snapshot. It may append too: the items go to its own memory (`tail`), never
to the file. So kernels take two arrays, `base` and `tail`: offset x is `base[x]` if x < len(base), else
`tail[x - len(base)]`. No item lies in both. The tail of a writer is empty.

Trap: when the file grows, `base` becomes another view. Get it again after each append.
"""

import mmap
import os
from array import array
from pathlib import Path

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64, xxh3_64_intdigest

from centime.files.disk import naming, room_for, write_whole
from centime.files.presence import leads_to, must_lead_to, write_back
from centime.files.replacement import replace_file
from centime.model.errors import DamagedFile, NoRoom

Octets = npt.NDArray[np.uint8]
State = npt.NDArray[np.uint64]

MAGIC = b"CENTIME\x01"
HEAD_BYTES = 16
SMALLEST_STEP, LARGEST_STEP = 256 << 10, 256 << 20  # a small crawl needs little room
BLOCK = 1 << 12


class AppendedFile:
    """Items by offset; use `open` to create one."""

    def __init__(self, path: Path, state: State, writable: bool, unit: int, handle: int) -> None:
        self.path = path
        self.writable = writable
        self.length = int(state[0])  # the offset of the next item
        self.unit = unit
        self._handle = handle
        self._room = os.fstat(handle).st_size  # bytes allocated on disk
        self._map: Octets = np.empty(0, dtype=np.uint8)
        self._fixed = self.length  # where the file ends for a reader
        self._tail: Octets = np.empty(0, dtype=np.uint8)
        self._checksums = array("Q", state[1 : 1 + self.length // BLOCK].tolist())  # of the full blocks
        self._map_file()
        self._digest = self._digest_of_rest()  # of the bytes after the last full block

    @classmethod
    def open(
        cls, path: Path, name: str, state: State | None, writable: bool, unit: int = 1, *, verify: bool = True
    ) -> "AppendedFile":
        """Opens the file at a state; without a state, a writer creates a new file and a reader starts in memory.
        DamagedFile if the file does not begin with its content at that state.
        """
        head = MAGIC + name.encode().ljust(8)[:8]
        if state is None and writable:
            replace_file(path, head)
        if state is None and not writable:
            handle = os.memfd_create(name)
            os.write(handle, head)
        else:
            handle = os.open(path, os.O_RDWR if writable else os.O_RDONLY)
        if state is None:
            state = np.array([HEAD_BYTES], dtype=np.uint64)
        with naming(path):
            found, size, length = os.pread(handle, HEAD_BYTES, 0), os.fstat(handle).st_size, int(state[0])
        if found == head and size >= length:
            file = cls(path, state, writable, unit, handle)
            damaged = file.damaged_blocks(state) if verify and len(state) > 1 else []
            if not damaged:
                return file
            raise DamagedFile(file.describe(damaged))  # and `file` is closed as it goes
        os.close(handle)
        if found[:7] == MAGIC[:7] and len(found) == HEAD_BYTES and found[7:8] != MAGIC[7:]:
            raise DamagedFile(f"{path}: format version {found[7]}; this version reads {MAGIC[7]}")
        raise DamagedFile(
            f"{path}: cut short at byte {size} of {length}" if size < length else f"{path}: not a {name!r} file"
        )

    @property
    def base(self) -> Octets:
        """The content of the file, read-only."""
        return self._map[: self.length if self.writable else self._fixed]

    @property
    def tail(self) -> Octets:
        """The items that this reader has appended in its own memory, read-only."""
        tail = self._tail[: self.length - len(self.base)]
        tail.flags.writeable = False  # so that `base` and `tail` have one type and a kernel is compiled once
        return tail

    def append(self, data: bytes | npt.NDArray[np.generic]) -> int:
        """Appends one item and returns its offset. NoRoom leaves the file unchanged."""
        octets = np.frombuffer(data, dtype=np.uint8) if isinstance(data, bytes) else data.reshape(-1).view(np.uint8)
        if len(octets) % self.unit:
            octets = np.concatenate([octets, np.zeros(-len(octets) % self.unit, dtype=np.uint8)])
        at, end = self.length, self.length + len(octets)
        if (end - 1) // self.unit > 0xFFFF_FFFF and self.unit > 1:
            raise NoRoom(f"{self.path}: has reached {(self.unit << 32) >> 30} GiB, the limit of 32-bit offsets")
        if self.writable:
            self._take_room(end)
            write_whole(self._handle, octets.data, at, self.path)
        else:
            self._put_in_memory(octets, at - self._fixed, end - self._fixed)
        self._add_to_checksums(octets.data)
        self.length = end
        return at

    def read(self, at: int, count: int) -> bytes:
        """Returns `count` bytes of one item."""
        if at < len(self.base):
            return self.base[at : at + count].tobytes()
        begin = at - len(self.base)
        return self.tail[begin : begin + count].tobytes()

    def truncate(self, length: int) -> None:
        """Drops everything after the first `length` bytes."""
        self.length = length
        del self._checksums[length // BLOCK :]
        self._digest = self._digest_of_rest()

    def must_be_there(self) -> None:
        """Raises FileGone if the file was deleted or replaced while this writer had it open."""
        if self.writable:
            must_lead_to(self.path, self._handle)

    def write_back(self) -> None:
        """Writes the file again under its name if it was deleted or replaced."""
        if self.writable and self._handle >= 0 and not leads_to(self.path, self._handle):
            self._handle = write_back(self.path, self._handle, self.length)
            self._room = self.length
            self._map_file()

    def sync(self) -> None:
        """Waits until all appended items are on the disk, in a file that has its name."""
        self.must_be_there()
        with room_for(self.path):
            os.fdatasync(self._handle)

    def state(self) -> State:
        """The length and checksums of the file now, for `open`; reads nothing."""
        state = np.empty(len(self._checksums) + 2, dtype=np.uint64)
        state[0], state[1:-1], state[-1] = self.length, self._checksums, self._digest.intdigest()
        return state

    def damaged_blocks(self, state: State) -> list[int]:
        """The blocks of the file that differ from that state."""
        length, view = int(state[0]), self.base.data
        return [
            block
            for block, known in enumerate(state[1:].tolist())
            if xxh3_64_intdigest(view[block * BLOCK : min(length, (block + 1) * BLOCK)]) != known
        ]

    def describe(self, damaged: list[int]) -> str:
        """A sentence about damaged blocks."""
        first = damaged[0] * BLOCK
        more = f", and {len(damaged) - 1} more blocks" if len(damaged) > 1 else ""
        return f"{self.path}: damaged between byte {first} and byte {min(first + BLOCK, self.length)}{more}"

    def close(self) -> None:
        """Closes the file; a writer also frees the disk space that it did not use."""
        if self._handle >= 0:
            if self.writable:
                self.write_back()
                os.ftruncate(self._handle, self.length)
                self.sync()
            os.close(self._handle)
            self._handle = -1

    def __del__(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)

    def _add_to_checksums(self, octets: memoryview) -> None:
        begin, room = 0, BLOCK - self.length % BLOCK
        while len(octets) - begin >= room:
            self._digest.update(octets[begin : begin + room])
            self._checksums.append(self._digest.intdigest())
            self._digest.reset()
            begin, room = begin + room, BLOCK
        self._digest.update(octets[begin:])

    def _digest_of_rest(self) -> xxh3_64:
        rest = self.length // BLOCK * BLOCK
        return xxh3_64(self.base[rest:].data if rest < len(self.base) else b"")

    def _take_room(self, end: int) -> None:
        if end <= self._room:
            return
        step = min(max(self._room, SMALLEST_STEP), LARGEST_STEP)
        try:
            self._allocate(max(end, self._room + step))
        except NoRoom:  # for a whole step; perhaps there is room for this item
            self._allocate(end)
        self._map_file()

    def _allocate(self, room: int) -> None:
        try:
            with room_for(self.path):
                os.posix_fallocate(self._handle, self._room, room - self._room)
        except NoRoom:
            os.ftruncate(self._handle, self._room)  # the system may have allocated a part
            raise
        self._room = room

    def _map_file(self) -> None:
        """Maps the file again; earlier views keep the old mapping alive."""
        self._map = np.frombuffer(mmap.mmap(self._handle, self._room, access=mmap.ACCESS_READ), dtype=np.uint8)

    def _put_in_memory(self, octets: Octets, begin: int, end: int) -> None:
        if end > len(self._tail):
            grown = np.zeros(max(end, len(self._tail) * 5 // 4, 1 << 16), dtype=np.uint8)
            grown[:begin] = self._tail[:begin]
            self._tail = grown
        self._tail[begin : begin + len(octets)] = octets
