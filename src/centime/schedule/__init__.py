"""What to read next: the frontier by host and importance, the leases handed out, the pages that are tried again."""
