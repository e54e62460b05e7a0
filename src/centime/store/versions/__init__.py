"""Documents as chains of their versions, in one SQLite file (`--keep versions`)."""
