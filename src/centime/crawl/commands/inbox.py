"""The inbox of a crawl: the folder `commands/`, one file for each command that waits.

    commands/TIME-ID                   a waiting command, packed; the file gets this name when it is whole and synced
    commands/refused/TIME-ID           a command that could not be understood or carried out
    commands/refused/TIME-ID.reason    why it was refused

A running crawl reads the inbox every second, and a crawl that starts reads it first. It takes commands by name, that
is, by the time they were made; appends each to its journal; syncs the journal; and only then removes the file. A crawl
that is killed in between finds the file again, and its id among the ids it remembers: each command is carried out once.
A file whose name begins with a dot is still being written.
"""

import errno
import fcntl
import os
from collections.abc import Iterable
from pathlib import Path

from centime.crawl.commands.checking import check_content, unpack_command
from centime.files.disk import make_folder, sync_folder
from centime.files.replacement import replace_file
from centime.model.errors import BadInput
from centime.shard.people.command import Command, pack_command

FOLDER = "commands"
REFUSED = "refused"
REASON = ".reason"
LARGEST = 16 << 20
MOST, MOST_BYTES = 8, 2 << 20  # taken at a time, so that a flood of commands does not stall the crawl

Taken = tuple[Path, Command]


class CommandInbox:
    """The commands that wait for the crawl of a folder."""

    def __init__(self, crawl: Path) -> None:
        """The inbox of the crawl in this folder. The folder `commands/` is made with the first command."""
        self.path = crawl / FOLDER
        self._refused = self.path / REFUSED

    def put(self, command: Command) -> Path:
        """Writes a command and syncs it; returns its file, which exists until a crawl has taken the command."""
        make_folder(self.path)
        path = self.path / f"{int(command.time * 1e6):017d}-{command.id}"
        replace_file(path, pack_command(command))
        return path

    def take(self, most: int = MOST) -> list[Taken]:
        """The next commands with their files, the oldest first. Files that are not commands are refused.

        Call `done` or `refuse` for each of them.
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
        """The files of all waiting commands, the oldest first."""
        try:
            with os.scandir(self.path) as entries:
                names = sorted(
                    entry.name for entry in entries if not entry.name.startswith(".") and entry.name != REFUSED
                )
        except FileNotFoundError:
            return []
        return [self.path / name for name in names]

    def done(self, paths: Iterable[Path]) -> None:
        """Removes the files of commands whose frames of the journal are synced."""
        paths = list(paths)
        for path in paths:
            path.unlink(missing_ok=True)
        if paths:
            sync_folder(self.path)

    def refuse(self, path: Path, reason: str) -> None:
        """Moves a command that cannot be carried out to `refused/`, with the reason."""
        make_folder(self.path)
        make_folder(self._refused)
        replace_file(self._refused / (path.name + REASON), (reason + "\n").encode(errors="replace"))
        path.replace(self._refused / path.name)
        sync_folder(self._refused)
        sync_folder(self.path)

    def refusal(self, path: Path) -> str:
        """Why the command of a file was refused; "" if it was not."""
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
            raise BadInput(f"the file cannot be read: {trouble.strerror}") from trouble
        try:
            # one call reads a whole regular file; anything else is refused anyway, so a part of it is enough
            packed = os.read(handle, LARGEST + 1)
        except OSError as trouble:  # a folder, for example
            raise BadInput(f"the file cannot be read: {trouble.strerror}") from trouble
        finally:
            os.close(handle)
        if len(packed) > LARGEST:
            raise BadInput(f"a command has at most {LARGEST >> 20} MiB")
        command = unpack_command(packed)
        check_content(command)
        return command


def running(crawl: Path) -> int:
    """The id of the process that crawls in this folder now, or 0.

    The lock is tried only if the process whose id is in the lock file is alive, so that a crawl that is just starting
    does not find its lock taken.
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
