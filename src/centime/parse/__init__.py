"""Stage 3: bytes to a document. Kind, encoding, links, directives and signature; no network, and it never raises."""
