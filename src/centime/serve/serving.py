"""Serves crawls until it is stopped: in the process of `centime serve`, or beside a crawl (`processes/window.py`).

python -m centime.serve.serving DIR PORT [LOG]     writes its address to standard output, ends when standard input does;
                                                   LOG is `LogSettings` as JSON
"""

import json
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from centime.model.errors import CentimeError
from centime.processes.log import LogSettings, logging_to
from centime.serve.access import Access, Tokens
from centime.serve.listening import (
    WindowServer,
    address_of,
    bound,
    check_place,
    place_of,
    public_address,
    served_crawls,
)
from centime.serve.pushes.settings import read_doors


def serve(
    folders: Sequence[Path],
    listen: str,
    tokens: Tokens | None,
    ready: Callable[[str, WindowServer], None],
    push_file: Path | None = None,
    callback: str = "",
    *,
    behind_proxy: bool = False,
) -> None:
    """Serves crawls; `ready` receives the address, and the server, whose `should_exit` ends it."""
    host, port = place_of(listen)
    check_place(host, tokens)
    crawls = served_crawls(folders)
    doors = None if push_file is None else read_doors(push_file, frozenset(crawls))
    address = public_address(callback) if callback else ""
    made = bound(host, port)
    server = WindowServer(crawls, Access(tokens, behind_proxy=behind_proxy), doors, address)
    ready(address_of(made), server)
    server.run(sockets=[made])


def _beside(folder: str, listen: str, log: str = "") -> int:
    def ready(address: str, server: WindowServer) -> None:
        print(address, flush=True)  # noqa: T201 (the parent reads it)

        def watch() -> None:
            sys.stdin.buffer.read()
            server.should_exit = True

        threading.Thread(target=watch, daemon=True).start()

    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # for the crawl; a log that was moved is noticed without it
    try:
        with logging_to(LogSettings(**json.loads(log)) if log else None):
            serve([Path(folder)], listen, None, ready)
    except CentimeError as trouble:
        sys.stderr.write(f"{trouble}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_beside(*sys.argv[1:]))
