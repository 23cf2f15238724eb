"""Sums per event and state, where each trend has one run."""
