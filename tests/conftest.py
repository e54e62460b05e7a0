"""Tests draw the same examples in every run; `pytest --hypothesis-profile=default` draws new ones."""

from pathlib import Path

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None, database=None)
settings.load_profile("ci")


def forget_stale_kernels() -> None:
    """Removes compiled kernels that are older than any source: numba does not see that a function inlined from
    another file changed."""
    sources = Path(__file__).parent.parent / "src" / "centime"
    newest = max(path.stat().st_mtime for path in sources.rglob("*.py"))
    for compiled in sources.rglob("*.nb[ic]"):
        try:
            if compiled.stat().st_mtime < newest:
                compiled.unlink()
        except FileNotFoundError:
            continue  # another test process was quicker


forget_stale_kernels()
