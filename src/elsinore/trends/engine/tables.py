"""The tables of a program, the sizes of its state, and the columns of a batch.

A *block* is a set of nodes of the same shape: it has a row of lanes for each sum, in which node i
has the lanes `i * overlap` to `(i + 1) * overlap`, one for each window that can be open at a time.
A *step* is the effect of an event of a class on a range of a block's lanes: for each sum, the lanes
of *sources* to add up, and the event's own addend. A source with a `period` has fewer lanes than
the step and is repeated. A source with a `read` is the sum of rows of events that the step's events
read one by one or by ranges of an attribute's values.

A *section* is the effect of an event of a class on the states of a sharing set: steps, as *spans*
with the cohort of each node. The spans of a sharing set itself contain all its states. If events
are compared, a *reader* is one way to compare them, with a block whose lanes are snapshots; a
*part* is a block of the set's states (`elsinore.trends.engine.sharing.edges`). A *guard* is a
condition of NOT: between two events, some way of `free` has to have no match of its negatives, and
no way of `unless` may. A *watch* is a place of the latest beginning of a negative's matches.
Matches are dated by *moments*: the number of each timestamp in its slot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cython
import numpy as np
from numpy.typing import NDArray

from elsinore.operators.conditions.tables import Columns
from elsinore.structs import struct, table

NUMBER, PRICE = np.dtype("i4"), np.dtype("f8")
SOURCE = struct(i4="cell period read")
SUM = struct(i4="cell addend sources sources_end weight")
EXTREME = struct(i4="cell rank sources sources_end least")
STEP = struct(i4="block lane lanes sums sums_end extremes extremes_end reads reads_end carries")
READ = struct(
    i4="block kind lane lanes part parts_end conditions conditions_end checks checks_end guard"
)
GUARD = struct(i4="free free_end unless unless_end")
WAY = struct(i4="negatives negatives_end")
WATCH = struct(i4="negative extreme lanes")
RESET = struct(i4="block lane lanes")
EVENT_CLASS = struct(i4="steps steps_end resets resets_end sections sections_end breaks breaks_end")
SHARING_SET = struct(
    i4="cohorts cohorts_end addends addends_end form ranks ranks_end leasts spans spans_end "
    "queries can_share is_repeated units units_end most_forms readers readers_end parts "
    "parts_end cells columns snapshots"
)
READER = struct(i4="read block")
PART = struct(i4="block reader")
UNIT = struct(i4="pieces pieces_end")
PIECE = struct(i4="span member")
BREAK = struct(i4="number units units_end is_whole")
COHORT = struct(i4="queries")
SPAN = struct(i4="number step members members_end overlap cell reader")
SECTION = struct(f8="taken", i4="number spans spans_end takers takers_end is_whole")
BLOCK = struct(
    i4="cell width sums extreme extremes flag rows order has_runs is_rising is_next "
    "is_contiguous is_checked is_anchor merges closing watches watches_end"
)
WINDOW_KIND = struct(
    i8="within step origin",
    i4="overlap cell cells_end extreme extremes_end seeds seeds_end ends ends_end blocks "
    "blocks_end opened",
)
QUERY_END = struct(i4="query fields fields_end extremes extremes_end pairs")
FIELD = struct(i4="places places_end")
RANGE = struct(i4="begin end")
TABLES = {
    "classes": EVENT_CLASS,
    "steps": STEP,
    "sums": SUM,
    "sources": SOURCE,
    "extremes": EXTREME,
    "resets": RESET,
    "reads": READ,
    "guards": GUARD,
    "ways": WAY,
    "watches": WATCH,
    "blocks": BLOCK,
    "kinds": WINDOW_KIND,
    "ends": QUERY_END,
    "fields": FIELD,
    "sets": SHARING_SET,
    "cohorts": COHORT,
    "readers": READER,
    "parts": PART,
    **dict.fromkeys(("separate", "values"), PRICE),
    "spans": SPAN,
    "sections": SECTION,
    "takers": RANGE,
    "breaks": BREAK,
    "units": UNIT,
    "pieces": PIECE,
    **dict.fromkeys(("negatives", "places", "seeds", "members", "touched"), NUMBER),
    **dict.fromkeys(("member_units", "shared_addends", "shared_ranks"), NUMBER),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreShape:
    """The sizes of a unit's state: per slot, and per row of totals."""

    cells: int
    extremes: int
    lanes: int  # of all blocks
    blocks: int
    kinds: int
    widest: int  # lanes of the widest block
    fields: int
    total_extremes: int
    closing: int  # most totals of the open windows of a slot
    row_blocks: int  # blocks with rows of events
    row_cells: int  # of the widest of them
    gathered: int  # most lanes of a read
    row_extremes: int
    sets: int  # sharing sets
    cohorts: int
    form_places: int  # in forms: growths and weights of all cohorts
    leasts: int  # of all cohorts
    units: int
    forms: int  # most forms of a sharing set
    snapshots: int  # values of snapshots of compared events, of all sharing sets
    row_values: int  # columns that conditions read of earlier events
    negatives: int
    windows: int  # open at once, of all kinds


@cython.cclass
class Program:
    """A unit's merged template as tables (`elsinore.trends.engine.program` fills them).

    known: the place of each class of events in `classes`, or NO_STEPS or UNKNOWN.
    """

    def __init__(self, rows: dict[str, list[Any]], known: NDArray[np.int32]) -> None:
        for name, kind in TABLES.items():
            setattr(self, name, table(kind, rows[name]))
        self.known = known
        self.row_blocks = sum(block.rows >= 0 for block in self.blocks)
        self.most_parts = len(self.parts)
        self.has_anchors = any(step.carries for step in self.steps)
        self.contiguous_blocks = sum(block.is_contiguous for block in self.blocks)
        counts = [event_class.steps_end - event_class.steps for event_class in self.classes]
        self.most_steps = max(counts, default=0)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


@cython.cclass
class Batch:
    """The columns of a batch of events.

    addends, present: [column, event] values, and whether they are not null; has_great: products
    with some of them may exceed a double. ranks: [event, column]. orders, ordered: [event, column]
    sort keys of rows, and whether there is one. lows, highs: [event, part] the range of sort keys
    of earlier events that the event may follow; empty if low is above high. values: what conditions
    read.
    """

    def __init__(self, columns: dict[str, Any]) -> None:
        self.take(columns)

    def take(self, columns: dict[str, Any]) -> None:
        """Replace columns by those of the next events; other columns are not of events."""
        for name, column in columns.items():
            setattr(self, name, column)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


def no_attributes() -> dict[str, Any]:
    """Return empty columns of attributes, for batches of which no attribute is read."""
    doubles, integers = np.empty((0, 0)), np.empty((0, 0), np.int64)
    truths = np.empty((0, 0), np.uint8)
    return {
        "addends": doubles,
        "present": truths,
        "has_great": False,
        "values": Columns(doubles, integers),
        "ordered": truths,
        **dict.fromkeys(("ranks", "orders", "lows", "highs"), integers),
    }
