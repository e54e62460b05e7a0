"""The process that notifies subscribers: it makes one attempt for each batch it receives, and sends the result back.

    python -m centime.crawl.notify.delivering SOCKET        (`processes/child.py`)

It remembers nothing: the crawl sends a batch that failed again (`delivery.py`), and also a batch that was lost because
this process was killed. Attempts run concurrently and each has a time limit, so a subscriber that hangs delays no
other.

    file:PATH            a line of JSON is appended and synced, unless a recent line has its id; a truncated last line
                         of ours is removed; a path that is not a file, or lies in the crawl's folder, is refused
    command:PROGRAM      started without a shell, with the line on its standard input; exit code 0 is success; killed
                         when its time is over. Neither this nor file: happens for a foreign crawl folder
                         (`store/ownership.py`)
    apprise:URL          receives a message for people (`message.py`); not for a foreign crawl folder either
    http://, https://    receives a POST request (`fetch/notice.py`); any status 2xx is success
"""

import asyncio
import contextlib
import fcntl
import os
import shlex
import signal
import stat
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import msgspec

from centime.crawl.notify.message import send
from centime.fetch.notice import Notifier
from centime.fetch.settings import FetchSettings
from centime.model.visible import visible
from centime.processes.channel import LENGTH
from centime.processes.child import Work, serve_crawl
from centime.shard.message import pack
from centime.shard.people.notices import Batch

TITLE = "centime-notify"
SEARCHED_BYTES = 16 << 20  # at the end of a file, searched for an id: a batch that is delivered again comes soon
BEGINNING = b'{"id":"'  # of every line that we write
THREADS = 16
LOCKED_SECONDS = 2.0  # to wait for a file that another process has locked
OPERATORS = frozenset({">", ">>", "<", "|", "||", "&", "&&", ";", "2>", "2>&1"})  # of shells
MOST_SAID, MOST_LINE = 4_096, 300  # bytes of a program's output searched for its last line; characters of it
HELD_BACK = (
    "this crawl folder was copied or made by another user; centime crawl DIR --trust-folder allows its programs"
    " and files"
)


class DeliverySettings(msgspec.Struct, array_like=True, frozen=True):
    """The settings of the process, sent when it starts."""

    fetch: FetchSettings
    command_seconds: float = 60.0
    http_seconds: float = 30.0
    crawl: str = ""  # the folder of the crawl, in which no file is written; "" if none
    foreign: bool = False  # no program is started and no file is written for a foreign folder


class Attempted(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The result of an attempt: the batch, and why it was not delivered ("" if it was)."""

    name: str
    up_to: int
    trouble: str = ""


unpack_settings = msgspec.msgpack.Decoder(DeliverySettings).decode
unpack_batches = msgspec.msgpack.Decoder(list[Batch]).decode
unpack_attempted = msgspec.msgpack.Decoder(Attempted).decode


class DeliveringProcess:
    """The loop of the process."""

    def __init__(self, settings: DeliverySettings) -> None:
        self._settings = settings
        self._notifier = Notifier(settings.fetch)
        self._files: dict[str, asyncio.Lock] = {}

    async def run(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Delivers batches until the crawl closes the socket."""
        try:
            await Work().run(reader, unpack_batches, lambda batch: self._attempt(batch, writer))
        finally:
            await self._notifier.close()

    async def _attempt(self, batch: Batch, writer: asyncio.StreamWriter) -> None:
        try:
            trouble = await self.deliver(batch)
        except Exception as error:  # one subscriber must never stop the others
            trouble = f"{type(error).__name__}: {error}"
        message = pack(Attempted(batch.name, batch.up_to, trouble[:500]))
        if not writer.is_closing():
            writer.write(LENGTH.pack(len(message)) + message)

    async def deliver(self, batch: Batch) -> str:
        """Makes one attempt; returns why the batch was not delivered, or "" if it was."""
        facts = batch.facts()
        if self._settings.crawl:
            await asyncio.to_thread(_add_differences, self._settings.crawl, facts, batch)
            if not facts["changes"]:
                return ""
        body = msgspec.json.encode(facts)
        scheme, _, place = batch.to.partition(":")
        if self._settings.foreign and acts_here(batch.to):
            return HELD_BACK
        match scheme:
            case "file":
                async with self._files.setdefault(os.path.realpath(place), asyncio.Lock()):
                    return await asyncio.to_thread(append_line, place, body, batch.id, self._settings.crawl)
            case "command":
                return await _run(shlex.split(place), body + b"\n", self._settings.command_seconds)
            case "apprise":
                async with asyncio.timeout(self._settings.command_seconds):
                    return await asyncio.to_thread(send, batch.to, facts)
            case _:
                return await self._notifier.post(batch.to, body, batch.id, seconds=self._settings.http_seconds)


def _add_differences(crawl: str, facts: dict[str, Any], batch: Batch) -> None:
    """Imports the reader of versions with the first notice: many crawls never send one."""
    from centime.crawl.notify.differences import add_differences

    add_differences(Path(crawl), facts, batch)


def acts_here(to: str) -> bool:
    """Whether notices to this place start a program, write a file or use a service in the name of the person who runs
    the crawl."""
    return to.startswith(("command:", "file:", "apprise:"))


def unfit(path: str, crawl: str) -> str:
    """Why notices cannot be appended at a path: it is not a file, or, with links resolved, lies in the folder of the
    crawl. "" if they can.
    """
    place = Path(os.path.realpath(path))  # Path.resolve raises at links that lead to each other
    if crawl and place.is_relative_to(os.path.realpath(crawl)):
        return f"{path} is inside the crawl's own folder"
    if place.is_dir():
        return f"{path} is a folder"
    return f"{path} is not a file" if place.exists() and not place.is_file() else ""


def append_line(path: str, body: bytes, identity: str, crawl: str = "") -> str:
    """Appends a line to a file and syncs it, unless a line with this id is there; returns why that failed, or ""."""
    if trouble := unfit(path, crawl):
        return trouble
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o666)
    except OSError as error:
        return f"{path}: {error.strerror}"
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return f"{path} is not a file"
        _lock(handle)
        size = os.fstat(handle).st_size
        begin = max(0, size - SEARCHED_BYTES)
        end = os.pread(handle, size - begin, begin)
        mark = BEGINNING + msgspec.json.encode(identity)[1:] + b","
        lines, cut = end.rpartition(b"\n")[::2]
        if any(line.startswith(mark) for line in lines.split(b"\n")):
            return ""
        if cut.startswith(BEGINNING[: len(cut)]):  # a line of ours, truncated when the machine lost power
            os.ftruncate(handle, size - len(cut))
            cut = b""
        data = (b"\n" if cut else b"") + body + b"\n"
        while data:
            data = data[os.write(handle, data) :]
        os.fsync(handle)
    except BlockingIOError:
        return f"{path} is locked by another program"
    except OSError as error:
        return f"{path}: {error.strerror}"
    finally:
        os.close(handle)
    return ""


def _lock(handle: int) -> None:
    """Locks a file, and waits for a while if another process writes to it: partitions of a crawl may share a file."""
    until = time.monotonic() + LOCKED_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise
            time.sleep(0.01)


async def _run(words: list[str], body: bytes, seconds: float) -> str:
    """Runs a program with the body on its standard input; returns why it failed, or ""."""
    if not words:
        return "there is no program to run"
    # Not pipes: a program that does not read one must not block us, nor one that writes much or leaves a child behind.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write(body)
        given.seek(0)
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=given,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
        except (OSError, ValueError) as trouble:
            return f"{words[0]} cannot be run: {trouble}"
        try:
            code = await asyncio.wait_for(process.wait(), seconds)
        except (TimeoutError, asyncio.CancelledError) as ending:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with all processes that it started
            await process.wait()
            if isinstance(ending, asyncio.CancelledError):
                raise
            return f"{words[0]} took longer than {seconds:g} s"
        if not code:
            return ""
        operator = next((word for word in words if word in OPERATORS), "")
        hint = f"; it was started without a shell, so {operator} was an argument of it" if operator else ""
        return f"{words[0]} ended with code {code}{_last_line(said)}{hint}"


def _last_line(said: IO[bytes]) -> str:
    """The last line of what a program wrote to its standard error, behind a colon; "" if it wrote nothing."""
    said.seek(max(0, said.seek(0, os.SEEK_END) - MOST_SAID))
    lines = said.read(MOST_SAID).decode(errors="replace").strip().splitlines()
    return f": {visible(lines[-1].strip())[:MOST_LINE]}" if lines else ""


async def _serve(settings: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS))
    await DeliveringProcess(unpack_settings(settings)).run(reader, writer)


def main(number: int | None = None) -> None:
    """Delivers notices for the crawl at the other end of the socket."""
    serve_crawl(_serve, TITLE, number)


if __name__ == "__main__":
    main()
