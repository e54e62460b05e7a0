"""The add-on of Scrapy that turns everything on: `ADDONS = {"centime.scrapy.Addon": 500}`."""

from scrapy.settings import BaseSettings

from centime.scrapy.middleware import SpiderMiddleware

SCHEDULER = "centime.scrapy.Scheduler"
PLACE = 10  # next to the engine: it sees the requests that the other spider middlewares let through


class Addon:
    """Sets the scheduler and the spider middleware."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Changes settings that the project has not set itself."""
        settings.set("SCHEDULER", SCHEDULER, "addon")
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", SpiderMiddleware, PLACE)
