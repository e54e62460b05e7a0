"""Tools for tests of programs that use Centime: a simulated web and a clock with faults. Nothing leaves this machine.

    from centime.testing import webbox, FaultClock

    def test_my_program(tmp_path):
        with webbox(pages=200) as box, Crawl(tmp_path / "c", box.seed_url, **box.settings) as crawl:
            crawl.run()
            assert crawl.statistics()["read"] > 100

With pytest, `pytest_plugins = ["centime.testing.fixtures"]` gives the fixture `webbox`.
"""

from centime.testing.clock import FaultClock
from centime.testing.web import TestWeb, webbox

__all__ = ["FaultClock", "TestWeb", "webbox"]
