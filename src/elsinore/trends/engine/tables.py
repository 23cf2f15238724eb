"""The tables that a program consists of, the columns of a batch, and their NumPy types.

A *block* is a set of nodes of one shape: a row of lanes for each sum, where node i has the lanes
`i * overlap` to `(i + 1) * overlap`, one for each window that can be open at a time. A *step* is
what an event of a class does to a range of a block's lanes: for each sum, the lanes of *sources*
that it adds up, and the event's own addend. A source with a `period` has fewer lanes than the step
and is repeated. A source with a `read` is one that the step's events read row by row: of a range of
rows, ordered by a value, it has the sum.

A *section* is what an event of a class does to the states of a sharing set: steps, as *spans* that
tell the cohort of each node. The spans of a sharing set itself have all its states.
Where its events are compared, a *reader* is a way to compare them, with a block whose lanes are
snapshots; a *part* is a block of the set's states (`elsinore.trends.engine.sharing.edges`).
A *guard* is what NOT asks: some way of `free` has to be free of matches of its negatives that lie
between two events, and none of `unless`. A *watch* is where the latest beginning of a match of a
negative is found. Matches are known by *moments*: the number of each timestamp in its slot.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

IS_COMPILED: bool = cython.compiled
FOREVER = 2**63 - 1  # after all times; also the least of no ranks
NEVER = -(2**63)  # before all times

NO_ADDEND, ONE, VALUE = 0, 1, 2  # addends of a sum; VALUE + 2a: column a, + 1: its presence
NO_RANK, BEGINNING = -1, -2  # ranks of an extreme that are no columns
NO_BLOCK, NO_GUARD = -1, -1  # a read of what begins; a read that no NOT decides
LEAF_ROWS = 16  # rows of events in the smallest piece of memory
UNKNOWN, NO_STEPS = -2, -1  # entries of `Program.known` that are no class

SOURCE = np.dtype([("cell", "i4"), ("period", "i4"), ("read", "i4")])
SUM = np.dtype(
    [
        ("cell", "i4"),
        ("addend", "i4"),
        ("sources", "i4"),
        ("sources_end", "i4"),
        ("weight", "i4"),
    ]
)
EXTREME = np.dtype(
    [
        ("cell", "i4"),
        ("rank", "i4"),
        ("sources", "i4"),
        ("sources_end", "i4"),
        ("least", "i4"),
    ]
)
STEP = np.dtype(
    [
        ("block", "i4"),
        ("lane", "i4"),
        ("lanes", "i4"),
        ("sums", "i4"),
        ("sums_end", "i4"),
        ("extremes", "i4"),
        ("extremes_end", "i4"),
        ("reads", "i4"),
        ("reads_end", "i4"),
        ("carries", "i4"),
    ]
)
READ = np.dtype(
    [
        ("block", "i4"),
        ("kind", "i4"),
        ("lane", "i4"),
        ("lanes", "i4"),
        ("part", "i4"),
        ("parts_end", "i4"),
        ("conditions", "i4"),
        ("conditions_end", "i4"),
        ("checks", "i4"),
        ("checks_end", "i4"),
        ("guard", "i4"),
    ]
)
GUARD = np.dtype([("free", "i4"), ("free_end", "i4"), ("unless", "i4"), ("unless_end", "i4")])
WAY = np.dtype([("negatives", "i4"), ("negatives_end", "i4")])
WATCH = np.dtype([("negative", "i4"), ("extreme", "i4"), ("lanes", "i4")])
RESET = np.dtype([("block", "i4"), ("lane", "i4"), ("lanes", "i4")])
EVENT_CLASS = np.dtype(
    [
        ("steps", "i4"),
        ("steps_end", "i4"),
        ("resets", "i4"),
        ("resets_end", "i4"),
        ("sections", "i4"),
        ("sections_end", "i4"),
        ("breaks", "i4"),
        ("breaks_end", "i4"),
    ]
)
SHARING_SET = np.dtype(
    [
        ("cohorts", "i4"),
        ("cohorts_end", "i4"),
        ("addends", "i4"),
        ("addends_end", "i4"),
        ("weights", "i4"),
        ("ranks", "i4"),
        ("ranks_end", "i4"),
        ("leasts", "i4"),
        ("spans", "i4"),
        ("spans_end", "i4"),
        ("queries", "i4"),
        ("can_share", "i4"),
        ("is_repeated", "i4"),
        ("units", "i4"),
        ("units_end", "i4"),
        ("most_forms", "i4"),
        ("readers", "i4"),
        ("readers_end", "i4"),
        ("parts", "i4"),
        ("parts_end", "i4"),
        ("cells", "i4"),
        ("columns", "i4"),
        ("snapshots", "i4"),
    ]
)
READER = np.dtype([("read", "i4"), ("block", "i4")])
PART = np.dtype([("block", "i4"), ("reader", "i4")])
UNIT = np.dtype([("pieces", "i4"), ("pieces_end", "i4")])
PIECE = np.dtype([("span", "i4"), ("member", "i4")])
BREAK = np.dtype([("number", "i4"), ("units", "i4"), ("units_end", "i4"), ("is_whole", "i4")])
COHORT = np.dtype([("queries", "i4")])
PRICE = np.dtype("f8")
SPAN = np.dtype(
    [
        ("number", "i4"),
        ("step", "i4"),
        ("members", "i4"),
        ("members_end", "i4"),
        ("overlap", "i4"),
        ("cell", "i4"),
        ("reader", "i4"),
    ]
)
SECTION = np.dtype(
    [
        ("taken", "f8"),
        ("number", "i4"),
        ("spans", "i4"),
        ("spans_end", "i4"),
        ("takers", "i4"),
        ("takers_end", "i4"),
        ("is_whole", "i4"),
    ],
    align=True,
)
BLOCK = np.dtype(
    [
        ("cell", "i4"),
        ("width", "i4"),
        ("sums", "i4"),
        ("extreme", "i4"),
        ("extremes", "i4"),
        ("flag", "i4"),
        ("rows", "i4"),
        ("order", "i4"),
        ("has_runs", "i4"),
        ("is_rising", "i4"),
        ("is_next", "i4"),
        ("is_contiguous", "i4"),
        ("is_checked", "i4"),
        ("is_anchor", "i4"),
        ("merges", "i4"),
        ("closing", "i4"),
        ("watches", "i4"),
        ("watches_end", "i4"),
    ]
)
WINDOW_KIND = np.dtype(
    [
        ("within", "i8"),
        ("step", "i8"),
        ("origin", "i8"),
        ("overlap", "i4"),
        ("cell", "i4"),
        ("cells_end", "i4"),
        ("extreme", "i4"),
        ("extremes_end", "i4"),
        ("seeds", "i4"),
        ("seeds_end", "i4"),
        ("ends", "i4"),
        ("ends_end", "i4"),
        ("blocks", "i4"),
        ("blocks_end", "i4"),
        ("opened", "i4"),
    ],
    align=True,
)
QUERY_END = np.dtype(
    [
        ("query", "i4"),
        ("fields", "i4"),
        ("fields_end", "i4"),
        ("extremes", "i4"),
        ("extremes_end", "i4"),
        ("pairs", "i4"),
    ]
)
FIELD = np.dtype([("places", "i4"), ("places_end", "i4")])
SLOT = np.dtype(
    [
        ("time", "i8"),
        ("edge", "i8"),
        ("key", "i4"),
        ("group", "i4"),
        ("touched", "i4"),
        ("scaled", "i4"),
        ("rows", "i8"),
        ("pending", "i4"),
        ("moment", "i8"),
        ("anchors", "i8"),
    ],
    align=True,
)
RANGE = np.dtype([("begin", "i4"), ("end", "i4")])
LEAF = np.dtype(
    [("begin", "i4"), ("count", "i4"), ("arriving", "i4"), ("level", "i4"), ("top", "i4")]
)
RUN = np.dtype([("newest", "i8"), ("begin", "i4"), ("count", "i4")], align=True)
TOTAL = np.dtype([("window", "i8"), ("query", "i4"), ("group", "i4")], align=True)
GRAPHLET = np.dtype(
    [
        ("left", "i8"),
        ("changed", "i8"),
        ("opened", "i8"),
        ("spread", "f8"),
        ("forms", "i4"),
        ("sharing", "i4"),
        ("alone", "i4"),
        ("pending", "i4"),
        ("snapshots", "i4"),
        ("columns", "i4"),
        ("first", "i4"),
        ("opening", "i4"),
    ],
    align=True,
)
BURST = np.dtype(
    [
        ("time", "i8"),
        ("events", "i8"),
        ("limit", "f8"),
        ("benefit", "f8"),
        ("queries", "i4"),
        ("before", "i4"),
        ("is_observed", "i4"),
    ],
    align=True,
)
COUNTS = np.dtype(
    [
        ("length", "f8"),
        ("observed", "f8"),
        ("taken", "f8"),
        ("ended", "f8"),
        ("put_in", "f8"),
        ("columns", "f8"),
        ("bursts", "i8"),
        ("considered", "i8"),
        ("graphlets", "i8"),
        ("shared", "i8"),
        ("splits", "i8"),
        ("merges", "i8"),
        ("graphlet_snapshots", "i8"),
        ("event_snapshots", "i8"),
        ("most_propagated", "i8"),
    ],
    align=True,
)
RECORD = np.dtype(
    [
        ("time", "i8"),
        ("events", "i8"),
        ("benefit", "f8"),
        ("number", "i4"),
        ("key", "i4"),
        ("queries", "i4"),
    ],
    align=True,
)
CELL = np.dtype("i4")


def table(kind: np.dtype[Any], rows: Any) -> Any:
    """Return rows as an array of structs whose fields are attributes of its elements."""
    array = np.array(rows, dtype=kind)
    return array.view(np.recarray) if kind.names else array


class Program:
    """A unit's merged template as tables (`elsinore.trends.engine.program` fills them)."""

    def __init__(self, tables: dict[str, Any]) -> None:
        self.classes = tables["classes"]
        self.steps = tables["steps"]
        self.sums = tables["sums"]
        self.sources = tables["sources"]
        self.extremes = tables["extremes"]
        self.resets = tables["resets"]
        self.reads = tables["reads"]
        self.blocks = tables["blocks"]
        self.kinds = tables["kinds"]
        self.ends = tables["ends"]
        self.fields = tables["fields"]
        self.places = tables["places"]
        self.seeds = tables["seeds"]
        self.guards = tables["guards"]
        self.ways = tables["ways"]
        self.negatives = tables["negatives"]
        self.watches = tables["watches"]
        self.known = tables["known"]
        self.sets = tables["sets"]
        self.cohorts = tables["cohorts"]
        self.spans = tables["spans"]
        self.sections = tables["sections"]
        self.members = tables["members"]
        self.takers = tables["takers"]
        self.breaks = tables["breaks"]
        self.readers = tables["readers"]
        self.parts = tables["parts"]
        self.separate = tables["separate"]
        self.values = tables["values"]
        self.shared_addends = tables["shared_addends"]
        self.shared_ranks = tables["shared_ranks"]
        self.units = tables["units"]
        self.pieces = tables["pieces"]
        self.touched = tables["touched"]
        self.member_units = tables["member_units"]
        self.row_blocks = sum(block.rows >= 0 for block in self.blocks)
        self.most_parts = len(self.parts)
        self.has_anchors = any(step.carries for step in self.steps)
        self.contiguous_blocks = sum(block.is_contiguous for block in self.blocks)
        counts = [event_class.steps_end - event_class.steps for event_class in self.classes]
        self.most_steps = max(counts, default=0)


class Batch:
    """The columns of a batch of events.

    addends: [column, event], and whether there is one in `present`; `has_great`: products with some
    of them may exceed a double. ranks, orders: [event, column]; ordered: whether there is a value
    in `orders`. lows and highs: [event, part] the least and the greatest value in `orders` of
    earlier events that the event may follow; a low above its high stands for none. values: what
    conditions read.
    """

    def __init__(self, columns: dict[str, Any]) -> None:
        self.slots = columns["slots"]
        self.keys = columns["keys"]
        self.groups = columns["groups"]
        self.times = columns["times"]
        self.codes = columns["codes"]
        self.addends = columns["addends"]
        self.present = columns["present"]
        self.has_great = columns["has_great"]
        self.ranks = columns["ranks"]
        self.orders = columns["orders"]
        self.ordered = columns["ordered"]
        self.lows = columns["lows"]
        self.highs = columns["highs"]
        self.values = columns["values"]
