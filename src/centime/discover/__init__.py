"""Stage 1: which URLs a crawl admits. Canonical form, scope, traps, seeds, sitemaps and feeds; no network."""
