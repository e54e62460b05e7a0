"""A journal is replayed with the settings that were accepted when it was written, whatever ranges hold by now."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from centime.crawl.engine.reader import read_crawl
from centime.model.errors import BadSetting
from centime.settings.live import Value
from centime.settings.reading import settings_from
from centime.shard.people.command import SetCommand, new_id
from tests.crawl.world import World, advance, crawl


def test_settings_that_would_be_refused_today_are_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    older: dict[str, Value] = {"delay": 1e5, "pages-per-host": 2**33, "exclude": ["x" * 2_000, "(?<!h)x"]}
    live: dict[str, Value] = {"alpha": 2e6, "least-interval": "99999d", "focus": [r"p(\d)\1=2"]}
    for facts in (older, live):
        with pytest.raises(BadSetting):
            settings_from(facts, where="c")
    with crawl(tmp_path / "c") as opened:
        shard = opened.shard
        now = advance(opened, world, 5)
        settings = replace(shard.settings, delay=1e5, pages_per_host=2**33, exclude=("x" * 2_000, "(?<!h)x"))
        shard.configure(now, settings)
        monkeypatch.setattr("centime.shard.shard.changed_live", lambda settings, command: None)  # an older version's
        shard.command(now, SetCommand(id=new_id(), time=now, values=live))
        advance(opened, world, 5, start=now)
        shard.journal.sync()
        accepted = replace(settings, alpha=2e6, least_interval=99_999 * 86_400.0, focus=(r"p(\d)\1=2",))
        assert shard.settings == accepted
        again = read_crawl(tmp_path / "c")
        assert again.folded > 10
        assert again.shard.settings == accepted
        again.close()
