"""A file that only grows, read through memory: bytes appended stay where they are, and their offset is their name.

    head      "CENTIME", format version u8, then the name of what it holds, 8 bytes; so no offset is ever 0, which stands for nothing
    items     one after the other, each begun at a multiple of `unit` bytes

How long the file is, is not written in it: its `state`, kept by a snapshot, says so, and what lies behind is rubbish
that is written over. Appending the same items again after a crash therefore gives the same file. Room is taken from the
disk before it is written to.

    state     length, then xxh3-64 of each block of 1 MiB, the last of which may be short: `check` proves every bit against it

A reader opens the file at the length its snapshot names and may append too: that goes to its own memory (`tail`) and
never to the file. So kernels are given two arrays, `base` and `tail`: offset x is `base[x]` if x < len(base), else
`tail[x - len(base)]`. No item straddles the two. A writer's tail is empty.

Trap: `base` is a view that is replaced when the file grows: take it anew after each append.
"""

import mmap
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from centime.files.disk import room_for, write_whole
from centime.files.replacement import replace_file
from centime.model.errors import DamagedFile, NoRoom

Octets = npt.NDArray[np.uint8]
State = npt.NDArray[np.uint64]

MAGIC = b"CENTIME\x01"
HEAD_BYTES = 16
SMALLEST_STEP, LARGEST_STEP = 16 << 20, 256 << 20
BLOCK = 1 << 20


class AppendedFile:
    """Bytes by offset; made by `open`."""

    def __init__(self, path: Path, state: State, writable: bool, unit: int, handle: int) -> None:
        self.path = path
        self.writable = writable
        self.length = int(state[0])  # where the next item begins
        self.unit = unit
        self._handle = handle
        self._room = os.fstat(handle).st_size  # how much of the file there is on disk
        self._map: Octets = np.empty(0, dtype=np.uint8)
        self._fixed = self.length  # a reader's file ends here
        self._tail: Octets = np.empty(0, dtype=np.uint8)
        self._checksums: list[int] = state[1 : 1 + self.length // BLOCK].tolist()  # of the whole blocks
        self._map_file()

    @classmethod
    def open(cls, path: Path, name: str, state: State | None, writable: bool, unit: int = 1) -> "AppendedFile":
        """The file as it was in that state; without one a writer begins a new file, and a reader one in memory."""
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
        found, size, length = os.pread(handle, HEAD_BYTES, 0), os.fstat(handle).st_size, int(state[0])
        if found == head and size >= length:
            return cls(path, state, writable, unit, handle)
        os.close(handle)
        if found[:7] == MAGIC[:7] and found[7:8] != MAGIC[7:]:
            raise DamagedFile(f"{path}: format version {found[7]}; this version reads {MAGIC[7]}")
        raise DamagedFile(
            f"{path}: cut short at byte {size} of {length}" if size < length else f"{path}: does not hold our {name}"
        )

    @property
    def base(self) -> Octets:
        """What lies in the file, to be read only."""
        return self._map[: self.length if self.writable else self._fixed]

    @property
    def tail(self) -> Octets:
        """What a reader has appended for itself, to be read only."""
        tail = self._tail[: self.length - len(self.base)]
        tail.flags.writeable = False  # kernels are compiled for two arrays of one type
        return tail

    def append(self, data: bytes | npt.NDArray[np.generic]) -> int:
        """Appends one item; its offset. NoRoom leaves the file as it was."""
        octets = np.frombuffer(data, dtype=np.uint8) if isinstance(data, bytes) else data.reshape(-1).view(np.uint8)
        if len(octets) % self.unit:
            octets = np.concatenate([octets, np.zeros(-len(octets) % self.unit, dtype=np.uint8)])
        at, end = self.length, self.length + len(octets)
        if (end - 1) // self.unit > 0xFFFF_FFFF and self.unit > 1:
            raise NoRoom(f"{self.path}: has reached {(self.unit << 32) >> 30} GiB, all that 32-bit offsets reach")
        if self.writable:
            self._take_room(end)
            write_whole(self._handle, octets.data, at, self.path)
            self.length = end
            for block in range(len(self._checksums), end // BLOCK):
                self._checksums.append(xxh3_64_intdigest(self._map[block * BLOCK : (block + 1) * BLOCK].data))
        else:
            self._put_in_memory(octets, at - self._fixed, end - self._fixed)
            self.length = end
        return at

    def read(self, at: int, count: int) -> bytes:
        """Some bytes of one item."""
        if at < len(self.base):
            return self.base[at : at + count].tobytes()
        begin = at - len(self.base)
        return self.tail[begin : begin + count].tobytes()

    def truncate(self, length: int) -> None:
        """Forgets what was appended behind that length."""
        self.length = length
        del self._checksums[length // BLOCK :]

    def sync(self) -> None:
        """Waits until the disk has all that was appended."""
        with room_for(self.path):
            os.fdatasync(self._handle)

    def state(self) -> State:
        """What `open` and `check` need to find and prove the file as it is now; no more than the last block is read
        for it.
        """
        rest = self.base[self.length // BLOCK * BLOCK :]
        return np.array([self.length, *self._checksums, xxh3_64_intdigest(rest.data)], dtype=np.uint64)

    def check(self, state: State) -> None:
        """Raises DamagedFile unless the file begins with what it was in that state."""
        length = int(state[0])
        for block, known in enumerate(state[1:].tolist()):
            piece = self.base[block * BLOCK : min(length, (block + 1) * BLOCK)]
            if xxh3_64_intdigest(piece.data) != known:
                raise DamagedFile(
                    f"{self.path}: damaged between byte {block * BLOCK} and byte {block * BLOCK + len(piece)}"
                )

    def close(self) -> None:
        """Lets go of the file; a writer gives back the room that it did not use."""
        if self._handle >= 0:
            if self.writable:
                os.ftruncate(self._handle, self.length)
                self.sync()
            os.close(self._handle)
            self._handle = -1

    def _take_room(self, end: int) -> None:
        if end <= self._room:
            return
        step = min(max(self._room, SMALLEST_STEP), LARGEST_STEP)
        room = max(end, self._room + step)
        with room_for(self.path):
            os.posix_fallocate(self._handle, self._room, room - self._room)
        self._room = room
        self._map_file()

    def _map_file(self) -> None:
        """Maps the file anew; views handed out before keep the old mapping alive."""
        self._map = np.frombuffer(mmap.mmap(self._handle, self._room, access=mmap.ACCESS_READ), dtype=np.uint8)

    def _put_in_memory(self, octets: Octets, begin: int, end: int) -> None:
        if end > len(self._tail):
            grown = np.zeros(max(end, len(self._tail) * 5 // 4, 1 << 16), dtype=np.uint8)
            grown[:begin] = self._tail[:begin]
            self._tail = grown
        self._tail[begin : begin + len(octets)] = octets
