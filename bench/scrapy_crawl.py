"""One crawl of `bench.scrapy_site` with Scrapy; prints the pages after the first WARM ones and the CPU that they took.

python -m bench.scrapy_crawl memory|jobdir|centime PORT FOLDER PAGES WARM
"""

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

from bench.crawl_scrapy import SETTINGS
from centime.model.kernel import compile_at_once

KINDS: dict[str, dict[str, Any]] = {
    "memory": {},
    "jobdir": {"JOBDIR": "{folder}"},
    "centime": {"CENTIME_DIR": "{folder}", "ADDONS": {"centime.scrapy.Addon": 500}},
}


class Follow(scrapy.Spider):
    """Follows all links."""

    name = "follow"

    def __init__(self, port: str, warm: int) -> None:
        super().__init__()
        self.start_urls = [f"http://127.0.0.1:{port}/0"]
        self.links = LinkExtractor()
        self.read, self.warm, self.cpu = 0, warm, 0.0

    def parse(self, response: Any, **_: Any) -> Iterator[Any]:
        self.read += 1
        if self.read == self.warm:
            self.cpu = time.process_time()
        yield from (scrapy.Request(link.url) for link in self.links.extract_links(response))


def main(kind: str, port: str, folder: str, pages: int, warm: int) -> tuple[int, float]:
    """How many pages were read after the first ones, and the CPU-seconds of that."""
    given = {
        name: value.format(folder=folder) if isinstance(value, str) else value for name, value in KINDS[kind].items()
    }
    plain = {name: value for name, value in SETTINGS.items() if not name.startswith(("SCHEDULER", "DEPTH"))}
    more = {"REMOTE_CONTROL_ENABLED": False, "CONCURRENT_REQUESTS_PER_DOMAIN": 8, "CLOSESPIDER_PAGECOUNT": pages}
    process = CrawlerProcess(settings=plain | more | given)
    crawler = process.create_crawler(Follow)
    process.crawl(crawler, port=port, warm=warm)
    process.start()
    spider: Any = crawler.spider
    return spider.read - warm, time.process_time() - spider.cpu


if __name__ == "__main__":
    kind, port, folder, pages, warm = sys.argv[1:6]
    if kind == "centime":
        compile_at_once()
    print(json.dumps(main(kind, port, folder, int(pages), int(warm))))
