"""The tables of a program, of the graph and of the search, and their NumPy types.

Ranges are a place and the place behind the last: the edges that lead on from state s are
`edges[states[s].edges]` to before `edges[states[s].edges_end]`; those that begin a match come
first. Lists of conditions are ranges of `Conditions.lists`.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from elsinore.matches.engine.codes import BOUND, Status
from elsinore.operators.conditions.tables import Columns, Registers
from elsinore.structs import empty, struct

IS_COMPILED: bool = cython.compiled
FOREVER = 2**63 - 1


STATE = struct(
    i4="edges edges_end first_edge ends guard updates updates_end is_leaf early early_end "
    "deadlines deadlines_end"
)
EDGE = struct(
    i4="source target near near_end far far_end late late_end guard unless is_plain order bucket "
    "limits limits_end early early_end"
)
GUARD = struct(i4="is_free ways ways_end relations relations_end")
WAY = struct(i4="negatives negatives_end")
UPDATE = struct(i4="kind register column is_whole source width")
AGGREGATE = struct(i8="address python_address", i4="arguments arguments_end place formula")
INITIAL = struct(f8="value", i4="register")
ORDER = struct(i4="target place bound tree places is_equality")
BUCKET = struct(i4="register rows")
RELATION = struct(
    i4="negative conditions conditions_end is_late bucket limits limits_end reads reads_end "
    "listed listed_end"
)
DEADLINE = struct(i8="ticks", i4="negative register")
EVENT_CLASS = struct(i4="states states_end")
KEY = struct(i8="first_row end_row new_row passed reached next_row quiet")
EVENT = struct(i8="time row moment", i4="node node_end")
NODE = struct(f8="count", i8="until", i4="event state soonest later link")
FRAME = struct(i8="row until candidate reference", i4="node edge trying")


class Program:
    """A template as tables (`elsinore.matches.engine.program` fills them).

    `first_edge` of a state is the edge by which a match begins in it, -1: none. `guard` and
    `unless` are places in `guards`; -1: none. The states of a class are `class_states` of its
    range. `is_near`: no condition reads more than two neighbours, so that the counts of the graph
    are those of matches. `initials`: what registers of numbers are before the first event, unless
    0. `reads` are the registers of events under NOT that relations read, by place.
    `forbids` [pattern, class]: whether a pattern under NOT takes events of a class. `failed_row`
    is the event at which an aggregate of the user's failed, -1: none. `selection` is what AFTER
    MATCH asks for; for `suppress` after a match no other of its key is returned, -1: each is. Early
    filters are tried with more than `many` partial matches for each event of a window.
    """

    def __init__(self, tables: dict[str, Any], facts: dict[str, int]) -> None:
        self.classes = tables["classes"]
        self.class_states = tables["class_states"]
        self.states = tables["states"]
        self.edges = tables["edges"]
        self.conditions = tables["conditions"]
        self.guards = tables["guards"]
        self.ways = tables["ways"]
        self.negatives = tables["negatives"]
        self.updates = tables["updates"]
        self.initials = tables["initials"]
        self.aggregates = tables["aggregates"]
        self.arguments = tables["arguments"]
        self.relations = tables["relations"]
        self.reads = tables["reads"]
        self.deadlines = tables["deadlines"]
        self.forbids = np.zeros((0, 0), np.uint8)
        self.orders = empty(ORDER, 0)
        self.buckets = empty(BUCKET, 0)
        self.limits = np.zeros(0, np.int32)
        self.failed_row = -1
        self.first_edges = facts["first_edges"]
        self.final = facts["final"]
        self.final_end = facts["final_end"]
        self.strategy = facts["strategy"]
        self.is_deferred = facts["is_deferred"]
        self.decides_early = facts["decides_early"]
        self.is_near = facts["is_near"]
        self.is_uncertain = facts["is_uncertain"]
        self.has_late = facts["has_late"]
        self.has_late_relations = facts["has_late_relations"]
        self.has_duplicates = facts["has_duplicates"]
        self.has_filters = facts["has_filters"]
        self.many = 0.0
        self.selection = facts["selection"]
        self.suppress = facts["suppress"]


class Values(Columns):
    """The attributes of events: [row of the layout, event].

    negatives: [pattern, event] the latest moment at which a match of a pattern under NOT began that
    ended by the event. buckets: see `elsinore.matches.engine.buckets`; listed: see
    `elsinore.matches.engine.listed`.
    """

    def __init__(
        self, doubles: Any, integers: Any, negatives: Any, buckets: Any, listed: Any
    ) -> None:
        super().__init__(doubles, integers)
        self.negatives = negatives
        self.buckets = buckets
        self.listed = listed


class Graph:
    """The relevant events of a key and their nodes, in the order of time.

    Nodes of one state are linked to the next later one (`later`); a node is linked to the first
    node of each state that may follow (`links`, one for each edge of its state). `heads`, `sums`
    and `soonest` are those of each state's nodes so far, from the end. The graph is built up to
    event `built`; -1: not yet. `event_of` [row] is the event of a row, -1 if it is not relevant. A
    node's `until` is the moment at which the next event must follow. `seen_from` and `seen_depth`
    say from which start, and how late in a match, the search of the longest match came to a node;
    `began` and `came` in which row a match to a node began last, and which node came before.
    `closed` is the start for which a node is closed, `since` what early filters know of states.
    """

    def __init__(self, states: int) -> None:
        self.events = empty(EVENT, 0)
        self.event_of = np.zeros(0, np.int32)
        self.nodes = empty(NODE, 0)
        self.links = np.zeros(0, np.int32)
        self.heads = np.zeros(states, np.int32)
        self.sums = np.zeros(states)
        self.soonest = np.zeros(states, np.int32)
        self.tree_counts = np.zeros(0)
        self.tree_ends = np.zeros(0, np.int32)
        self.uses_trees = 0
        self.event_count = 0
        self.node_count = 0
        self.built = -1
        self.seen_from = np.zeros(0, np.int32)
        self.seen_depth = np.zeros(0, np.int32)
        self.began = np.zeros(0, np.int64)
        self.came = np.zeros(0, np.int32)
        self.closed = np.zeros(0, np.int32)
        self.since = np.zeros(states, np.int64)


class Window:
    """The window of a key that is searched: its events `from_event` to `last`.

    Matches begin with events `begin` to before `begin_end`, and end at row `fresh` or later. NOT is
    looked for from moment `lowest` (below 0: it depends on the match) to row `highest`; with
    `all_rows` among all rows of the key.
    """

    def __init__(self, keys: Any, within: int, slide: int, origin: int) -> None:
        self.keys = keys
        self.within = within
        self.slide = slide
        self.origin = origin
        self.number = 0
        self.first_row = 0
        self.fresh = 0
        self.lowest = 0
        self.highest = 0
        self.key = 0
        self.all_rows = 0
        self.is_new = 1
        self.from_event = 0
        self.begin = 0
        self.begin_end = 0
        self.last = 0


class Match(Registers):
    """The partial match that is extended: a frame for each event; registers in row depth + 1.

    `worlds` are the possible times of its events; None if times are certain. The longest match from
    an event, the `start`-th one, has the first `best_depth` + 1 frames, as long as they are not
    `is_kept` in `best`; it ends with event `best_event`.
    """

    def __init__(self, depth: int, events: int, numbers: int) -> None:
        super().__init__(depth + 1, events, numbers)
        self.frames = empty(FRAME, depth)
        self.depth = -1
        self.first_edge = 0
        self.is_made = 0
        self.worlds: Any = None  # `possible.Worlds`
        self.best = empty(FRAME, depth)
        self.best_depth = -1
        self.best_event = -1
        self.is_kept = 0
        self.start = 0


class Output:
    """Room for matches, and why the search stopped (`status`)."""

    def __init__(self, events: int, numbers: int, matches: int) -> None:
        self.found = np.zeros((BOUND + events, matches), np.int64)
        self.counted = np.zeros((numbers, matches))
        self.paths = np.zeros((4 * matches, 2), np.int32)
        self.count = 0
        self.filled = 0
        self.wants_paths = 0
        self.status = int(Status.DONE)
        self.counts_exactly = 0
        self.limit = FOREVER
        self.guard = FOREVER
        self.in_window = 0
        self.too_many = 0.0
        self.steps = 0
        self.pause = FOREVER
        self.budget = FOREVER
