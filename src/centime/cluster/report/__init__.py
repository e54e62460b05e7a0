"""Reports over all partitions of a crawl, merged in one place."""
