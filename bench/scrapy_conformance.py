"""A pytest plugin for Scrapy's own tests: puts Centime's scheduler in the place of the default one, and gives each test
a folder of its own. `bench.scrapy` copies it beside Scrapy's tests."""

from pathlib import Path
from typing import Any

import pytest
import scrapy.core.scheduler
from scrapy.settings import default_settings

from centime.scrapy import Scheduler

own: Any = scrapy.core.scheduler
own.Scheduler = Scheduler
default_settings.SCHEDULER = "centime.scrapy.Scheduler"
default_settings.SPIDER_MIDDLEWARES = {"centime.scrapy.SpiderMiddleware": 10}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path.cwd()
    monkeypatch.setenv("PYTHONPATH", str(root))  # the mock server of Scrapy's tests is a module of them
    monkeypatch.chdir(tmp_path_factory.mktemp("run"))
