"""What the window reports of a crawl, one module for each thing that it shows."""
