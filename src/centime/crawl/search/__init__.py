"""Full-text search over a crawl: keeps the index up to date with the bodies that are stored, and searches it."""
