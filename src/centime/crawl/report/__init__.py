"""Reports of a crawl, read from its folder, also while the crawl runs. They change nothing there."""
