"""What people ask of a crawl: looked up in its folder, also while the crawl runs, and never changing anything there."""
