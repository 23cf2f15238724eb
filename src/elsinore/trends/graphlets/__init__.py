"""Graphlets and snapshots of a recorded run, as the HAMLET paper draws them (Section 3.3).

The engine keeps them as lanes of a key's slot (`elsinore.trends.engine.sharing`), in doubles. Here
a short recorded stream is processed again, event by event and in whole numbers, following the
engine's own decisions on which bursts are shared.
"""

from elsinore.trends.graphlets.graph import EventCount, Form, Graphlet, HamletGraph, Snapshot
from elsinore.trends.graphlets.recording import MOST_EVENTS, Recorder, Recording

__all__ = [
    "MOST_EVENTS",
    "EventCount",
    "Form",
    "Graphlet",
    "HamletGraph",
    "Recorder",
    "Recording",
    "Snapshot",
]
