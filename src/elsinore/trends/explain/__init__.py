"""Which queries share what, which do not and why, and the words for it."""
