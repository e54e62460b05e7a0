"""The server of the crawler's benchmark never outlives it."""

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from bench.crawl_server import running

SERVER = "import signal; signal.pause()"
BENCHMARK = """
import signal, sys
from bench.crawl_server import running
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with Ctrl-C switched off
with running([sys.executable, "-c", sys.argv[1]]) as process:
    print(process, flush=True)
    signal.pause()
"""


def test_a_server_ends_with_its_block_whatever_happens_in_it() -> None:
    seen = []

    def fails() -> None:
        with running([sys.executable, "-c", SERVER]) as process:
            os.kill(process, 0)  # it is there
            seen.append(process)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    with pytest.raises(ProcessLookupError):
        os.kill(seen[0], 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_server_ends_with_the_benchmark_however_that_ends(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BENCHMARK, SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as benchmark:
        assert benchmark.stdout is not None
        process = int(benchmark.stdout.readline())
        server = os.pidfd_open(process)
        benchmark.send_signal(number)
    try:
        ended, _, _ = select.select([server], [], [], 10)
        assert ended
    finally:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(server, signal.SIGKILL)
        os.close(server)
