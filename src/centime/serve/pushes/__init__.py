"""Pushes: other systems announce pages that are new or changed, and the crawl visits them first."""
