"""The search for the matches of a pattern, or of a pattern under NOT, by the graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from elsinore.errors import InputError
from elsinore.matches.arrays import EVER, NEVER, Bools, Ints, Keys
from elsinore.matches.classes import ClassStates
from elsinore.matches.engine import tables as tb
from elsinore.matches.engine.buckets import put_buckets
from elsinore.matches.engine.codes import BEGINS_AT, ENDS_AT, MOMENT, Selection, Status
from elsinore.matches.engine.listed import NONE_LISTED, ListedMatches, joined
from elsinore.matches.engine.negatives import latest_beginnings
from elsinore.matches.engine.orders import FEW, Lookups
from elsinore.matches.engine.possible import Worlds
from elsinore.matches.engine.program import compile_template
from elsinore.matches.engine.search import scan
from elsinore.matches.engine.sets import Sets, list_sets
from elsinore.matches.engine.suppressed import scan_suppressed
from elsinore.matches.operands import Layout, Operands
from elsinore.matches.template import START, MatchTemplate
from elsinore.matches.work import Work
from elsinore.structs import empty

STEPS = 64  # events of a match that there is room for at first
ROOM = 1 << 15  # matches returned at a time, at first
WIDEST = 1 << 17  # and if there are many
PAUSE_STEPS = 20_000_000  # events tried, some two seconds, before Python looks for Ctrl-C
MOST = 9.0e18  # matches, beyond which their number is not reported
MANY = 8.0  # partial matches for each event of a window, from which on early filters are tried
NO_BUCKETS = np.zeros((0, 0), np.int64)


class TooLongError(Exception):
    """The search has tried more than it may."""


class TooManyError(Exception):
    """A window has more matches than may be returned: `count`."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


class AggregateFailure(Exception):  # noqa: N818 - it is data for an error
    """An aggregate of the user's failed at a row, which is bound to one of some variables."""

    def __init__(self, name: str, variables: tuple[str, ...], row: int, message: str) -> None:
        super().__init__(name, variables, row, message)
        self.name = name
        self.variables = variables
        self.row = row
        self.message = message


class PatternSearch:
    """The search for the matches of one template."""

    def __init__(self, template: MatchTemplate, layout: Layout) -> None:
        """`layout` gives the rows that are read."""
        self.template = template
        self.compiled = compile_template(template, layout)
        self.program = self.compiled.program
        self.states = ClassStates(template, layout.classes)
        self._lookups = Lookups(self.program, self.compiled.comparisons)
        self.program.many = MANY
        self.graph = tb.Graph(len(template.states))
        self._output: tb.Output | None = None
        self._match: tb.Match | None = None
        self.most_states = 0  # of a class
        self._degree = max(Counter(edge.source for edge in template.edges).values(), default=0)
        widths = [(r.kind.holds_event, r.width) for r in template.registers]
        self.event_registers = sum(holds_event for holds_event, _ in widths)
        self.number_registers = sum(width for holds_event, width in widths if not holds_event)
        self._negatives = [PatternSearch(negative, layout) for negative in template.negatives]
        self._reads = template.listed

    @property
    def counts_exactly(self) -> bool:
        """Whether the graph counts matches: its counts are no mere bounds."""
        template = self.template
        return bool(self.program.is_near) and not (
            template.begins_with_not or template.ends_with_not or template.duplicates
        )

    def _put_classes(self) -> None:
        """Set which states the events of each class fit, if classes have come."""
        by_class = self.states.by_class
        if len(self.program.classes) == len(by_class):
            return
        counts = np.array([len(states) for states in by_class], np.int32)
        classes = empty(tb.EVENT_CLASS, len(by_class))
        classes["states_end"] = np.cumsum(counts)
        classes["states"] = np.cumsum(counts) - counts
        self.most_states = int(counts.max(initial=0))
        self.program.classes = classes
        self.program.class_states = np.array([s for some in by_class for s in some], np.int32)

    def texts(self) -> list[str]:
        """Return the texts that conditions compare with, those of patterns under NOT included."""
        texts = list(self.compiled.code.texts.values())
        return texts + [text for negative in self._negatives for text in negative.texts()]

    def set_texts(self, operands: Operands) -> None:
        """Set the integers that stand for the texts of conditions, and the lists of events."""
        conditions = self.program.conditions
        conditions.member_starts = operands.members.starts
        conditions.members = operands.members.codes
        wholes = conditions.wholes
        for place, text in self.compiled.code.texts.items():
            wholes[place] = operands.texts.code_of(text)
        for negative in self._negatives:
            negative.set_texts(operands)

    def may_begin(self, classes: Ints) -> Bools:
        """Return which events, given by their classes, may begin a match."""
        begins = [edge.target for edge in self.template.edges if edge.source == START]
        return self.states.fits(classes, begins)

    def may_end(self, classes: Ints) -> Bools:
        """Return which events, given by their classes, may end a match."""
        return self.states.fits(classes, [end.state for end in self.template.ends])

    def has_overflown(self) -> bool:
        """Return whether a whole number in a condition went beyond 64 bits; forget it."""
        overflown = bool(self.program.conditions.has_overflown)
        self.program.conditions.has_overflown = 0
        return any([overflown, *(negative.has_overflown() for negative in self._negatives)])

    @property
    def suppresses(self) -> bool:
        """Whether matches that SUPPRESS leaves out are never made (`scan_suppressed`).

        Otherwise they are left out afterwards (`elsinore.matches.selection`).
        """
        program = self.program
        return (
            program.suppress >= 0
            and program.selection == Selection.ALL
            and bool(program.is_near)
            and not program.is_deferred
            and not self.template.begins_with_not
        )

    @property
    def selects(self) -> bool:
        """Whether the search itself leaves out what SUPPRESS does."""
        return self.suppresses or self.program.selection != Selection.ALL

    def output(
        self, *, limit: int, guard: int, wants_paths: bool, counts_exactly: bool
    ) -> tb.Output:
        """Return room for matches; a window may have `guard`, all windows together `limit`.

        It is the same room each time: a search of few events would take longer to make it.
        """
        output = self._output or tb.Output(self.event_registers, self.number_registers, ROOM)
        self._output = output
        output.limit, output.guard = limit, guard
        output.wants_paths, output.counts_exactly = int(wants_paths), int(counts_exactly)
        output.in_window, output.too_many = 0, 0.0
        return output

    def run(
        self,
        operands: Operands,
        keys: Keys,
        window: tb.Window,
        output: tb.Output,
        work: Work,
        worlds: Worlds | None = None,
    ) -> Iterator[tb.Output]:
        """Yield the output whenever it has matches; they are overwritten afterwards.

        `worlds` are the possible times of events, None if times are certain. Raises TooLongError,
        TooManyError or AggregateFailure.
        """
        values = self.values(operands, keys, window.within)
        graph, program = self.graph, self.program
        match = self._match or self.new_match()
        match.depth, match.first_edge, match.is_made = -1, 0, 0
        match.worlds = worlds
        if worlds is not None:
            worlds.make_room(len(match.frames))
        earlier: list[tb.Match] = []  # states of aggregates are known by their addresses
        graph.event_count = -1
        while True:
            left = max(work.allowed - work.tried, 0)
            output.steps, output.pause, output.budget = 0, min(PAUSE_STEPS, left), left
            output.count = output.filled = 0
            output.status = Status.DONE
            if self.suppresses:
                scan_suppressed(program, values, graph, window, match, output)
            else:
                scan(program, values, graph, window, match, output)
            self._match = match
            status, count = output.status, output.count
            is_too_long = work.count(output.steps, count)
            if count:
                yield output
                if output.limit < EVER:
                    output.limit -= count
            if status in {Status.DONE, Status.LIMITED}:
                return
            if is_too_long or status == Status.TOO_LONG:
                raise TooLongError
            if status == Status.TOO_MANY:
                raise TooManyError(int(min(max(output.too_many, output.in_window), MOST)))
            if status == Status.FAILED:
                self.check_failure()
            if status == Status.DEEP:
                earlier.append(match)
                match = self.deeper(match)
            elif status == Status.FULL and (count == 0 or 2 * output.found.shape[1] <= WIDEST):
                self.widen(output)

    def check_failure(self) -> None:
        """Raise AggregateFailure if an aggregate of the user's failed; forget it."""
        row = int(self.program.failed_row)
        self.program.failed_row = -1
        if row < 0:
            return
        registers = [r for r in self.template.registers if r.aggregate is not None]
        for stepper, register in zip(self.compiled.steppers, registers, strict=True):
            if stepper.failure is not None:
                message, stepper.failure = stepper.failure, None
                raise AggregateFailure(stepper.aggregate.name, register.variables, row, message)

    def latest_rows(self, operands: Operands, keys: Keys, within: int) -> Ints:
        """Return for each pattern under NOT and row the latest beginning of a match that ended.

        Beginnings are moments of the row's key, -1 if no match ended by the row.
        """
        rows = operands.wholes.shape[1] if self._negatives else 0
        latest = np.full((len(self._negatives), rows), -1, np.int64)
        every = _all_of(keys)
        for number, negative in enumerate(self._negatives):
            if negative.program.is_near:
                negative._fill_by_neighbours(operands, every, within, latest[number])
            else:
                negative._fill_one_by_one(operands, every, within, latest[number])
        return latest

    def _fill_by_neighbours(
        self, operands: Operands, keys: Keys, within: int, latest: Ints
    ) -> None:
        """Fill the latest beginnings of a pattern whose conditions read neighbours alone."""
        window = tb.Window(keys, within, 0, 0)
        values = self.values(operands, keys, within)
        match = self.new_match()
        latest_beginnings(self.program, values, self.graph, window, match, latest)

    def _fill_one_by_one(self, operands: Operands, keys: Keys, within: int, latest: Ints) -> None:
        """Fill the latest beginnings of a pattern from all its matches."""
        moments = operands.wholes[MOMENT]
        for piece in self._one_by_one(operands, keys, within, wants_paths=False):
            found = np.asarray(piece.found)[:, : piece.count]
            np.maximum.at(latest, found[ENDS_AT], moments[found[BEGINS_AT]])
        for begin, end in zip(keys.first_row, keys.end_row, strict=True):
            latest[begin:end] = np.maximum.accumulate(latest[begin:end])

    def _one_by_one(
        self, operands: Operands, keys: Keys, within: int, *, wants_paths: bool
    ) -> Iterator[tb.Output]:
        """Yield all matches of a pattern under NOT, in outputs that are overwritten afterwards."""
        window = tb.Window(keys, within, 0, 0)
        window.all_rows = 1
        work = Work()
        work.allow(int((keys.end_row - keys.first_row).sum()))
        output = self.output(limit=EVER, guard=EVER, wants_paths=wants_paths, counts_exactly=False)
        try:
            yield from self.run(operands, keys, window, output, work)
        except TooLongError:
            raise InputError(
                f"A pattern under NOT has too many matches to look at one by one: {work.tried:,} "
                "partial matches were tried. Make the window shorter, or compare neighbours only."
            ) from None

    def _list_related(self, operands: Operands, keys: Keys, within: int) -> Ints:
        """List the matches of patterns under NOT that relations are about, and set their places.

        See `elsinore.matches.engine.listed`.
        """
        relations = np.asarray(self.program.relations)
        tables: list[Ints] = []
        end = 0
        for number, reads in self._reads.items():
            negative = self._negatives[number]
            listing = ListedMatches(self.template, negative.template, reads)
            for piece in negative._one_by_one(operands, _all_of(keys), within, wants_paths=True):
                listing.put(piece)
            tables.append(listing.table())
            begin, end = end, end + tables[-1].shape[1]
            of_negative = relations["negative"] == number
            relations["listed"][of_negative] = begin
            relations["listed_end"][of_negative] = end
        return joined(tables) if tables else NONE_LISTED

    def values(self, operands: Operands, keys: Keys, within: int) -> tb.Values:
        """Return the values of a batch, with the program and the graph ready for them."""
        self._put_classes()
        negatives = self.latest_rows(operands, keys, within)
        if len(self.program.relations):
            self._put_forbidden()
        listed = self._list_related(operands, keys, within)
        longest = int((keys.end_row - keys.first_row).max(initial=0))
        integers, buckets = self._look_up(operands, keys, longest)
        self._make_room(longest, operands.wholes.shape[1])
        columns = operands.doubles, integers, negatives, buckets, listed
        return tb.Values(*map(np.ascontiguousarray, columns))

    def _look_up(self, operands: Operands, keys: Keys, longest: int) -> tuple[Ints, Ints]:
        """Make the program's lookups ready; return the integers of the batch, and its buckets."""
        if longest < FEW or self.template.uncertain is not None:
            self._lookups.leave_out()
            return operands.wholes, NO_BUCKETS
        integers = self._lookups.put_orders(self.graph, operands)
        self._lookups.put_limits(operands, keys)
        return integers, put_buckets(self.program, self._lookups, operands, keys)

    def _put_forbidden(self) -> None:
        """Put in which events each pattern under NOT takes."""
        classes = [np.asarray(negative.program.classes) for negative in self._negatives]
        forbids = np.zeros((len(classes), max(map(len, classes))), np.uint8)
        for number, of_negative in enumerate(classes):
            takes = of_negative["states"] < of_negative["states_end"]
            forbids[number, : len(takes)] = takes
        self.program.forbids = forbids

    def _make_room(self, rows: int, all_rows: int) -> None:
        """Make room for the graph of a key with so many events, of so many in all."""
        graph = self.graph
        if len(self.program.buckets) and len(graph.event_of) < all_rows:
            graph.event_of = np.zeros(all_rows, np.int32)
        nodes = rows * self.most_states
        if len(graph.events) < rows or len(graph.nodes) < nodes:
            graph.events = empty(tb.EVENT, rows)
            graph.nodes = empty(tb.NODE, nodes)
            graph.links = np.zeros(nodes * self._degree, np.int32)
            if self.program.has_filters:
                graph.closed = np.zeros(nodes, np.int32)
            if self.program.selection != Selection.ALL:
                graph.seen_from = np.zeros(nodes, np.int32)
                graph.seen_depth = np.zeros(nodes, np.int32)
            if self.suppresses:
                graph.began = np.zeros(nodes, np.int64)
                graph.came = np.zeros(nodes, np.int32)

    def new_match(self, depth: int | None = None) -> tb.Match:
        """Return room for a match of `depth` events, if it is None of a few."""
        return tb.Match(depth or STEPS, self.event_registers, self.number_registers)

    def deeper(self, match: tb.Match) -> tb.Match:
        """Return the match under way with room for twice as many events."""
        depth = len(match.frames)
        deeper = self.new_match(2 * depth)
        np.asarray(deeper.frames)[:depth] = np.asarray(match.frames)
        np.asarray(deeper.held)[: depth + 1] = np.asarray(match.held)
        np.asarray(deeper.numbers)[: depth + 1] = np.asarray(match.numbers)
        deeper.depth, deeper.first_edge = match.depth, match.first_edge
        deeper.is_made = match.is_made
        np.asarray(deeper.best)[:depth] = np.asarray(match.best)
        deeper.best_depth, deeper.best_event = match.best_depth, match.best_event
        deeper.is_kept, deeper.start = match.is_kept, match.start
        deeper.worlds = match.worlds
        if match.worlds is not None:
            match.worlds.make_room(2 * depth)
        return deeper

    def widen(self, output: tb.Output) -> None:
        """Make room for twice as many matches."""
        wider = tb.Output(self.event_registers, self.number_registers, 2 * output.found.shape[1])
        output.found, output.counted, output.paths = wider.found, wider.counted, wider.paths


def _all_of(keys: Keys) -> Keys:
    """Return keys of which all events are new, and all windows due."""
    every = keys.copy()
    every.new_row = every.first_row
    every.passed, every.reached = NEVER, EVER
    return every


class RowSets:
    """Lists the sets of rows in collapsed form (`elsinore.matches.engine.sets`)."""

    def __init__(
        self, search: PatternSearch, operands: Operands, keys: Keys, window: tuple[int, int, int]
    ) -> None:
        self._search, self._keys, self._window = search, keys, window
        self._values = search.values(operands, keys, window[0])
        self._longest = int((keys.end_row - keys.first_row).max(initial=0))

    def listed(self, rows: Ints, known: NDArray[np.uint8], state: int) -> Ints:
        """Return row, event and state of what is in the sets of rows that begin in a state.

        `rows` are in the order of their first events; `known` [condition] says which conditions
        read no earlier event than that.
        """
        search = self._search
        nodes = self._longest * max(search.most_states, 1)
        sets = Sets(np.ascontiguousarray(rows), known, nodes, max(nodes, 1 << 16))
        window = tb.Window(self._keys, *self._window)
        graph = search.graph
        graph.event_count = -1
        match = search.new_match()
        pieces = [np.zeros((0, 3), np.int64)]
        while sets.next_row < len(rows):
            sets.filled = 0
            list_sets(search.program, self._values, graph, window, match, sets, state)
            pieces.append(np.asarray(sets.listed)[: sets.filled].copy())
        return np.concatenate(pieces)
