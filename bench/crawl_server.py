"""Real documentation pages behind a real server: nginx and four sets of HTML, all from Debian's packages, unpacked
without root.

Packages are fetched once for all clones of a user, by `apt-get download`, into `~/.cache/centime/debian`; nothing is
installed. The four sets come from four different makers of documentation: DocBook (PostgreSQL), Publican (the Debian
handbook, in 26 languages), AsciiDoc (git) and Sphinx (Python). Together they are about 5 200 pages with a mean of 26
KB. One nginx process serves the same tree under as many names below `localhost` as are asked for, so that there are
several hosts."""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from centime.processes.parent import die_with_parent

CACHE = Path(__file__).parent.parent / "build" / "bench"
UNPACKED = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "centime" / "debian"
NGINX = "usr/sbin/nginx"
SETS = {  # where the pages of a package lie, and under which name they are served
    "postgresql-doc-15": ("postgresql-doc-15/html", "postgresql"),
    "debian-handbook": ("debian-handbook/html", "handbook"),
    "git-doc": ("git-doc", "git"),
    "python3.11-doc": ("python3.11/html", "python"),
}
CONFIGURATION = """
worker_processes 1;
daemon off;
error_log {work}/error.log;
pid {work}/nginx.pid;
events {{ worker_connections 4096; }}
http {{
    {http}
    default_type application/octet-stream;
    keepalive_requests 100000000;
    client_body_temp_path {work}/body;
    proxy_temp_path {work}/proxy;
    fastcgi_temp_path {work}/fastcgi;
    uwsgi_temp_path {work}/uwsgi;
    scgi_temp_path {work}/scgi;
    server {{ listen 127.0.0.1:{port}; root {tree}; }}
}}
"""
FAST = "access_log off; types { text/html html; text/plain txt; } sendfile on;"


class NotToBeHad(Exception):
    """The packages could not be fetched."""


@dataclass(frozen=True, slots=True)
class Served:
    """A server at work."""

    port: int
    process: int
    pages: int
    mean_bytes: float

    def seeds(self, hosts: int) -> list[str]:
        """The front page of each host."""
        return [f"http://site{number}.localhost:{self.port}/" for number in range(hosts)]

    def cpu(self) -> float:
        """Seconds of CPU that the server's worker has used."""
        children = Path(f"/proc/{self.process}/task/{self.process}/children").read_text().split()
        return sum(cpu_of(int(child)) for child in children)


def cpu_of(process: int) -> float:
    """Seconds of CPU that a process has used, to the hundredth."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


@contextmanager
def documentation() -> Iterator[Served]:
    """nginx with the pages, while the block runs."""
    tree = documentation_tree()
    with nginx(tree, CACHE / "nginx", FAST) as (port, process):
        sizes = [path.stat().st_size for path in tree.rglob("*.html")]
        yield Served(port, process, len(sizes), sum(sizes) / len(sizes))


@contextmanager
def nginx(tree: Path, work: Path, http: str) -> Iterator[tuple[int, int]]:
    """The port and the process of an nginx that serves a tree of files, with these directives, while the block runs."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    port = free_port()
    (work / "nginx.conf").write_text(CONFIGURATION.format(work=work, tree=tree, port=port, http=http))
    with running([UNPACKED / NGINX, "-c", work / "nginx.conf", "-e", work / "error.log"]) as process:
        wait_for(port)
        yield port, process


@contextmanager
def running(command: Sequence[str | Path]) -> Iterator[int]:
    """The process of a program that runs as long as the block, and ends with this process however that ends.

    It is asked to end (SIGTERM) rather than killed, so that it can end what it has started itself: nginx its workers.
    """
    ends_with_us = partial(die_with_parent, os.getpid(), signal.SIGTERM)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=ends_with_us)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def unpack(*packages: str) -> None:
    """Fetches those packages that are not there, and unpacks them into UNPACKED, one process at a time."""
    UNPACKED.mkdir(parents=True, exist_ok=True)
    try:
        with (UNPACKED / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for package in packages:
                if not (whole := UNPACKED / f"{package}.unpacked").exists():
                    _unpack(package)
                    whole.touch()
        if "nginx" in packages:
            subprocess.run([UNPACKED / NGINX, "-v"], check=True, capture_output=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise NotToBeHad(f"Debian's packages could not be had: {error}") from error


def _unpack(package: str) -> None:
    command = ["apt-get", "download", package]
    subprocess.run(command, cwd=UNPACKED, check=True, capture_output=True, timeout=300)
    for archive in UNPACKED.glob(f"{package}_*.deb"):
        subprocess.run(["dpkg-deb", "-x", archive, UNPACKED], check=True, capture_output=True)
        archive.unlink()


def documentation_tree() -> Path:
    """The folder with the pages, fetched and unpacked, as is nginx, if they are not there."""
    tree = CACHE / "tree"
    if (tree / "index.html").exists():
        return tree
    shutil.rmtree(tree, ignore_errors=True)
    unpack("nginx", *SETS)
    for (
        place,
        name,
    ) in SETS.values():  # copied, not linked: links of packages lead to folders that are not ours
        folder = UNPACKED / "usr/share/doc" / place
        for path in folder.rglob("*.html"):
            copy = tree / name / path.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    entries = sorted(str(path.relative_to(tree)) for path in [*tree.glob("*/index.html"), *tree.glob("*/*/index.html")])
    links = "".join(f'<li><a href="{entry}">{entry}</a></li>' for entry in entries)
    (tree / "index.html").write_text(f"<!DOCTYPE html><title>Documentation</title><ul>{links}</ul>\n")
    return tree


def free_port() -> int:
    """A port on loopback that nobody uses."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def wait_for(port: int, seconds: float = 10.0) -> None:
    """Waits until a server answers on this port."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with socket.socket() as connection:
            if connection.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise NotToBeHad(f"no server answers on port {port}")
