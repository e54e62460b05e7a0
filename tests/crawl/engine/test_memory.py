"""Memory is measured in a separate process, where nothing else allocates."""

import subprocess
import sys

PROGRAM = """
from pathlib import Path
import numpy as np
from centime.crawl.engine.memory import give_back_large_blocks

def own():
    return int(Path("/proc/self/status").read_text().partition("RssAnon:")[2].split()[0]) * 1024

give_back_large_blocks()
begun, kept = own(), []
for _ in range(20):  # a block that stays lies behind each that goes, so that a heap could not shrink
    large = np.ones(24 << 20, dtype=np.uint8)
    kept.append(np.ones(100_000, dtype=np.uint8))
    del large
print(own() - begun)
"""


def test_large_blocks_that_are_freed_go_back_to_the_system() -> None:
    left = int(subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True).stdout)
    assert left < 8 << 20
