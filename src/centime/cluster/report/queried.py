"""An XPath over all partitions: pages of each in its order of importance, merged into one."""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence

from centime.crawl.documents.querying import Answer, Queried
from centime.crawl.engine.reader import CrawlReader

Ask = Callable[[CrawlReader, Iterable[tuple[str, float]]], Iterator[Answer]]


class QueriedParts:
    """Pages to look into, in each part."""

    def __init__(self, readers: Sequence[CrawlReader], pages: Sequence[Queried]) -> None:
        self._readers = readers
        self._pages = pages
        self.most = sum(one.most for one in pages)
        self.by_index = all(one.by_index for one in pages)

    def answers(self, ask: Ask) -> Iterator[Answer]:
        """The results of a function in the pages of each part, the most important first. In each part, one page more
        than needed may be examined.
        """
        found = [ask(reader, some.pages) for reader, some in zip(self._readers, self._pages, strict=True)]
        return heapq.merge(*found, key=lambda answer: answer.importance, reverse=True)
