"""Watching a live stream: metrics for Prometheus and a local web page.

A `StreamMonitor` receives the progress of each micro-batch and the latest results; `serve_metrics`
and `serve_page` publish them. They need the extra `elsinore[monitor]`, and raise SetupError
where it is not installed.
"""

from typing import TYPE_CHECKING, Any

from elsinore.monitor.address import Listening, listening_at
from elsinore.monitor.monitor import StreamMonitor, WatchedSink

if TYPE_CHECKING:
    from elsinore.monitor.metrics import serve_metrics
    from elsinore.monitor.server import serve_page

__all__ = [
    "Listening",
    "StreamMonitor",
    "WatchedSink",
    "listening_at",
    "serve_metrics",
    "serve_page",
]
_MODULES = {"serve_metrics": "metrics", "serve_page": "server"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - an extra

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
