"""The copy as documents: their trees, their versions, and what changed from one to the next."""
