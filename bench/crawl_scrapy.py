"""Scrapy following all links, set up to be quick: no delay, no robots.txt, 64 requests at a time, no log, nothing kept.

python -m bench.crawl_scrapy PAGES SEED ...
"""

import re
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.resolver import dnscache

SETTINGS = {
    "LOG_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    "AUTOTHROTTLE_ENABLED": False,
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "REDIRECT_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "REFERER_ENABLED": False,
    "HTTPCACHE_ENABLED": False,
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
    "LOGSTATS_INTERVAL": 0,
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}


class Follow(scrapy.Spider):
    """Follows all links on the hosts of its seeds, breadth first."""

    name = "follow"

    def __init__(self, seeds: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = seeds
        self.links = LinkExtractor(allow=["^" + re.escape(seed) for seed in seeds])
        self.read = 0

    def parse(self, response: Any, **_: Any) -> Iterator[Any]:
        self.read += 1
        if isinstance(response, scrapy.http.HtmlResponse):
            yield from (scrapy.Request(link.url) for link in self.links.extract_links(response))


def main(pages: int, seeds: list[str]) -> int:
    """How many pages were read."""
    for seed in seeds:
        dnscache[urlsplit(seed).hostname or ""] = "127.0.0.1"
    process = CrawlerProcess(settings=SETTINGS | {"CLOSESPIDER_PAGECOUNT": pages})
    crawler = process.create_crawler(Follow)
    process.crawl(crawler, seeds=seeds)
    process.start()
    return int(crawler.stats.get_value("downloader/response_status_count/200", 0)) if crawler.stats else 0


if __name__ == "__main__":
    print(main(int(sys.argv[1]), sys.argv[2:]))
