"""Matches of the patterns under NOT."""
