"""The door for Python programs: `centime.Crawl` runs a crawl, `centime.open_crawl` reads one."""
