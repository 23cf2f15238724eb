"""The engine's core: steps on lanes, windows, moments and totals."""
