"""Pane actions: what a pane's events do to whatever trends there were before it.

An event changes a key's sums linearly, and so do all events of a pane together. The action of a
pane is that linear map. Panes may be processed separately, in any order; their actions are then
applied in the panes' order.
"""

from elsinore.trends.actions.fold import TrendPanes

__all__ = ["TrendPanes"]
