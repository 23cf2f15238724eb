"""Live streams: state, watermark and results, shared by the drivers in process and on Spark.

`plan_live` plans a `LiveSetup` on the driver, which is pickled to the workers. There, an
`EventReader` reads batches of events, a `Bucket` for each pass and share of the keys has the state,
and `PassResults` computes rows from the buckets' partial outputs. `Watermark` tracks event time.
"""

from elsinore.runtime.live.bucket import Bucket
from elsinore.runtime.live.changes import Change, Span, changes_between
from elsinore.runtime.live.durations import Length, seconds_of, ticks_of
from elsinore.runtime.live.events import Admission, EventReader, UsableEvents
from elsinore.runtime.live.generations import (
    PlannedGeneration,
    first_generation,
    handed_over,
    planned_again,
)
from elsinore.runtime.live.options import LENGTHS, LiveOptions, options_of, schema_from
from elsinore.runtime.live.planner import Planner
from elsinore.runtime.live.planning import setup_for
from elsinore.runtime.live.progress import (
    ProgressLog,
    StreamProgress,
    bursts_since,
    summed_bursts,
)
from elsinore.runtime.live.results import PassResults
from elsinore.runtime.live.setup import LiveSetup, PassSetup, layout_of, plan_live
from elsinore.runtime.live.shares import split_by_key
from elsinore.runtime.live.watermark import Watermark

__all__ = [
    "LENGTHS",
    "Admission",
    "Bucket",
    "Change",
    "EventReader",
    "Length",
    "LiveOptions",
    "LiveSetup",
    "PassResults",
    "PassSetup",
    "PlannedGeneration",
    "Planner",
    "ProgressLog",
    "Span",
    "StreamProgress",
    "UsableEvents",
    "Watermark",
    "bursts_since",
    "changes_between",
    "first_generation",
    "handed_over",
    "layout_of",
    "options_of",
    "plan_live",
    "planned_again",
    "schema_from",
    "seconds_of",
    "setup_for",
    "split_by_key",
    "summed_bursts",
    "ticks_of",
]
