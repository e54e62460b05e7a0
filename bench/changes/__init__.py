"""Planted changes and noise on real and hand-made pages: which of them each method reports."""
