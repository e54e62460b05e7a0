"""What other programs have written becomes part of a crawl: archives, indexes, logs, graphs, mirrors."""
