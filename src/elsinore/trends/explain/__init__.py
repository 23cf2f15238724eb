"""Which queries share what, which do not and why, and how that is told."""
