"""Spiders in the usual styles. As a program, runs some of them at once, each in a folder of its own, and prints what
they have found: python -m tests.scrapy.spiders FOLDER URL SETTINGS NAME ...
"""

import json
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.downloadermiddlewares import cookies
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.http import FormRequest
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider
from tldextract import TLDExtract

QUIET = {
    "ADDONS": {"centime.scrapy.Addon": 500},
    "LOG_LEVEL": "WARNING",
    "REMOTE_CONTROL_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
}


class Quotes(scrapy.Spider):
    """As in the tutorial: lists, details by another callback, the next list."""

    name = "quotes"

    def __init__(self, site: str) -> None:
        super().__init__()
        self.start_urls = [f"{site}/quotes/1"]

    def parse(self, response: Any) -> Iterator[Any]:
        for quote in response.css("div.quote"):
            yield {"text": quote.css("span::text").get()}
        yield from response.follow_all(css="a.author", callback=self.parse_author)
        yield from response.follow_all(css="a.next", callback=self.parse)

    def parse_author(self, response: Any) -> Iterator[Any]:
        yield {"author": response.css("h3::text").get()}


class Rules(CrawlSpider):
    """Follows by rules."""

    name = "rules"
    rules = (
        Rule(LinkExtractor(allow=r"/quotes/"), follow=True),
        Rule(LinkExtractor(allow=r"/author/"), callback="parse_author"),
    )

    def __init__(self, site: str) -> None:
        super().__init__()
        self.start_urls = [f"{site}/quotes/1"]

    def parse_author(self, response: Any) -> Iterator[Any]:
        yield {"author": response.css("h3::text").get()}


class Listed(SitemapSpider):
    """Reads what a sitemap lists."""

    name = "listed"

    def __init__(self, site: str) -> None:
        super().__init__()
        self.sitemap_urls = [f"{site}/sitemap.xml"]

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"author": response.css("h3::text").get()}


class Login(scrapy.Spider):
    """Fills in a form; passes values on by meta and cb_kwargs; has an errback."""

    name = "login"

    def __init__(self, site: str) -> None:
        super().__init__()
        self.site = site
        self.start_urls = [f"{site}/login"]

    def parse(self, response: Any) -> Iterator[Any]:
        yield FormRequest.from_response(
            response, formdata={"user": "ada"}, callback=self.entered, meta={"step": (1, 2)}
        )

    def entered(self, response: Any) -> Iterator[Any]:
        yield {"entered": response.css("p::text").get(), "step": list(response.meta["step"])}
        yield scrapy.Request(
            f"{self.site}/headers",
            callback=self.headers,
            headers={"X-Own": "yes"},
            cookies={"c": "1"},
            cb_kwargs={"left": 2},
        )
        yield scrapy.Request(f"{self.site}/missing", errback=self.failed, callback=self.headers, cb_kwargs={"left": 0})
        yield scrapy.Request(f"{self.site}/moved", callback=self.moved)

    def headers(self, response: Any, left: int) -> Iterator[Any]:
        sent = response.json()
        yield {"own": sent["X-Own"], "cookie": sent["Cookie"], "left": left}

    def moved(self, response: Any) -> Iterator[Any]:
        yield {"moved": response.url.removeprefix(self.site)}

    def failed(self, failure: Any) -> Iterator[Any]:
        yield {"failed": failure.value.response.status}


class Grid(scrapy.Spider):
    """Follows all links of the grid."""

    name = "grid"
    custom_settings = {"CONCURRENT_REQUESTS": 4, "DOWNLOAD_DELAY": 0}  # noqa: RUF012 (as spiders have it)

    def __init__(self, site: str) -> None:
        super().__init__()
        self.start_urls = [f"{site}/grid/0"]

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"page": response.url.rpartition("/")[2]}
        yield from response.follow_all(css="a")


SPIDERS = {kind.name: kind for kind in (Quotes, Rules, Listed, Login, Grid)}


def main(folder: str, url: str, settings: str, *names: str) -> None:
    """Runs spiders; prints their items and statistics as JSON."""
    warnings.simplefilter("ignore", ScrapyDeprecationWarning)  # of forms, which many projects have
    cookies._split_domain = TLDExtract(suffix_list_urls=())  # it would fetch a list from elsewhere
    process = CrawlerProcess(QUIET | json.loads(settings))
    found: dict[str, list[Any]] = {name: [] for name in names}
    crawlers = {}
    for name in names:
        crawler = process.create_crawler(SPIDERS[name])
        crawler.settings.set("CENTIME_DIR", f"{folder}/{name}", "cmdline")

        def take(item: Any, into: list[Any] = found[name]) -> None:
            into.append(item)

        crawler.signals.connect(take, scrapy.signals.item_scraped, weak=False)
        crawlers[name] = crawler
        process.crawl(crawler, site=url)
    process.start()
    stats = {name: crawler.stats.get_stats() for name, crawler in crawlers.items() if crawler.stats}
    print(json.dumps({"items": found, "stats": stats}, default=str))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
