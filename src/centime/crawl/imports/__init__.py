"""Imports files of other programs into a crawl: archives, indexes, logs, graphs, mirrors."""
