"""The memory of a trend operator: what is known of each key, of groups, and of closed windows."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import Field, Store
from elsinore.kernels import Layout as StoreLayout
from elsinore.model.window import overlap_of
from elsinore.plan import TrendUnit, partition_of
from elsinore.trends.core.arrays import BEFORE_ALL, FOREVER, NEVER
from elsinore.trends.core.step import NO_VALUE
from elsinore.trends.nodes.layout import Layout
from elsinore.trends.nodes.updates import Updates
from elsinore.trends.sharing.clock import DEPTH
from elsinore.trends.sharing.holders import GroupCost, SharedGroups

VERSION = 17
FIRST_ROWS = 64  # rows of totals to begin with; a power of two
FIRST_RUNS = 16  # runs of simultaneous events to begin with
RECORDS = 2**16  # bursts recorded at most

_SLOT = ("slot",)
DECIDED = (
    "bursts",
    "shared_bursts",
    "splits",
    "merges",
    "snapshots",
    "event_snapshots",
    "parted_bursts",
    "most_parts",
    "unweighed",
    "decisions",
)

WINDOW = ("within", "step", "origin")
COSTS = ("boundary", "cut", "turn")  # of `SumPrices`, whatever the group

FIELDS = (
    # of a run: what it takes, as `trends.run` tells
    Field("begin", np.int64),
    Field("end", np.int64),
    Field("one_slot", np.int64),
    Field("ordered", np.int64),
    Field("dynamic", np.int64),
    Field("gained", np.int64),  # cells at the end of a key's that are gains, see `core.gains`
    Field("ungained", np.int64),  # its cells before the first that has a gain
    # of a key, its sums in each lane; the rest of what they were before the present moment
    Field("cells", np.float64, ("slot", "cell")),
    Field("powers", np.float64, ("slot", "cell")),
    Field("extremes", np.int64, ("slot", "extreme"), int(NO_VALUE)),
    Field("cells_before", np.float64, ("cell",)),
    Field("powers_before", np.float64, ("cell",)),
    Field("extremes_before", np.int64, ("extreme",), int(NO_VALUE)),
    Field("stamp", np.int64, ("block",)),  # the moment that changed a block last
    Field("moment", np.int64),
    # work rows of a step
    Field("trends", np.float64, ("lane",)),
    Field("trends_power", np.float64, ("lane",)),
    Field("sums", np.float64, ("lane",)),
    Field("sums_power", np.float64, ("lane",)),
    # of a key
    Field("key", np.int64, _SLOT, -1),
    Field("group_code", np.int64, _SLOT),
    Field("time", np.int64, _SLOT, int(NEVER)),  # of its latest event
    Field("edge", np.int64, _SLOT, int(NEVER)),  # when the next window opens or closes
    Field("big", np.int64, _SLOT),  # whether some of its numbers have powers
    Field("first", np.int64, ("slot", "kind")),  # its open windows
    Field("last", np.int64, ("slot", "kind"), int(BEFORE_ALL)),
    # of a key, its present moment: the first run, and the latest of the others
    Field("waiting", np.int64, _SLOT),  # events of the first run; below 0: gains have them
    Field("waiting_class", np.int64, _SLOT),
    Field("since", np.int64, _SLOT),  # the time of the first of them
    Field("series", np.int64, _SLOT),  # moments of one event of that class before it
    Field("mixed", np.int64, _SLOT),  # moments of one event of its family before these
    Field("counts", np.int64, ("slot", "noted")),  # what they are, see `core.mixtures`
    Field("waiting_addends", np.float64, ("slot", "addend")),
    Field("waiting_ranks", np.int64, ("slot", "rank")),
    Field("chain", np.int64, _SLOT, -1),
    Field("run_next", np.int64, ("run",)),
    Field("run_class", np.int64, ("run",)),
    Field("run_events", np.int64, ("run",)),
    Field("run_addends", np.float64, ("run", "addend")),
    Field("run_ranks", np.int64, ("run", "rank")),
    # the entries of a moment that is being worked on, and which one is a class's
    Field("entry_of", np.int64, ("class_number",), -1),
    Field("entry_class", np.int64, ("class_number",)),
    Field("entry_events", np.int64, ("class_number",)),
    Field("entry_addends", np.int64, ("class_number",)),
    Field("entry_ranks", np.int64, ("class_number",)),
    Field("entry_order", np.int64, ("class_number",)),
    # of a key, the parts of its groups: which each cohort is in, how many there are, of each how
    # many cohorts are in it, and those that take events of the present class
    Field("part", np.int64, ("slot", "cohort")),
    Field("parts", np.int64, ("slot", "group")),
    Field("cohorts_in", np.int64, ("slot", "clock")),
    Field("mover", np.int64, ("slot", "clock")),
    Field("movers", np.int64, ("slot", "group")),
    Field("listed", np.int64, ("clock",)),  # work rows while parts are cut
    Field("half", np.int64, ("clock",)),
    # of a key, the clocks of its groups' parts and the marks of lanes
    Field("doublings", np.float64, ("slot", "clock")),
    Field("odd", np.float64, ("slot", "clock"), 1.0),
    Field("ticks", np.int64, ("slot", "clock")),
    Field("weights", np.float64, ("slot", "weight")),
    Field("errors", np.float64, ("slot", "weight")),
    Field("mark_doublings", np.float64, ("slot", "mark")),
    Field("mark_odd", np.float64, ("slot", "mark"), 1.0),
    Field("mark_ticks", np.int64, ("slot", "mark")),
    Field("mark_weights", np.float64, ("slot", "mark_weight")),
    Field("mark_errors", np.float64, ("slot", "mark_weight")),
    Field("sizes", np.int64, ("slot", "stack")),
    Field("when", np.int64, ("slot", "stack", "depth")),
    Field("stacked", np.int64, ("slot", "stack", "depth")),
    # of a key, its bursts
    Field("shared", np.int64, ("slot", "group")),
    Field("burst", np.int64, ("slot", "group"), -1),  # events of that in progress
    Field("began", np.int64, ("slot", "group")),
    Field("expected", np.float64, ("slot", "group")),  # what sharing it was expected to save
    # what it has cost so far, or would have: how often its events acted on lanes, and nanoseconds
    # for that; moves of clocks, classes in turn, parts cut, lanes read, times that all were joined
    Field("acts", np.int64, ("slot", "group")),
    Field("eager", np.float64, ("slot", "group")),
    Field("moves", np.int64, ("slot", "group")),
    Field("turns", np.int64, ("slot", "group")),
    Field("cuts", np.int64, ("slot", "group")),
    Field("touched", np.int64, ("slot", "group")),
    Field("joins", np.int64, ("slot", "group")),
    Field("last_class", np.int64, _SLOT, -1),
    Field("dull", np.int64, _SLOT),  # bursts in turn that were not worth sharing
    Field("asleep", np.int64, _SLOT),  # events before bursts are looked at again
    Field("naps", np.int64, _SLOT),  # how often that was so since a burst was worth sharing
    # of a group, over all keys
    *(Field(name, np.int64, ("group",)) for name in DECIDED),
    Field("wanted", np.int64, ("group",)),  # whether it is to be shared
    Field("regret", np.float64, ("group",)),
    Field("benefits", np.float64, ("group",)),  # running averages
    *(Field(cost.name, np.float64, ("group",)) for cost in fields(GroupCost)),
    *(Field(name, np.float64) for name in COSTS),
    Field("records", np.int64),
    Field("record_group", np.int64, ("record",)),
    Field("record_time", np.int64, ("record",)),
    Field("record_key", np.int64, ("record",)),
    Field("record_events", np.int64, ("record",)),
    Field("record_shared", np.int64, ("record",)),
    Field("record_benefit", np.float64, ("record",)),
    # of a query, its windows
    Field("within", np.int64, ("query",), int(FOREVER)),
    Field("step", np.int64, ("query",)),
    Field("origin", np.int64, ("query",)),
    # totals of closed windows, a row for each (query, group, window): found by hashing, or where
    # each key is a group of its own a new one always, and no table
    Field("totals", np.int64),
    Field("most_closed", np.int64),  # rows that a key may add at once
    Field("table", np.int64, ("bucket",), -1),
    Field("total_query", np.int64, ("row",)),
    Field("total_group", np.int64, ("row",)),
    Field("total_window", np.int64, ("row",)),
    Field("total_cells", np.float64, ("row", "field")),
    Field("total_powers", np.float64, ("row", "field")),
    Field("total_extremes", np.int64, ("row", "outlier"), int(NO_VALUE)),
    Field("matched", np.int64),
)
STATE = StoreLayout("trends", VERSION, FIELDS, recycled=("run",))


@dataclass(frozen=True, slots=True)
class TotalsShape:
    """What rows of a unit's totals are like; to look at each query takes a while where many are."""

    most_closed: int  # that a key may add at once
    fields: int
    outliers: int
    are_keyed: bool  # whether each key is a group of its own
    windows: NDArray[np.int64]  # [word of `WINDOW`, query]; FOREVER and 0 without a window

    @classmethod
    def of(cls, unit: TrendUnit) -> TotalsShape:
        """Return the shape of a unit's totals."""
        windows = [template.query.window for template in unit.templates]
        bounds = [(w.within, w.step, w.origin) if w else (FOREVER, 0, 0) for w in windows]
        return cls(
            most_closed=sum(map(overlap_of, windows)),
            fields=max(len(member.aggregation.linear) for member in unit.templates),
            outliers=max(len(member.aggregation.extremes) for member in unit.templates),
            are_keyed=not any(partition_of(member.query).equivalence for member in unit.templates),
            windows=np.array(bounds, dtype=np.int64).T,
        )


def new_store(
    updates: Updates,
    layout: Layout,
    sharing: SharedGroups,
    totals: TotalsShape,
    *,
    gains: bool,
    record: bool,
) -> Store:
    """Return an empty store for a unit, with room for one key; `gains`: and for its gains."""
    unit, most_closed = updates.unit, totals.most_closed
    gained = len(layout.gained) if gains and layout.gains else 0
    rows = FIRST_ROWS
    while rows < 2 * most_closed:
        rows *= 2
    sizes: dict[str, int] = dict(
        slot=1,
        cell=layout.cells + 1 + gained,  # the one behind all sums is 0
        extreme=layout.extremes,
        block=len(layout.blocks) + 1,
        lane=layout.lanes,
        kind=len(layout.kinds),
        addend=2 * len(unit.addends),
        rank=len(updates.ranks),
        run=FIRST_RUNS,
        noted=layout.cells + len(layout.blocks) + 1 if updates.composes else 0,
        class_number=1,
        depth=DEPTH,
        record=RECORDS if record else 0,
        row=rows,
        bucket=0 if totals.are_keyed else 2 * rows,
        field=totals.fields,
        query=len(unit.templates),
        outlier=totals.outliers,
        **sharing.sizes,
    )
    store = Store(STATE, **sizes)
    store["most_closed"], store["gained"] = most_closed, gained
    store["ungained"] = layout.gained.start
    for name, words in zip(WINDOW, totals.windows, strict=True):
        store[name] = words
    for name in COSTS:
        store[name] = getattr(sharing.cost, name)
    for cost in fields(GroupCost):
        store[cost.name] = np.array([getattr(set_costs, cost.name) for set_costs in sharing.costs])
    return store
