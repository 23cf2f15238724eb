"""Metrics of a running stream for Prometheus, served at /metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from elsinore.errors import SetupError
from elsinore.monitor.address import Listening, cannot_listen
from elsinore.monitor.monitor import StreamMonitor

try:
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        Metric,
        SummaryMetricFamily,
    )
    from prometheus_client.registry import Collector
except ImportError as missing:
    raise SetupError(
        "Metrics need the package prometheus-client. Install it with: "
        "pip install 'elsinore[monitor]'"
    ) from missing


@contextmanager
def serve_metrics(monitor: StreamMonitor, listening: Listening) -> Iterator[str]:
    """Serve the metrics of a stream while the block runs; yield the address.

    Raises InputError for an address that cannot be listened at.
    """
    registry = CollectorRegistry()
    registry.register(StreamCollector(monitor))
    try:
        server, thread = start_http_server(listening.port, listening.host, registry)
    except OSError as error:
        raise cannot_listen(listening, error) from None
    try:
        yield f"http://{Listening(listening.host, server.server_port)}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class StreamCollector(Collector):
    """The metrics of a stream, computed from its monitor whenever Prometheus requests them."""

    def __init__(self, monitor: StreamMonitor) -> None:
        self._monitor = monitor

    def collect(self) -> Iterable[Metric]:
        """Yield all metrics; gauges only if their value is known."""
        yield from self._counters()
        yield from self._gauges()

    def _counters(self) -> Iterator[Metric]:
        log = self._monitor.totals()
        for name, text, value in (
            ("events", "Events that were read, rejected and late ones included.", log.events),
            ("late_events", "Events before the watermark.", log.late),
            ("rejected_events", "Records that could not be used.", log.rejected),
        ):
            yield CounterMetricFamily(f"elsinore_{name}", text, value)
        rows = dict.fromkeys(self._monitor.queries, 0) | log.rows
        yield _with_labels(
            CounterMetricFamily("elsinore_rows", "Rows of results.", labels=["query"]), rows
        )
        labels = ["pattern", "queries"]
        shareable = CounterMetricFamily(
            "elsinore_bursts", "Bursts that queries could share.", labels=labels
        )
        shared = CounterMetricFamily(
            "elsinore_shared_bursts", "Bursts that queries shared.", labels=labels
        )
        for counts in log.sharing:
            place = [counts.pattern, ", ".join(counts.queries)]
            shareable.add_metric(place, counts.bursts)
            shared.add_metric(place, counts.shared)
        yield shareable
        yield shared
        yield SummaryMetricFamily(
            "elsinore_micro_batch_seconds",
            "Seconds that micro-batches took.",
            count_value=log.batches,
            sum_value=log.seconds,
        )

    def _gauges(self) -> Iterator[Metric]:
        last = self._monitor.last()
        if last is None:
            return
        gauges: dict[str, tuple[str, float | None]] = {
            "lag_events": ("Events of the source that are unread.", last.lag),
            "watermark_delay_seconds": (
                "Seconds by which the watermark is behind the machine's clock.",
                self._monitor.watermark_delay(),
            ),
            "keys": ("Keys with state.", last.keys),
            "waiting_events": ("Events that the watermark has not passed.", last.waiting),
            "state_bytes": ("Size of the saved state.", last.state_bytes),
            "last_micro_batch_timestamp_seconds": (
                "When the last micro-batch ended, since the epoch.",
                last.finished,
            ),
        }
        for name, (text, value) in gauges.items():
            if value is not None:
                yield GaugeMetricFamily(f"elsinore_{name}", text, value)
        windows = {name: number for name, number in last.open_windows.items() if number is not None}
        yield _with_labels(
            GaugeMetricFamily("elsinore_open_windows", "Windows that are open.", labels=["query"]),
            windows,
        )


def _with_labels(
    family: CounterMetricFamily | GaugeMetricFamily, values: Mapping[str, float]
) -> Metric:
    for name, value in values.items():
        family.add_metric([name], value)
    return family
