"""Kernels that run as plain Python until compiling pays must give the same bits as the compiled ones, or a journal
would lead to another crawl on another day.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.lab.webbox import WebBox, serve_in_process
from centime.ledger.exact import ExactLedger

REPLAY = """
import sys
from pathlib import Path
from centime.crawl.engine.opening import open_writer
with open_writer(Path(sys.argv[1]), [], {}) as opened:
    opened.shard.ledger.settle(error=1e-9)
    opened.shard.placement.frontier.check()
    opened.close()
"""


def _state_after(folder: Path, way: str) -> dict[str, str]:
    if way == "compiled":  # as all kernels of this process are
        with open_writer(folder, [], {}) as opened:
            assert isinstance(opened.shard.ledger, ExactLedger)
            opened.shard.ledger.settle(error=1e-9)
            opened.shard.placement.frontier.check()
            opened.close()
    else:
        environment = os.environ | ({"NUMBA_DISABLE_JIT": "1"} if way == "plain" else {})
        subprocess.run([sys.executable, "-c", REPLAY, str(folder)], env=environment, check=True, timeout=300)
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name not in ("manifest.json", "centime.json", "centime.copy.json", "lock", "owner")
    }


@pytest.mark.long
@pytest.mark.parametrize("want", [{"want": "xml"}, {}])
def test_a_journal_leads_to_the_same_bits_whether_kernels_are_compiled_or_plain_python(
    want: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "crawl"
    with serve_in_process(WebBox(hosts=8, pages=200, crawl_delay_seconds=0.0, delay_seconds=0.0)) as served:
        given = {"scope": "any", "delay": 0.0, "workers": 1, "allow-network": ["127.0.0.0/8"], **want}
        with open_writer(folder, [served.seed_url], given) as opened:
            engine = Engine(opened, Limits(pages=150))
            while engine.step():
                pass
            engine.pause()  # and no snapshot yet
            for way in ("plain", "compiled", "late"):
                shutil.copytree(folder, tmp_path / way)
            engine.finish()
    plain = _state_after(tmp_path / "plain", "plain")
    assert len(plain) > 5
    assert _state_after(tmp_path / "compiled", "compiled") == plain
    assert _state_after(tmp_path / "late", "late") == plain


def test_a_small_crawl_imports_nothing_that_takes_long(tmp_path: Path) -> None:
    with serve_in_process(WebBox(hosts=1, pages=3, crawl_delay_seconds=0.0, delay_seconds=0.0)) as served:
        command = ["crawl", str(tmp_path / "c"), served.seed_url, "--delay", "0", "--allow-network", "127.0.0.0/8"]
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "centime", *command], capture_output=True, text=True, check=True
        )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}  # by its fetchers too
    assert "centime.crawl.worker.fetching" in imported
    assert not {"numba", "scipy", "pydantic", "pyarrow", "matplotlib"} & imported
