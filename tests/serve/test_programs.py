"""What programs get: events, metrics, the description of the API, and figures over time."""

import asyncio
import math
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest

from centime.serve import events
from centime.serve.charts import bands, curve
from centime.serve.openapi import written
from centime.store.figures import RINGS, FiguresFile, read_figures
from tests.crawl.report.made import NOW, hand_made, refreshed
from tests.serve.asking import Asker

PROJECT = Path(__file__).parents[2]


def told(data: bytes) -> list[tuple[str, str, dict[str, object]]]:
    """The events in a stream: id, kind and data."""
    found = re.findall(rb"(?:id: (\d+)\n)?event: (\w+)\ndata: (.*)\n\n", data)
    return [(place.decode(), kind.decode(), msgspec.json.decode(text)) for place, kind, text in found]


def test_events_tell_visits_and_changes_and_resume_by_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "EVERY", 0.01)
    monkeypatch.setattr("centime.serve.served_crawl.FOLLOW_SECONDS", 0.0)
    monkeypatch.setattr("centime.serve.served_crawl.LEISURE", 0.0)
    folder = tmp_path / "crawl"
    with hand_made(folder, **{"refresh-after": 1000.0}) as opened:
        asker = Asker({"museum": folder})
        feed = asker.window.feeds["museum"]

        async def listen(last: str, until: str) -> bytes:
            data = b""
            stream = feed.listen(last, frozenset(events.KINDS))
            async with asyncio.timeout(20):
                async for piece in stream:
                    data += piece
                    if f"event: {until}\n".encode() in data:
                        break
            await stream.aclose()  # type: ignore[attr-defined]
            return data

        first = told(asker.run(listen("", "figures")))
        assert [kind for _, kind, _ in first] == ["figures"]
        place = first[0][0]
        refreshed(opened)
        again = told(asker.run(listen(place, "visits")))
        kinds = {kind: data for _, kind, data in again}
        assert kinds["visits"]["count"] == 2
        assert [row["change"] for row in kinds["changes"]["changes"]] == ["changed"]  # type: ignore[attr-defined]
        assert again[0][0] != place
        whole = {kind: data for _, kind, data in told(asker.run(listen("0", "visits")))}
        assert whole["visits"]["count"] == 9
        for wrong in (str(int(place) + 1), "99999999"):
            assert told(asker.run(listen(wrong, "gap")))[0][1] == "gap"
        assert feed.clients == 0
        asker.close()


def test_a_client_that_does_not_read_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "EVERY", 0.0)
    monkeypatch.setattr(events, "MOST_WAITING", 3)
    with hand_made(tmp_path / "crawl") as opened:
        opened.close()
    asker = Asker({"museum": tmp_path / "crawl"})
    feed = asker.window.feeds["museum"]

    async def work() -> int:
        stream = feed.listen("", frozenset(events.KINDS))
        await anext(stream)
        async with asyncio.timeout(20):
            while feed.clients:
                await asyncio.sleep(0.01)
            return len([piece async for piece in stream])

    assert asker.run(work()) == 0
    asker.close()


def test_metrics_are_those_of_the_crawl_in_the_format_of_prometheus(small: Asker) -> None:
    answered = small.get("/metrics")
    assert answered.headers["content-type"].startswith("text/plain; version=0.0.4")
    text = answered.text
    assert 'centime_known_pages{crawl="museum"} 10.0' in text
    assert 'centime_up{crawl="museum"} 1.0' in text
    assert re.search(r'centime_visits_total\{crawl="museum",outcome="read"\} 3\.0', text)
    names = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    assert names == set(re.findall(r"^# HELP (\S+)", text, re.MULTILINE))
    used = {re.split(r"[{ ]", line)[0] for line in text.splitlines() if not line.startswith("#")}
    assert used <= names


def test_every_metric_of_the_dashboard_file_is_served(small: Asker) -> None:
    board = (PROJECT / "docs/grafana.json").read_text()
    served = set(re.findall(r"^(centime_\w+)", small.get("/metrics").text, re.MULTILINE))
    used = set(re.findall(r"centime_\w+", board))
    assert len(used) > 5
    assert used <= served


def test_the_committed_description_of_the_api_is_the_one_that_is_served(small: Asker) -> None:
    served = small.get("/api/v1/openapi.json").body.decode()
    assert served == written()
    assert (PROJECT / "docs/openapi.json").read_text() == served, (
        "run: .venv/bin/python -m centime.serve.openapi > docs/openapi.json"
    )


def test_every_path_of_the_description_is_answered(small: Asker) -> None:
    for path, operations in msgspec.json.decode(written())["paths"].items():
        if "get" in operations and not path.endswith("/events"):
            assert small.get(path.replace("{crawl}", "museum")).status in (200, 400), path


def row(time: float) -> dict[str, float]:
    return {
        "time": time,
        "known": 10.0,
        "read": 5.0,
        "visits": time,
        "errors": 0.0,
        "wire_bytes": 1.0,
        "fresh_share": 0.5,
        "certified_error": math.nan,
        "frontier": 1.0,
        "hosts": 2.0,
    }


def test_figures_are_kept_for_each_ring_in_a_file_of_fixed_size_also_after_a_restart(tmp_path: Path) -> None:
    file = FiguresFile(tmp_path)
    size = (tmp_path / "figures.bin").stat().st_size
    for step in range(1000):
        file.write(row(NOW + 10.0 * step))
    file.close()
    again = FiguresFile(tmp_path)
    again.write(row(NOW + 10_000.0))
    again.close()
    assert (tmp_path / "figures.bin").stat().st_size == size < 500_000
    tens, minutes, hours, days = (read_figures(tmp_path, span) for span, _ in RINGS)
    assert len(tens) == 360
    assert tens["time"][-1] == NOW + 10_000.0
    assert (np.diff(tens["time"]) == 10.0).all()
    assert len(minutes) in (167, 168)
    assert len(hours) in (3, 4)
    assert len(days) in (1, 2)
    assert np.isnan(tens["certified_error"]).all()


def test_figures_that_are_torn_or_of_another_time_round_do_not_count(tmp_path: Path) -> None:
    file = FiguresFile(tmp_path)
    for step in range(10):
        file.write(row(NOW + 10.0 * step))
    file.write(row(NOW + 40_000.0))
    file.close()
    assert read_figures(tmp_path, 10)["time"].tolist() == [NOW + 40_000.0]
    data = bytearray((tmp_path / "figures.bin").read_bytes())
    at = data.index(np.float64(NOW + 40_000.0).tobytes())
    data[at + 12] ^= 1
    (tmp_path / "figures.bin").write_bytes(data)
    assert NOW + 40_000.0 not in read_figures(tmp_path, 10)["time"]
    (tmp_path / "figures.bin").write_bytes(data[:100])
    assert len(read_figures(tmp_path, 10)) == 0
    assert len(read_figures(tmp_path / "nothing", 10)) == 0
    FiguresFile(tmp_path).close()
    assert len(read_figures(tmp_path, 10)) == 0


def test_a_curve_needs_two_points_and_escapes_its_title() -> None:
    assert "no figures yet" in curve([(1.0, 2.0)], "pages")
    drawn = curve([(0.0, 0.0), (60.0, math.nan), (120.0, 5.0)], "<b>")
    assert "<polyline" in drawn
    assert "<b>" not in drawn
    assert drawn.count("nan") == 0
    assert "style=" not in drawn


def test_bands_are_as_wide_as_what_flows_and_escape_names() -> None:
    drawn = bands([("<a>", "b", 3.0), ("b", "<a>", 1.0)], "flows")
    assert "<a>" not in drawn
    assert drawn.count("<path") == 2
    assert "nothing flows" in bands([], "flows")
