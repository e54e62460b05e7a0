"""Centime's frontier for Scrapy projects: `SCHEDULER = "centime.scrapy.Scheduler"` (docs/scrapy.md).

Needs the extra `scrapy`. Scrapy loads these classes by their names:

    Scheduler            the queue of requests, by priority and importance, which survives kill -9
    SpiderMiddleware     reports links and outcomes of pages to it
    Addon                sets both: ADDONS = {"centime.scrapy.Addon": 500}
"""

from centime.scrapy.addon import Addon
from centime.scrapy.middleware import SpiderMiddleware
from centime.scrapy.scheduler import Scheduler

__all__ = ["Addon", "Scheduler", "SpiderMiddleware"]
