"""The tables of a program, of the graph and of the search, and their NumPy types.

Ranges are a first place and the one behind the last: the edges from state s are
`edges[states[s].edges]` to before `edges[states[s].edges_end]`; those that begin a match come
first. Lists of conditions are ranges of `Conditions.lists`, by their place in `checks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cython
import numpy as np

from elsinore.matches.engine.codes import BOUND, Status
from elsinore.operators.conditions.tables import Columns, Registers
from elsinore.structs import empty, struct, table

IS_COMPILED: bool = cython.compiled
FOREVER = 2**63 - 1
NO_INTS = np.zeros(0, np.int32)
NO_ROWS = np.zeros((0, 0), np.int64)


STATE = struct(
    i4="edges edges_end first_edge ends guard updates updates_end early deadlines deadlines_end"
)
EDGE = struct(
    i4="source target near far late guard unless is_plain early order bucket limits limits_end"
)
CHECKS = struct(i4="begin end")
GUARD = struct(i4="is_free ways ways_end relations relations_end")
WAY = struct(i4="negatives negatives_end")
UPDATE = struct(i4="kind register column is_whole source width")
AGGREGATE = struct(i8="address python_address", i4="arguments arguments_end place formula")
INITIAL = struct(f8="value", i4="register")
ORDER = struct(i4="target place bound tree places")
BUCKET = struct(i4="register rows")
RELATION = struct(
    i4="negative checks is_late reads reads_end bucket limits limits_end listed listed_end"
)
DEADLINE = struct(i8="ticks", i4="negative register")
EVENT_CLASS = struct(i4="states states_end")
KEY = struct(i8="first_row end_row new_row passed reached next_row quiet")
EVENT = struct(i8="time row moment", i4="node node_end")
NODE = struct(f8="count", i8="until", i4="event state soonest later link")
FRAME = struct(i8="row until", i4="node edge")
CURSOR = struct(i8="row place reference", i4="edge step")

TABLES = {  # of a program
    "states": STATE,
    "edges": EDGE,
    "checks": CHECKS,
    "guards": GUARD,
    "ways": WAY,
    "updates": UPDATE,
    "initials": INITIAL,
    "aggregates": AGGREGATE,
    "relations": RELATION,
    "deadlines": DEADLINE,
    "classes": EVENT_CLASS,
    "orders": ORDER,
    "buckets": BUCKET,
}
LISTS = ("class_states", "negatives", "arguments", "reads", "limits")


class Program:
    """A template as tables (`elsinore.matches.engine.program` fills them).

    `first_edge` of a state is the edge by which a match begins in it, -1: none. `guard` and
    `unless` are places in `guards`; -1: none. The states of a class are `class_states` of its
    range. `is_near`: no condition reads more than two neighbours, so that the counts of the graph
    are those of matches. `ends_at_once`: nothing is left to check of a partial match in a state
    where matches end. `initials`: what registers of numbers are before the first event, unless 0.
    `reads` are the registers of events under NOT that relations read, by place. `forbids` [pattern,
    class]: whether a pattern under NOT takes events of a class. `failed_row` is the event at which
    an aggregate of the user's failed, -1: none. `selection` is what AFTER MATCH asks for; for
    `suppress` after a match no other of its key is returned, -1: each is. Early filters are tried
    with more than `many` partial matches for each event of a window.
    """

    def __init__(self, rows: dict[str, list[Any]], facts: dict[str, Any]) -> None:
        """`rows` are those of tables and lists by name, `facts` are the other fields."""
        for name, kind in TABLES.items():
            setattr(self, name, table(kind, rows.get(name, [])))
        for name in LISTS:
            setattr(self, name, np.array(rows.get(name, []), np.int32))
        for name, value in facts.items():
            setattr(self, name, value)
        self.forbids = np.zeros((0, 0), np.uint8)
        self.failed_row = -1
        self.many = 0.0

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...


class Values(Columns):
    """The attributes of events: [row of the layout, event].

    negatives: [pattern, event] the latest moment at which a match of a pattern under NOT began that
    ended by the event. buckets: see `elsinore.matches.engine.lookups`; listed: see
    `elsinore.matches.engine.negatives`.
    """

    def __init__(
        self, doubles: Any, integers: Any, negatives: Any, buckets: Any, listed: Any
    ) -> None:
        super().__init__(doubles, integers)
        self.negatives = negatives
        self.buckets = buckets
        self.listed = listed


def values_alone(doubles: Any, integers: Any) -> Values:
    """Return attributes of events without what a search looks up."""
    columns = doubles, integers, NO_ROWS, NO_ROWS, NO_ROWS
    return Values(*map(np.ascontiguousarray, columns))


class Search(Registers):
    """The search of one program: its input, its position, and the matches that it has written.

    The rows of events are in `values`; `worlds` are their possible times, None if times are
    certain. `keys` says where the rows of each key are; `key` is searched, matches end at row
    `fresh` of it or later.

    *The graph* has the relevant events of the key and their nodes, in the order of time. Nodes of
    one state are linked to the next later one (`later`); a node is linked to the first node of each
    state that may follow (`links`, one for each edge of its state). `heads`, `sums` and `soonest`
    are those of each state's nodes so far, from the end. The graph is built up to event `built`;
    -1: not yet. `event_of` [row] is the event of a row, -1 if it is not relevant. A node's `until`
    is the moment at which the next event must follow. `seen_from` and `seen_depth` say from which
    start, and how late in a match, the search of the longest match came to a node; `began` and
    `came` in which row a match to a node began last, and which node came before. `closed` is the
    start for which a node is closed, `since` what early filters know of states.

    *The window* has events `from_event` to `last`; matches begin with events `begin` to before
    `begin_end`. NOT is looked for from moment `lowest` (below 0: it depends on the match) to row
    `highest`; with `all_rows` among all rows of the key.

    *The gap* in which NOT is looked for is after moment `gap_after` and up to row `gap_last`;
    `gap_next` is the row of the event after it. Its relations read row `gap_before` of the
    registers, and row `final` if the match is complete (else -1).

    *The partial match* has a frame for each event. Its registers are in row `depth` + 1, the events
    that may follow at cursor `depth` + 1. The longest match from an event, the `start`-th one, has
    the first `best_depth` + 1 frames, as long as they are not `is_kept` in `best`; it ends with
    event `best_event`.

    *Matches* are written to `match_rows`, `match_numbers` and `match_paths`, `count` of them so
    far; `most` may be in one window, `limit` in all. `status` says why the search stopped.
    """

    def __init__(self, states: int, events: int, numbers: int) -> None:
        """`events` and `numbers` are the registers of the program."""
        super().__init__(0, events, numbers)
        self.values: Any = None
        self.worlds: Any = None  # `possible.Worlds`
        self.within = self.slide = self.origin = self.key = self.first_row = self.fresh = 0
        self.uses_trees = self.event_count = self.node_count = self.window_number = 0
        self.lowest = self.highest = self.all_rows = 0
        self.from_event = self.begin = self.begin_end = self.last = 0
        self.first_edge = self.is_made = self.is_kept = self.start = 0
        self.count = self.filled = self.wants_paths = self.counts_exactly = 0
        self.in_window = self.steps = 0
        self.too_many = 0.0
        self.built = self.depth = self.best_depth = self.best_event = -1
        self.gap_after = self.gap_last = self.gap_next = self.gap_before = self.final = -1
        self.is_new = 1
        self.status = int(Status.DONE)
        self.limit = self.most = self.pause = self.budget = FOREVER
        self.keys = empty(KEY, 0)
        self.events = empty(EVENT, 0)
        self.nodes = empty(NODE, 0)
        self.frames = self.best = empty(FRAME, 0)
        self.cursors = empty(CURSOR, 0)
        self.event_of = self.links = self.tree_ends = NO_INTS
        self.seen_from = self.seen_depth = self.came = self.closed = NO_INTS
        self.heads, self.soonest = np.zeros(states, np.int32), np.zeros(states, np.int32)
        self.sums, self.tree_counts = np.zeros(states), np.zeros(0)
        self.began, self.since = np.zeros(0, np.int64), np.zeros(states, np.int64)
        self.match_rows = np.zeros((BOUND + events, 0), np.int64)
        self.match_numbers = np.zeros((numbers, 0))
        self.match_paths = np.zeros((0, 2), np.int32)

    def begin_at(self, values: Values, keys: Any, within: int, slide: int, origin: int) -> None:
        """Begin with the first of some keys, in windows of WITHIN, SLIDE and ORIGIN."""
        self.values = values
        self.keys = keys
        self.within, self.slide, self.origin = within, slide, origin
        self.key = self.from_event = self.last = self.all_rows = 0
        self.window_number = self.begin = self.begin_end = 0
        self.is_new = 1
        self.event_count = -1
        self.depth = -1
        self.first_edge = self.is_made = 0

    def make_room(self, depth: int) -> None:
        """Make room for a match of `depth` events, without changing the current one."""
        for name in ("frames", "best"):
            self._lengthen(name, depth)
        for name in ("cursors", "bound_rows", "numbers"):
            self._lengthen(name, depth + 1)
        if self.worlds is not None:
            self.worlds.make_room(depth)

    def _lengthen(self, name: str, rows: int) -> None:
        before = np.asarray(getattr(self, name))
        longer = np.zeros((rows, *before.shape[1:]), before.dtype)
        longer[: len(before)] = before
        setattr(self, name, longer if before.dtype.names is None else longer.view(np.recarray))

    def widen(self, matches: int) -> None:
        """Make room for a number of matches; those written before are lost."""
        self.match_rows = np.zeros((self.match_rows.shape[0], matches), np.int64)
        self.match_numbers = np.zeros((self.match_numbers.shape[0], matches))
        self.match_paths = np.zeros((4 * matches, 2), np.int32)
