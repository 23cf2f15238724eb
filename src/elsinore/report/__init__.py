"""Pictures of what was shared: bursts over time, and the benefit that was expected of sharing."""

from elsinore.report.bursts import Bursts, Panel, panels
from elsinore.report.picture import draw
from elsinore.report.records import records_table

__all__ = ["Bursts", "Panel", "draw", "panels", "records_table"]
