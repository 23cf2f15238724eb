"""The options of a live run, and their saved form."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pyarrow as pa

from elsinore.arrow import no_table
from elsinore.errors import InputError, StateError, did_you_mean, option
from elsinore.model.clock import ROWS
from elsinore.runtime.inputs import as_table
from elsinore.runtime.live.durations import Length, seconds_of
from elsinore.runtime.request import RunRequest

# Options of `RunRequest` for reading events and planning queries.
READING = (
    "time",
    "type",
    "time_unit",
    "time_interval",
    "time_granularity",
    "time_step",
    "time_distribution",
    "time_sets",
    "order_by",
    "rejects",
    "sharing",
    "granularity",
)
# Those of them by which the events in a state were read.
FIXED = READING[: READING.index("rejects")]
LENGTHS = ("lateness", "idle_timeout", "ahead")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOptions:
    """Options for reading events and for the watermark.

    `request` has the options of `Workload.run` for reading events. `lateness` is the maximum
    disorder of events. Partitions without events for longer than `idle_timeout` do not hold back
    the watermark. Events further `ahead` of the machine's clock are rejected. With `marks`, rows
    have the columns `watermark` and `early`. `buckets` is the number of parts of the keys.
    """

    request: RunRequest = field(default_factory=RunRequest)
    lateness: Length = 0
    idle_timeout: Length | None = None
    ahead: Length | None = None
    marks: bool = False
    buckets: int = 1

    def __post_init__(self) -> None:
        if self.request.time == ROWS:
            raise InputError(
                f"{option('time', ROWS)} orders events by their rows, and the rows of a live "
                "stream have no order: partitions are read side by side, and events may be late. "
                f"Name a column of times with {option('time')}."
            )
        if isinstance(self.buckets, bool) or not isinstance(self.buckets, int) or self.buckets < 1:
            raise InputError(f"{option('buckets')} is {self.buckets!r}, not a number above 0.")
        for name in LENGTHS:
            length = getattr(self, name)
            if length is not None:
                seconds_of(length, name)

    def saved(self) -> dict[str, Any]:
        """Return the options as JSON values."""
        request = {name: getattr(self.request, name) for name in READING}
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        del values["request"]
        return request | values | {name: _plain(values[name]) for name in LENGTHS}

    @classmethod
    def from_saved(cls, saved: Mapping[str, Any]) -> LiveOptions:
        """Return the options that `saved` returned."""
        return options_of(**{name: saved[name] for name in (*READING, *_live_names())})

    def reading(self) -> dict[str, Any]:
        """Return the options by which events are read, as JSON values."""
        saved = self.saved()
        values: dict[str, Any] = json.loads(
            json.dumps({name: saved[name] for name in FIXED}, default=str)
        )
        return values

    def refuse_other_reading(self, before: Mapping[str, Any]) -> None:
        """Raise StateError if the events of a checkpoint were read by other options, `before`."""
        for name, value in self.reading().items():
            if before.get(name) != value:
                raise StateError(
                    f"The checkpoint was made with {name}={before.get(name)!r}, and this run has "
                    f"{name}={value!r}, by which the events in the state were read. Use the "
                    "same, or a new checkpoint."
                )

    def changed(self, changes: Mapping[str, Any]) -> LiveOptions:
        """Return the options with some changed.

        Raises InputError for options that affect how events are read, and TypeError for unknown
        names.
        """
        fixed_names = [name for name in changes if name in READING and name != "rejects"]
        if fixed_names:
            raise InputError(
                f"{option(fixed_names[0])} is part of the saved state and cannot be changed: it "
                "determined how the saved events were read. Start anew to change it."
            )
        return options_of(**{**self.saved(), **changes})


def options_of(**options: Any) -> LiveOptions:
    """Return the options of a live run from users' keyword arguments."""
    live_options = {name: options.pop(name) for name in _live_names() if name in options}
    unknown = [name for name in options if name not in READING]
    if unknown:
        names = (*_live_names(), *READING)
        raise TypeError(
            f"Live runs have no option '{unknown[0]}'.{did_you_mean(unknown[0], names)}"
        )
    return LiveOptions(request=RunRequest(**options), **live_options)


def schema_from(events: Any) -> pa.Schema:
    """Return the schema of events, from a schema, a dict of names and types, or events.

    >>> schema_from({"time": pa.int64(), "type": pa.string()}).names
    ['time', 'type']
    """
    if isinstance(events, Mapping) and all(
        isinstance(kind, pa.DataType) for kind in events.values()
    ):
        events = pa.schema(dict(events))
    table = no_table(events) if isinstance(events, pa.Schema) else as_table(events)
    return as_table(table).schema.remove_metadata()


def _live_names() -> list[str]:
    return [f.name for f in dataclasses.fields(LiveOptions) if f.name != "request"]


def _plain(length: Length | None) -> str | int | float | None:
    if isinstance(length, timedelta):
        return f"{length // timedelta(microseconds=1)} microseconds"
    return length
