"""What a request costs over HTTP/2, beside HTTP/1.1: Centime's exchange, bare clients on h2 and on jh2, and httpx.

    python -m bench.http2 [PART ...] [--json]

nginx (from Debian, unpacked into `build/bench`) serves pages of 1 and 26 KB with TLS and offers both versions. `one`
has one request under way to each of 40 hosts, as politeness asks for; `ten` has ten to each of 4 hosts: ten connections
with HTTP/1.1, one with HTTP/2; `fresh` makes a connection for each request. Only the CPU of the client counts, user and
system. The clients take turns, and the least of the repeats counts. h2, jh2 and httpx are peers (`bench/peers.in`);
those that are not there are not measured."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec

from bench.crawl_server import CACHE, CONFIGURATION, NGINX, UNPACKED, free_port, running, unpack, wait_for
from bench.exchange_server import page
from bench.figure import Figure
from bench.report import Benchmarks, run_parts

REPEATS = 3
REQUESTS = {"one": 800, "ten": 800, "fresh": 200}
SIZES = (1_000, 26_000)
CLIENTS = ("exchange", "h2", "jh2", "httpx")
PLAIN = "listen 127.0.0.1:{port};"
SECURE = "listen {port} ssl http2; ssl_certificate {work}/certificate.pem; ssl_certificate_key {work}/key.pem;"


@contextmanager
def server() -> Iterator[int]:
    """The port of nginx with pages of all sizes, while the block runs."""
    unpack("nginx")
    work, port = CACHE / "http2", free_port()
    (work / "tree").mkdir(parents=True, exist_ok=True)
    for size in SIZES:
        (work / "tree" / f"{size}.html").write_bytes(page(size))
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", str(work / "key.pem")]
    certificate = ["-x509", "-days", "9", "-subj", "/CN=localhost", "-out", str(work / "certificate.pem")]
    subprocess.run(["openssl", "req", *key, *certificate], check=True, capture_output=True)
    assert PLAIN in CONFIGURATION
    configuration = CONFIGURATION.replace(PLAIN, SECURE).format(work=work, port=port, tree=work / "tree")
    (work / "nginx.conf").write_text(configuration)
    with running([UNPACKED / NGINX, "-c", work / "nginx.conf", "-e", work / "error.log"]):
        wait_for(port)
        yield port


def requests(kind: str) -> Iterator[Figure]:
    """Microseconds of each client for pages of each size."""
    clients = [name for name in CLIENTS if name == "exchange" or find_spec(name)]
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in clients}
    with server() as port:
        for _ in range(REPEATS):
            for name in clients:
                command = [sys.executable, "-m", "bench.http2_run", name, str(port), kind, str(REQUESTS[kind])]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                runs[name].append(json.loads(done.stdout))
    for size in SIZES:
        least = {name: min(run[str(size)] for run in runs[name]) for name in clients}
        for name in clients:
            yield Figure(f"{size // 1000} KB: {name}", least[name], "µs/request")
            if name != "exchange":
                yield Figure(f"{size // 1000} KB: {name} over exchange", least[name] / least["exchange"], "times")


PARTS: Benchmarks = {kind: partial(requests, kind) for kind in REQUESTS}
ABOUT = {
    "one": "one request at a time to each host",
    "ten": "ten at a time to each host",
    "fresh": "a connection for each request",
}


if __name__ == "__main__":
    sys.exit(run_parts("bench.http2", "The cost of a request over HTTP/2", PARTS, ABOUT))
