"""Trends in numbers of any size: for EXACT, and for what the engine does not run."""
