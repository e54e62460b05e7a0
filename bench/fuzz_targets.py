"""What is fuzzed: every reader of bytes that come from the web or from a file of somebody else.

About a hundred shares are given out: most to what meets the web, and one to each of the others, which is a hundred
thousand of ten million inputs.
"""

from pathlib import Path

from bench.fuzz_answers import answer_targets
from bench.fuzz_files import file_targets
from bench.fuzz_graphs import graph_targets
from bench.fuzz_imports import import_targets
from bench.fuzz_target import Target
from bench.fuzz_versions import version_targets
from bench.fuzz_web import web_targets


def targets(folder: Path) -> dict[str, Target]:
    """All targets by name; those that need files write them into this folder."""
    files = file_targets(folder) | graph_targets(folder) | import_targets(folder)
    return web_targets() | version_targets() | answer_targets() | files
