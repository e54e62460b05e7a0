"""Stored documents: what XML documents are made of, and queries over all of them."""
