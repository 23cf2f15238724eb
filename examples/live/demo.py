"""A demonstration of live streams: `make demo-live`.

It starts a Kafka broker, sends it the events of a ride service at a given rate, and runs queries
over them with a page that shows what they return. Ctrl-C stops everything.

    python examples/live/demo.py --rate 2000 --seconds 60 --page 8080
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka_broker import running_broker

from elsinore.datasets import ridesharing

TRIPS = Path(__file__).parents[1] / "trips.cep"
TOPIC = "trips"
PARTITIONS = 2
KEPT_BYTES = 256_000_000  # of each partition: the demonstration may run for days
SCHEMA = (
    "time TIMESTAMP, type STRING, district STRING, driver BIGINT, rider BIGINT, speed DOUBLE, "
    "duration DOUBLE, price DOUBLE, request_type STRING"
)
BLOCK = 50_000  # events that are generated at a time
DRIVERS = 1000  # make some 2,300 events in a minute of event time
BEHIND = timedelta(days=1)  # event time begins so long ago, and passes faster than the clock
LATENESS = 20.0  # seconds of event time by which events are out of order
LATE_SHARE, LATE_SECONDS = 1 / 2000, 120.0
BROKEN_SHARE = 1 / 10_000
TICK = 0.1  # seconds between bunches of messages
PATIENCE = 60  # seconds for the stream to stop


def messages() -> Iterator[tuple[str, str]]:
    """Yield messages without end: a driver and an event in JSON.

    As in real streams, some events are late, and some messages are cut off.
    """
    random = np.random.default_rng(1)
    begin = datetime.now(UTC) - BEHIND
    for seed in range(sys.maxsize):
        events = ridesharing(BLOCK, seed=seed, drivers=DRIVERS)
        times = events["time"].cast(pa.int64()).to_numpy()
        times = times - times[0] + int(begin.timestamp() * 1_000_000)
        delays = random.uniform(0, LATENESS, BLOCK)
        delays[random.random(BLOCK) < LATE_SHARE] += LATE_SECONDS
        is_broken = random.random(BLOCK) < BROKEN_SHARE
        rows = events.set_column(0, "time", pa.array(times, pa.timestamp("us", "UTC"))).to_pylist()
        for row in np.argsort(times + delays * 1_000_000, kind="stable").tolist():
            event = rows[row] | {"time": rows[row]["time"].isoformat()}
            text = json.dumps(event)
            yield str(event["driver"]), text[:20] if is_broken[row] else text
        begin = datetime.fromtimestamp(times[-1] / 1_000_000, UTC)


def feed(server: str, rate: float, stopping: threading.Event) -> None:
    """Send so many messages a second until told to stop."""
    producer = Producer({"bootstrap.servers": server, "linger.ms": 20})
    source = messages()
    begun, sent = time.monotonic(), 0
    while not stopping.wait(TICK):
        due = int((time.monotonic() - begun) * rate)
        while sent < due and not stopping.is_set():
            key, text = next(source)
            producer.produce(TOPIC, text, key)
            sent += 1
            producer.poll(0)
    producer.flush(5)


def make_topic(server: str) -> None:
    """Make the topic, which forgets old messages."""
    config = {"retention.bytes": str(KEPT_BYTES), "segment.bytes": str(KEPT_BYTES // 4)}
    topic = NewTopic(TOPIC, PARTITIONS, 1, config=config)
    admin = AdminClient({"bootstrap.servers": server})
    admin.create_topics([topic])[TOPIC].result(30)


def command(server: str, folder: Path, options: argparse.Namespace) -> list[str]:
    """Return the command that a user would call, with all places in a folder."""
    return [
        *(sys.executable, "-m", "elsinore", "stream", str(options.workload)),
        *("--source", f"kafka:{TOPIC}@{server}", "--schema", SCHEMA),
        *("--engine", "local", "--sharing", options.sharing),
        *("--lateness", f"{LATENESS:.0f} seconds", "--rejects", str(folder / "rejected")),
        *("--out", str(folder / "results"), "--checkpoint", str(folder / "checkpoint")),
        *("--page", options.page),
    ]


def run(folder: Path, options: argparse.Namespace) -> int:
    """Run the demonstration in a folder until it is stopped; return an exit status."""
    print("Starting a Kafka broker (the first time its 44 MB are downloaded)", flush=True)
    (folder / "broker").mkdir()
    with running_broker(folder / "broker") as ports:
        server = f"127.0.0.1:{ports['port']}"
        make_topic(server)
        stopping = threading.Event()
        feeder = threading.Thread(target=feed, args=(server, options.rate, stopping))
        feeder.start()
        stream = subprocess.Popen(command(server, folder, options))
        print(
            f"Sending {options.rate:,.0f} events a second to {server}; results are in "
            f"{folder / 'results'} until Ctrl-C stops everything",
            flush=True,
        )
        try:
            return stream.wait(options.seconds)
        except (KeyboardInterrupt, subprocess.TimeoutExpired):
            return 0
        finally:
            stopping.set()
            stop(stream)
            feeder.join()


def stop(stream: subprocess.Popen[bytes]) -> None:
    """Stop the stream, which Ctrl-C may have reached already."""
    if stream.poll() is None:
        try:
            stream.wait(1)
        except subprocess.TimeoutExpired:
            stream.send_signal(signal.SIGTERM)
    try:
        stream.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        stream.kill()
        stream.wait()


def main() -> int:
    """Read the arguments and run the demonstration."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=2000, help="events per second")
    parser.add_argument("--seconds", type=float, help="stop after so many seconds")
    parser.add_argument("--page", default="8080", help="[HOST:]PORT of the page")
    parser.add_argument("--workload", type=Path, default=TRIPS, help="a file of queries")
    parser.add_argument("--sharing", default="dynamic", help="dynamic, always or never")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does
    with tempfile.TemporaryDirectory(prefix="elsinore-live-") as folder:
        try:
            return run(Path(folder), options)
        except KeyboardInterrupt:
            return 0


if __name__ == "__main__":
    sys.exit(main())
