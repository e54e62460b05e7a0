"""Stage 1: which URLs may be known. Canonical form, scope, traps, seeds, sitemaps and feeds; no network."""
