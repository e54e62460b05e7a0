"""The folder of the index, `DIR/index/`: derived, so it may be thrown away at any time.

    about.json      its crawl and its schema
    lock            held by the process that writes here
    pages.bin       the indexed versions, see `indexed_pages.py`
    tantivy/        the index itself

If anything here is broken, of another crawl or of another version, the index is rebuilt; that is never an error.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

import tantivy

from centime.files.disk import create_file, make_folder
from centime.files.listing import list_folder
from centime.files.replacement import replace_file
from centime.model.errors import InUse
from centime.search.words import NAME, analyser

SCHEMA = 2  # the number of the schema below
LOCK = ".tantivy-meta.lock"  # which tantivy takes whenever it opens or reloads
TEXTS = ("title", "text", "url")  # the fields in which words are searched
SHOWN = {"title": "shown_title", "text": "shown_text"}  # the text to show, in UTF-8


def schema() -> tantivy.Schema:
    """The fields of a page. Numbers are signed: tantivy deletes nothing by an unsigned one."""
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("page", indexed=True, fast=True)
    builder.add_integer_field("time", indexed=True, fast=True)  # of this version, in seconds
    builder.add_integer_field("digest", fast=True)
    for name in TEXTS:
        builder.add_text_field(name, stored=name == "url", tokenizer_name=NAME)
    for name in SHOWN.values():
        builder.add_bytes_field(name, stored=True)
    for name in ("kind", "language"):
        builder.add_text_field(name, stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("site", tokenizer_name="raw", index_option="basic")  # the host, and the domains around it
    return builder.build()


class IndexFiles:
    """The paths of an index."""

    def __init__(self, folder: Path, identity: int) -> None:
        self.folder = folder
        self.about = folder / "about.json"
        self.pages = folder / "pages.bin"
        self.words = folder / "tantivy"
        self._said = {"schema": SCHEMA, "words": NAME, "tantivy": version("tantivy"), "crawl": identity}

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Makes this the only process that may write here; InUse names the one that holds the lock."""
        make_folder(self.folder)
        handle = create_file(self.folder / "lock", os.O_RDWR | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as trouble:
                holder = os.pread(handle, 20, 0).decode(errors="replace").strip()
                raise InUse(
                    f"{self.folder}: process {holder or 'unknown'} writes this index; wait until it has ended"
                ) from trouble
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
            yield
        finally:
            os.close(handle)

    def unfit(self) -> str:
        """Why the index cannot be used, in words; empty if it can, or if there is none."""
        try:
            said = json.loads(self.about.read_bytes())
        except FileNotFoundError:
            return "it was never finished" if self.words.exists() else ""
        except PermissionError:
            return "its description may not be read"
        except (OSError, ValueError):
            return "its description is damaged"
        if not isinstance(said, dict) or said.get("crawl") != self._said["crawl"]:
            return "it belongs to another crawl"
        return "" if said == self._said else "another version of Centime made it"

    def closed(self) -> str:
        """Why this process could not open even a whole index, in words; empty if it can."""
        if self.words.exists() and not os.access(self.words, os.R_OK | os.X_OK):
            return "may not be read"
        return "" if all(os.access(file, os.R_OK) for file in list_folder(self.words)) else "may not be read"

    def is_lockable(self) -> bool:
        """Whether tantivy can take its lock, which it does to read as well."""
        lock = self.words / LOCK
        return os.access(lock if lock.exists() else self.words, os.W_OK)

    def open(self) -> tantivy.Index:
        """The index for reading or writing; ValueError or OSError if it is broken."""
        return _opened(self.words)

    def open_linked(self, place: Path) -> tantivy.Index:
        """The last commit of an index in which this process cannot write, for reading: `place`, an empty folder, gets
        links to its files and the lock. ValueError or OSError if it is broken, or was committed to meanwhile.
        """
        for file in list_folder(self.words):
            if file.name != LOCK:
                (place / file.name).symlink_to(file.resolve())
        return _opened(place)

    def opstamp(self) -> int:
        """The number of the last commit; ValueError or OSError if the index is broken."""
        try:
            return int(json.loads((self.words / "meta.json").read_bytes())["opstamp"])
        except (KeyError, TypeError) as trouble:
            raise ValueError(f"meta.json of the index has no number of a commit: {trouble!r}") from trouble

    def create(self) -> tantivy.Index:
        """Creates an empty index; deletes an old one."""
        for path in (self.about, self.pages):  # first, so that a process killed here leaves nothing that looks whole
            path.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            shutil.rmtree(self.words)
        make_folder(self.words)
        tantivy.Index(schema(), path=str(self.words), reuse=False)
        replace_file(self.about, json.dumps(self._said).encode())
        return self.open()


def _opened(folder: Path) -> tantivy.Index:
    index = tantivy.Index.open(str(folder))
    index.register_tokenizer(NAME, analyser())
    return index
