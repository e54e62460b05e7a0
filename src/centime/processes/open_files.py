"""The number of files that a process may have open (`ulimit -n`): a connection is one of them.

A crawl raises the limit as far as the system allows, and refuses to start if that is too low. A fetcher has no more
connections than fit, so that a shortage on this machine never looks like a server that does not answer.
"""

import errno
import os
import resource
from pathlib import Path

from centime.model.errors import BadSetting

WANTED = 2048  # twice the connections of a fetcher, in use and kept, and some
NEEDED = 64  # of a crawl or a fetcher; and one for each fetcher
RESERVED = 24  # of a fetcher, beside connections: archive, DNS, files that libraries read
LACKS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})  # of this machine, never of a server


def raise_limit(fetchers: int) -> None:
    """Raises the limit of this process and its children if it is low; BadSetting if it stays too low for a crawl."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= limit < WANTED:
        limit = WANTED if most == resource.RLIM_INFINITY else min(WANTED, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
    if 0 <= limit < NEEDED + fetchers:
        raise BadSetting(
            f"a crawl with {fetchers} workers needs {NEEDED + fetchers} open files, and this process may have {limit}: "
            f"`ulimit -n {NEEDED + fetchers}`, better {WANTED}, raises that limit"
        )


def fitting_connections(most: int) -> int:
    """How many connections, up to `most`, may be in use if as many are kept beside them."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return most if limit < 0 else max(1, min(most, (limit - len(list(Path("/dev/fd").iterdir())) - RESERVED) // 2))


def is_lacking() -> bool:
    """Whether this process can open no more files now."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in LACKS
    return False
