"""Graphlets and snapshots of a recorded run, as the HAMLET paper draws them (Section 3.3)."""
