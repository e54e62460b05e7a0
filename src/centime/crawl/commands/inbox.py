"""The way of a command from a command to a crawl: the folder `commands/` of the crawl, one file a command.

    commands/TIME-ID             a command that waits, packed; named when it is whole and on the disk, never before
    commands/refused/TIME-ID     what could not be understood or carried out, with TIME-ID.reason beside it: nothing is lost in silence

A running crawl looks here every second, a crawl that starts does so first. It takes commands by name, so by the time
they were made; puts each into its journal; waits for the disk; and only then removes the file. A crawl killed in
between finds the file again and its id among those it remembers: once in effect. Files that begin with a dot are still
being written.
"""

import errno
import fcntl
import os
from collections.abc import Iterable
from pathlib import Path

from centime.crawl.commands.checking import check_content, unpack_command
from centime.files.disk import sync_folder
from centime.files.replacement import replace_file
from centime.model.errors import BadInput
from centime.shard.command import Command, pack_command

FOLDER = "commands"
REFUSED = "refused"
REASON = ".reason"
LARGEST = 16 << 20
MOST, MOST_BYTES = 8, 2 << 20  # taken at a time: a flood of commands does not stall the crawl

Taken = tuple[Path, Command]


class CommandInbox:
    """The commands that wait for the crawl of a folder."""

    def __init__(self, crawl: Path) -> None:
        """The inbox of the crawl that lives in this folder; nothing is made before there is a command."""
        self.path = crawl / FOLDER
        self._refused = self.path / REFUSED

    def put(self, command: Command) -> Path:
        """Writes a command down, whole and on the disk; the file that is there until a crawl has taken it."""
        self.path.mkdir(exist_ok=True)
        path = self.path / f"{int(command.time * 1e6):017d}-{command.id}"
        replace_file(path, pack_command(command))
        return path

    def take(self, most: int = MOST) -> list[Taken]:
        """The next commands with their files, the oldest first; what cannot be understood is refused. `done` must
        follow for each.
        """
        taken: list[Taken] = []
        size = 0
        for path in self.waiting():
            if len(taken) == most or size >= MOST_BYTES:
                break
            try:
                size += path.lstat().st_size
                taken.append((path, self._read(path)))
            except BadInput as trouble:
                self.refuse(path, str(trouble))
            except FileNotFoundError:
                continue
        return taken

    def waiting(self) -> list[Path]:
        """The files of all commands that wait, the oldest first."""
        try:
            with os.scandir(self.path) as entries:
                names = sorted(
                    entry.name for entry in entries if not entry.name.startswith(".") and entry.name != REFUSED
                )
        except FileNotFoundError:
            return []
        return [self.path / name for name in names]

    def done(self, paths: Iterable[Path]) -> None:
        """Removes the files of commands that are in the journal, on the disk."""
        paths = list(paths)
        for path in paths:
            path.unlink(missing_ok=True)
        if paths:
            sync_folder(self.path)

    def refuse(self, path: Path, reason: str) -> None:
        """Moves a command that cannot be carried out aside, with the reason."""
        self._refused.mkdir(parents=True, exist_ok=True)
        replace_file(self._refused / (path.name + REASON), (reason + "\n").encode(errors="replace"))
        path.replace(self._refused / path.name)
        sync_folder(self._refused)
        sync_folder(self.path)

    def refusal(self, path: Path) -> str:
        """Why the command of a file was refused; nothing if it was not."""
        if not (self._refused / path.name).exists():
            return ""
        return (self._refused / (path.name + REASON)).read_text(encoding="utf-8").strip()

    @staticmethod
    def _read(path: Path) -> Command:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError as trouble:
            if trouble.errno == errno.ENOENT:
                raise
            raise BadInput(f"it cannot be read: {trouble.strerror}") from trouble
        try:
            packed = os.read(
                handle, LARGEST + 1
            )  # a file of ours comes in one piece; of what is none a part is as good as all
        except OSError as trouble:  # a folder, for one
            raise BadInput(f"it cannot be read: {trouble.strerror}") from trouble
        finally:
            os.close(handle)
        if len(packed) > LARGEST:
            raise BadInput(f"a command has {LARGEST >> 20} MiB at most")
        command = unpack_command(packed)
        check_content(command)
        return command


def running(crawl: Path) -> int:
    """The process that crawls in this folder now, 0 if there is none.

    The lock is tried only if the process that wrote its number there is alive: a crawl that is just starting must not
    find it taken.
    """
    try:
        handle = os.open(crawl / "lock", os.O_RDONLY)
    except FileNotFoundError:
        return 0
    try:
        number = os.pread(handle, 20, 0).strip()
        if not number.isdigit() or not _is_alive(int(number)):
            return 0
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return int(number)
    finally:
        os.close(handle)
    return 0


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True
