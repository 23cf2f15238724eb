"""Predicates between two events, compiled to a few instructions and looked at row by row."""
