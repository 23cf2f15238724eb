"""The options of a live run, as users write them and as they are saved."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pyarrow as pa

from elsinore.arrow import no_table
from elsinore.errors import InputError, did_you_mean, option
from elsinore.runtime.inputs import as_table
from elsinore.runtime.live.lengths import Length, seconds_of
from elsinore.runtime.request import RunRequest

# Those of `RunRequest` that say how events are read and queries are planned.
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
LENGTHS = ("lateness", "idle_timeout", "ahead")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOptions:
    """How events are read, and how time is followed.

    request: how events are read, as for `Workload.run`. lateness: by how much events may be out of
    order. idle_timeout: a source or partition without events for longer does not hold the watermark
    back. ahead: events whose time is further ahead of the machine's clock are rejected. marks: rows
    have the columns `watermark` and `early`. buckets: into how many the keys are split.
    """

    request: RunRequest = field(default_factory=RunRequest)
    lateness: Length = 0
    idle_timeout: Length | None = None
    ahead: Length | None = None
    marks: bool = False
    buckets: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.buckets, bool) or not isinstance(self.buckets, int) or self.buckets < 1:
            raise InputError(f"{option('buckets')} is {self.buckets!r}, not a number above 0.")
        for name in LENGTHS:
            length = getattr(self, name)
            if length is not None:
                seconds_of(length, name)

    def saved(self) -> dict[str, Any]:
        """Return the options as JSON values."""
        request = {name: getattr(self.request, name) for name in READING}
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        del own["request"]
        return request | own | {name: _plain(own[name]) for name in LENGTHS}

    @classmethod
    def from_saved(cls, saved: Mapping[str, Any]) -> LiveOptions:
        """Return the options that `saved` returned."""
        return options_of(**{name: saved[name] for name in (*READING, *_own_names())})

    def changed(self, changes: Mapping[str, Any]) -> LiveOptions:
        """Return the options with some changed: those that do not say how events are read.

        Raises InputError for others, and TypeError for names that are none.
        """
        fixed = [name for name in changes if name in READING and name != "rejects"]
        if fixed:
            raise InputError(
                f"{option(fixed[0])} is part of the saved state and cannot be changed: it says how "
                "the events that are in it were read. Start anew to change it."
            )
        return options_of(**{**self.saved(), **changes})


def options_of(**options: Any) -> LiveOptions:
    """Return the options of a live run, by the names that users give them."""
    own = {name: options.pop(name) for name in _own_names() if name in options}
    unknown = [name for name in options if name not in READING]
    if unknown:
        names = (*_own_names(), *READING)
        raise TypeError(
            f"Live runs have no option '{unknown[0]}'.{did_you_mean(unknown[0], names)}"
        )
    return LiveOptions(request=RunRequest(**options), **own)


def schema_from(given: Any) -> pa.Schema:
    """Return the schema of events, from a schema, a dict of names and types, or events.

    >>> schema_from({"time": pa.int64(), "type": pa.string()}).names
    ['time', 'type']
    """
    if isinstance(given, Mapping) and all(isinstance(kind, pa.DataType) for kind in given.values()):
        given = pa.schema(dict(given))
    table = no_table(given) if isinstance(given, pa.Schema) else as_table(given)
    return as_table(table).schema.remove_metadata()


def _own_names() -> list[str]:
    return [f.name for f in dataclasses.fields(LiveOptions) if f.name != "request"]


def _plain(length: Length | None) -> str | int | float | None:
    if isinstance(length, timedelta):
        return f"{length // timedelta(microseconds=1)} microseconds"
    return length
