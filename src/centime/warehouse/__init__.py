"""The copy as documents: their trees, their versions, and the changes between them."""
