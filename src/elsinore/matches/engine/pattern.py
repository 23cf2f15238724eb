"""The search for the matches of a pattern, or of a pattern under NOT, on the graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from elsinore.errors import InputError
from elsinore.matches.arrays import EVER, NEVER, Bools, Ints, Keys
from elsinore.matches.classes import ClassStates
from elsinore.matches.engine import tables as tb
from elsinore.matches.engine.codes import BEGINS_AT, ENDS_AT, MOMENT, Selection, Status
from elsinore.matches.engine.lookups import FEW, Lookups
from elsinore.matches.engine.negatives import ListedMatches, joined, latest_beginnings, spread
from elsinore.matches.engine.possible import Worlds
from elsinore.matches.engine.program import compile_template
from elsinore.matches.engine.search import scan
from elsinore.matches.engine.selected import scan_suppressed
from elsinore.matches.operands import Layout, Operands
from elsinore.matches.registers import RegisterKind, register_places
from elsinore.matches.template import START, MatchTemplate
from elsinore.structs import empty

STEPS = 64  # room for events of a match, at first
ROOM = 1 << 15  # room for matches, at first
WIDEST = 1 << 17  # and at most
PAUSE_STEPS = 20_000_000  # events tried, about two seconds, before Python checks for Ctrl-C
MOST = 9.0e18  # matches, beyond which their number is not reported
MANY = 8.0  # partial matches for each event of a window, from which on early filters are tried
STEPS_AT_FIRST = 300_000_000  # partial matches that a run may try: about half a minute
STEPS_EACH = 20_000  # more for each event, and for each match


class TooLongError(Exception):
    """The search has tried too many partial matches."""


class TooManyError(Exception):
    """A window has too many matches: `count`."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


class AggregateFailure(Exception):  # noqa: N818 - it is data for an error
    """A user's aggregate failed at a row, which is bound to one of `variables`."""

    def __init__(self, name: str, variables: tuple[str, ...], row: int, message: str) -> None:
        super().__init__(name, variables, row, message)
        self.name = name
        self.variables = variables
        self.row = row
        self.message = message


class Work:
    """Counts the partial matches that one search tries in all of its calls."""

    def __init__(self, allowed: int | None = None) -> None:
        """Allow a number of steps in all; None: more for each event and each match."""
        self.tried = 0
        self.allowed = STEPS_AT_FIRST if allowed is None else allowed
        self._each = STEPS_EACH if allowed is None else 0

    def allow(self, items: int) -> None:
        """Allow more steps for new events or matches."""
        self.allowed += self._each * items

    def exceeds(self, steps: int, matches: int) -> bool:
        """Count the steps and matches of a search; return whether it exceeds the limit."""
        self.tried += steps
        self.allow(matches)
        return self.tried > self.allowed


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a search may try and return: matches in all, and in one window.

    `counts_exactly`: the graph counts a window's matches before the first of them is written.
    """

    work: Work
    matches: int = EVER
    in_window: int = EVER
    counts_exactly: bool = False


class PatternSearch:
    """The search for the matches of one template."""

    def __init__(self, template: MatchTemplate, layout: Layout) -> None:
        """`layout` assigns rows to the attributes that are read."""
        self.template = template
        self.compiled = compile_template(template, layout)
        self.program = self.compiled.program
        self.states = ClassStates(template, layout.classes)
        self._lookups = Lookups(self.program, self.compiled.comparisons)
        self.program.many = MANY
        self.most_states = 0  # of a class
        self._degree = max(Counter(edge.source for edge in template.edges).values(), default=0)
        widths = [(r.kind.holds_event, r.width) for r in template.registers]
        self.event_registers = sum(holds_event for holds_event, _ in widths)
        self.number_registers = sum(width for holds_event, width in widths if not holds_event)
        self.confidence = self._confidence_place()
        self.search = tb.Search(len(template.states), self.event_registers, self.number_registers)
        self.search.make_room(STEPS)
        self._negatives = [PatternSearch(negative, layout) for negative in template.negatives]
        self._reads = template.listed

    def _confidence_place(self) -> int:
        """Return the place of the confidence among registers of numbers, -1: there is none."""
        registers = self.template.registers
        for register, place in zip(registers, register_places(registers), strict=True):
            if register.kind is RegisterKind.CONFIDENCE:
                return place
        if not self.template.is_unsure:
            return -1
        self.number_registers += 1  # `elsinore.matches.cases` reads it
        return self.number_registers - 1

    @property
    def counts_exactly(self) -> bool:
        """Whether the counts of the graph are exact numbers of matches, not bounds."""
        template = self.template
        return bool(self.program.is_near) and not (
            template.begins_with_not or template.ends_with_not or template.duplicates
        )

    def _put_classes(self) -> None:
        """Set which states the events of each class fit, if there are new classes."""
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
        """Return the texts that conditions compare with, also those of patterns under NOT."""
        texts = list(self.compiled.code.texts.values())
        return texts + [text for negative in self._negatives for text in negative.texts()]

    def set_texts(self, operands: Operands) -> None:
        """Set the codes of the texts of conditions, and the lists of events."""
        conditions = self.program.conditions
        conditions.member_starts = operands.members.starts
        conditions.members = operands.members.codes
        wholes = conditions.wholes
        for place, text in self.compiled.code.texts.items():
            wholes[place] = operands.texts.code_of(text)
        for negative in self._negatives:
            negative.set_texts(operands)

    def may_begin(self, classes: Ints) -> Bools:
        """Return which events may begin a match; `classes` [event] are their classes."""
        begins = [edge.target for edge in self.template.edges if edge.source == START]
        return self.states.fits(classes, begins)

    def may_end(self, classes: Ints) -> Bools:
        """Return which events may end a match; `classes` [event] are their classes."""
        return self.states.fits(classes, [end.state for end in self.template.ends])

    def has_overflown(self) -> bool:
        """Return whether a whole number in a condition went beyond 64 bits; reset this."""
        overflown = bool(self.program.conditions.has_overflown)
        self.program.conditions.has_overflown = 0
        return any([overflown, *(negative.has_overflown() for negative in self._negatives)])

    @property
    def suppresses(self) -> bool:
        """Whether matches that SUPPRESS excludes are never made (`scan_suppressed`).

        Otherwise they are excluded afterwards (`elsinore.matches.selection`).
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
        """Whether the search itself applies SUPPRESS."""
        return self.suppresses or self.program.selection != Selection.ALL

    def run(
        self,
        operands: Operands,
        keys: Keys,
        window: tuple[int, int, int],
        limits: Limits,
        *,
        wants_paths: bool = False,
        worlds: Worlds | None = None,
    ) -> Iterator[tb.Search]:
        """Yield the search whenever it has matches, which it overwrites afterwards.

        `worlds` are the possible times of events, None if times are certain. Raises TooLongError,
        TooManyError or AggregateFailure.
        """
        search, program, work = self.search, self.program, limits.work
        search.begin_at(self.values(operands, keys, window[0]), keys, *window)
        search.worlds = worlds
        if worlds is not None:
            worlds.make_room(len(search.frames))
        search.all_rows = int(self.template.is_negative)
        search.limit, search.most = limits.matches, limits.in_window
        search.wants_paths, search.counts_exactly = int(wants_paths), int(limits.counts_exactly)
        search.in_window, search.too_many = 0, 0.0
        if search.match_rows.shape[1] == 0:
            search.widen(ROOM)
        earlier = []  # states of aggregates are known by the addresses of their registers
        while True:
            left = max(work.allowed - work.tried, 0)
            search.steps, search.pause, search.budget = 0, min(PAUSE_STEPS, left), left
            search.count = search.filled = 0
            search.status = Status.DONE
            if self.suppresses:
                scan_suppressed(program, search)
            else:
                scan(program, search)
            status, count = search.status, search.count
            is_too_long = work.exceeds(search.steps, count)
            if count:
                yield search
                if search.limit < EVER:
                    search.limit -= count
            if status in {Status.DONE, Status.LIMITED}:
                return
            if is_too_long or status == Status.TOO_LONG:
                raise TooLongError
            if status == Status.TOO_MANY:
                raise TooManyError(int(min(max(search.too_many, search.in_window), MOST)))
            if status == Status.FAILED:
                self.check_failure()
            if status == Status.DEEP:
                earlier.append(np.asarray(search.numbers))
                search.make_room(2 * len(search.frames))
            elif status == Status.FULL and (count == 0 or 2 * search.match_rows.shape[1] <= WIDEST):
                search.widen(2 * search.match_rows.shape[1])

    def check_failure(self) -> None:
        """Raise AggregateFailure if a user's aggregate failed, and reset the failure."""
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
        """Return [pattern under NOT, row] the latest beginning of a match that ends by the row.

        Beginnings are moments of the row's key, -1 if no match ends by the row.
        """
        rows = operands.wholes.shape[1] if self._negatives else 0
        latest = np.full((len(self._negatives), rows), -1, np.int64)
        for number, negative in enumerate(self._negatives):
            negative._fill_latest(operands, all_of(keys), within, latest[number])
        return latest

    def _fill_latest(self, operands: Operands, keys: Keys, within: int, latest: Ints) -> None:
        """Fill the latest beginnings of this pattern; from all its matches if need be."""
        if self.program.is_near:
            values = self.values(operands, keys, within)
            self.search.begin_at(values, keys, within, 0, 0)
            latest_beginnings(self.program, self.search, latest)
        else:
            moments = operands.wholes[MOMENT]
            for piece in self._one_by_one(operands, keys, within, wants_paths=False):
                rows = np.asarray(piece.match_rows)[:, : piece.count]
                np.maximum.at(latest, rows[ENDS_AT], moments[rows[BEGINS_AT]])
        spread(self.search, latest)

    def _one_by_one(
        self, operands: Operands, keys: Keys, within: int, *, wants_paths: bool
    ) -> Iterator[tb.Search]:
        """Yield the search with all matches of a pattern under NOT, which it overwrites."""
        work = Work()
        work.allow(int((keys.end_row - keys.first_row).sum()))
        try:
            yield from self.run(
                operands, keys, (within, 0, 0), Limits(work), wants_paths=wants_paths
            )
        except TooLongError:
            raise InputError(
                f"A pattern under NOT has too many matches to look at one by one: {work.tried:,} "
                "partial matches were tried. Make the window shorter, or compare neighbours only."
            ) from None

    def _list_related(self, operands: Operands, keys: Keys, within: int) -> Ints:
        """List the matches of patterns under NOT that relations read, and set their places.

        See `elsinore.matches.engine.negatives`.
        """
        relations = np.asarray(self.program.relations)
        tables: list[Ints] = []
        end = 0
        for number, reads in self._reads.items():
            negative = self._negatives[number]
            listing = ListedMatches(self.template, negative.template, reads)
            for piece in negative._one_by_one(operands, all_of(keys), within, wants_paths=True):
                listing.put(piece)
            tables.append(listing.table())
            begin, end = end, end + tables[-1].shape[1]
            of_negative = relations["negative"] == number
            relations["listed"][of_negative] = begin
            relations["listed_end"][of_negative] = end
        return joined(tables) if tables else tb.NO_ROWS

    def values(self, operands: Operands, keys: Keys, within: int) -> tb.Values:
        """Return the values of a batch; prepare the program and the graph for them."""
        self._put_classes()
        is_uncertain = self.template.uncertain is not None
        negatives = tb.NO_ROWS if is_uncertain else self.latest_rows(operands, keys, within)
        if self._negatives and (is_uncertain or len(self.program.relations)):
            self._put_forbidden()
        listed = self._list_related(operands, keys, within)
        longest = int((keys.end_row - keys.first_row).max(initial=0))
        integers, buckets = self._look_up(operands, keys, longest)
        self._make_room(longest, operands.wholes.shape[1])
        columns = operands.doubles, integers, negatives, buckets, listed
        return tb.Values(*map(np.ascontiguousarray, columns))

    def _look_up(self, operands: Operands, keys: Keys, longest: int) -> tuple[Ints, Ints]:
        """Prepare the program's lookups; return the integers of the batch, and its buckets."""
        if longest < FEW or self.template.uncertain is not None:
            self._lookups.leave_out()
            return operands.wholes, tb.NO_ROWS
        integers = self._lookups.put_orders(self.search, operands)
        self._lookups.put_limits(operands, keys)
        return integers, self._lookups.put_buckets(operands, keys)

    def _put_forbidden(self) -> None:
        """Set which classes of events each pattern under NOT takes."""
        for negative in self._negatives:
            negative._put_classes()
        classes = [np.asarray(negative.program.classes) for negative in self._negatives]
        forbids = np.zeros((len(classes), max(map(len, classes))), np.uint8)
        for number, of_negative in enumerate(classes):
            takes = of_negative["states"] < of_negative["states_end"]
            forbids[number, : len(takes)] = takes
        self.program.forbids = forbids

    def _make_room(self, rows: int, all_rows: int) -> None:
        """Make room for the graph of a key with `rows` events, of `all_rows` of all keys."""
        search = self.search
        if len(self.program.buckets) and len(search.event_of) < all_rows:
            search.event_of = np.zeros(all_rows, np.int32)
        nodes = rows * self.most_states
        if len(search.events) < rows or len(search.nodes) < nodes:
            search.events = empty(tb.EVENT, rows)
            search.nodes = empty(tb.NODE, nodes)
            search.links = np.zeros(nodes * self._degree, np.int32)
            if self.program.has_filters:
                search.closed = np.zeros(nodes, np.int32)
            if self.program.selection != Selection.ALL:
                search.seen_from = np.zeros(nodes, np.int32)
                search.seen_depth = np.zeros(nodes, np.int32)
            if self.suppresses:
                search.began = np.zeros(nodes, np.int64)
                search.came = np.zeros(nodes, np.int32)


def all_of(keys: Keys) -> Keys:
    """Return copies of keys with new events only, all of whose windows are due."""
    every = keys.copy()
    every.new_row = every.first_row
    every.passed, every.reached = NEVER, EVER
    return every
