"""Pictures of sharing: bursts over time, their expected benefit, and graphlets."""

from elsinore.report.bursts import Bursts, Panel, panels
from elsinore.report.picture import draw

from elsinore.report.graphlets import draw_graph, graphlets_table, snapshots_table  # isort: skip
from elsinore.report.records import records_table

__all__ = [
    "Bursts",
    "Panel",
    "draw",
    "draw_graph",
    "graphlets_table",
    "panels",
    "records_table",
    "snapshots_table",
]
