"""Pane actions: what a pane's events do to whatever trends there were before it.

An event changes a key's sums linearly, and so do all events of a pane together. The action of a
pane is that linear map; panes may be worked on apart, in any order, and are then folded in theirs.
"""

from elsinore.trends.actions.panes import TrendPanes

__all__ = ["TrendPanes"]
