"""The stored bodies of a crawl for other tools: corpora of texts, files, histories and archives, all as streams."""
