"""The truth beside a running crawl of the webbox: what is fresh, verified version by version."""

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from centime.crawl.engine.loop import Engine, Limits
from centime.crawl.engine.opening import open_writer
from centime.crawl.report.truth import FILE, read_truth
from centime.lab.beside import TruthWriter
from centime.lab.webbox import WebBox, serve_in_process
from centime.model.ids import PageId

BOX = WebBox(hosts=2, pages=40, traps=False, feeds=False, crawl_delay_seconds=0.0, delay_seconds=0.0, speed=86_400.0)
GIVEN: dict[str, Any] = {"scope": "any", "delay": 0.0, "workers": 1, "sitemaps": False}
GIVEN["allow-network"] = ["127.0.0.0/8"]


def test_the_truth_is_that_of_the_box_now_and_grows_stale_when_nobody_reads(tmp_path: Path) -> None:
    with serve_in_process(BOX) as served, open_writer(tmp_path / "c", [served.seed_url], GIVEN) as opened:
        Engine(opened, Limits()).run(TruthWriter(opened, served).look)
        written = read_truth(tmp_path / "c")
        assert written is not None
        now, here = time.time(), served.time()
        shares = []
        for days in (0.0, 30.0):
            later: Any = SimpleNamespace(webbox=served.webbox, time=lambda days=days: here + days * 86_400.0)
            truth = TruthWriter(opened, later).truth(now + days * 86_400.0 / BOX.speed)
            shares.append(truth.true_fresh_share)
            expected = _fresh(opened, served.webbox, now, here, here + days * 86_400.0)
            assert truth.true_fresh_share == pytest.approx(expected)
        assert (truth.known, truth.true_pages) == (40, 40)
        assert len(truth.top) == 5
        assert shares[1] < shares[0]
        assert 0.0 <= truth.true_error < 2.0


def _fresh(opened: Any, box: WebBox, now: float, here: float, then: float) -> float:
    """The share of importance whose version when it was read is that of a later time."""
    importance = box.importance(then)
    same = weight = 0.0
    for page, url in enumerate(opened.shard.pages.texts.get_many(np.arange(opened.shard.pages.count))):
        number, record = box.page(url), opened.shard.pages.last(PageId(page))
        assert number is not None
        assert record is not None
        if not (record.outcome.present or record.outcome.redirect):
            continue
        read_at = here - box.speed * (now - record.time)
        is_same = record.outcome.redirect or box.version(number, read_at) == box.version(number, then)
        same += importance[number] * is_same
        weight += importance[number]
    return same / weight


def test_what_is_no_truth_is_none(tmp_path: Path) -> None:
    assert read_truth(tmp_path) is None
    for text in ("", "{}", '{"time": "x"}', "[1]"):
        (tmp_path / FILE).write_text(text)
        assert read_truth(tmp_path) is None
