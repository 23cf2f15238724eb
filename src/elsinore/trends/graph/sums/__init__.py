"""Sums over trends: extended-range numbers and extremes, side by side in one table."""
