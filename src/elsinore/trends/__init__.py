"""Trends: aggregates over all matches of Kleene patterns, without building any (HAMLET)."""
