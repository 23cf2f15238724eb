"""What every in-process run needs around an engine: events in, times, rejects, results out."""

from elsinore.runtime.files import read_events
from elsinore.runtime.inputs import as_table
from elsinore.runtime.outputs import OutputFormat, write_table
from elsinore.runtime.rejects import set_aside, unusable_reasons
from elsinore.runtime.times import TimeKind, TimeUnit, from_microseconds, to_microseconds

__all__ = [
    "OutputFormat",
    "TimeKind",
    "TimeUnit",
    "as_table",
    "from_microseconds",
    "read_events",
    "set_aside",
    "to_microseconds",
    "unusable_reasons",
    "write_table",
]
