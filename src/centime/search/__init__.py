"""Full-text search over the text of pages: the index, queries, and results in the order of BM25 times importance."""
