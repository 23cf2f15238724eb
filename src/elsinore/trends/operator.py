"""The trend operator: ordered Arrow batches in, totals of closed windows out."""

from __future__ import annotations

import bisect
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.errors import InputError
from elsinore.plan import Sharing, TrendUnit
from elsinore.trends import kernels
from elsinore.trends.arrays import Codes, Ints
from elsinore.trends.columns import matrix
from elsinore.trends.exponents.kernels import normalise_cells
from elsinore.trends.kernels import FOREVER, UNKNOWN, Program, State, Totals
from elsinore.trends.lazy.arrays import Bursts, Clocks, Groups, new_bursts, new_clocks
from elsinore.trends.lazy.kernels import settle_until
from elsinore.trends.lazy.measure import measure
from elsinore.trends.lazy.program import GroupLayout
from elsinore.trends.moments.arrays import Events, Held, hold, new_held, release
from elsinore.trends.moments.kernels import TIE, is_spaced, last_acting, look, settle_keys
from elsinore.trends.partials import totals_batch
from elsinore.trends.program import Layout, Sections, assemble, fixed_arrays, tangled
from elsinore.trends.state import (
    copy_rows,
    grown_totals,
    new_state,
    new_totals,
    pack,
    size_of,
    unpack,
)
from elsinore.trends.statistics import TrendStatistics, sets_from_text, sets_to_text

TABLE_LIMIT = 2**22  # so many classes are looked up in a table; more are found by sorting
FIRST_ROWS = 64  # rows of totals to begin with
_FIRST = np.zeros(1, dtype=np.int64)  # the first slot

Number = TypeVar("Number", np.int64, np.float64)


class TrendOperator:
    """Aggregates all trends of a unit's queries, coarse granularity (COGRA; HAMLET, Section 3.2).

    A batch has the columns `key` and `group` (int32 codes; a key has one group), `time` (int64,
    microseconds), `class` (int64, see `elsinore.plan.classes`; below 0: of no interest), and of
    each attribute its double `sum:<name>` or its order-keeping integer `rank:<name>`. Each key's
    rows are in time order.

    `one_slot`: keys come one after another, those of a group together, and never again; memory
    is then one key's, and totals are given out as groups end. `ordered`: no key has two events of
    one time, or those are in an order of their own: each event is a moment.

    Where `ordered` is not given, the operator begins as if it were and looks for simultaneous
    events of a key: each key's last event of a batch waits until the next one is seen, or its
    windows close. From the first two that are found on, whatever their key, it remembers what
    states were before the present moment, and each event acts on all nodes at once. Events that act
    on nothing do not count.

    `sharing`: which bursts are worked on once for all nodes that they act on alike
    (`elsinore.trends.lazy`); results are the same. `record`: keep a record of each burst. Once
    moments are remembered nothing is shared any more, and `statistics.sharing` stays as it was
    then: the sets that had bursts, those in progress as far as they had got.
    """

    def __init__(
        self,
        unit: TrendUnit,
        *,
        one_slot: bool = False,
        ordered: bool = False,
        sharing: Sharing = Sharing.DYNAMIC,
        record: bool = False,
    ) -> None:
        self.unit = unit
        self.statistics = TrendStatistics()
        self._one_slot = one_slot
        self._sharing = sharing
        self._record = record
        self._layout = Layout(unit)
        self._fixed = fixed_arrays(self._layout)
        self._shared = GroupLayout(self._layout, share=sharing is not Sharing.NEVER)
        self._types = unit.classes.types
        self._offsets = [classes.offset for classes in self._types]
        self._sections: list[Sections] = []  # [class]
        self._compiled: list[int] = []  # [class] -> its code
        self._places: dict[int, int] = {}  # code -> place in `_known`, where codes are too many
        self._ordered = ordered
        self._remember = False
        self._known = np.full(min(unit.classes.size, TABLE_LIMIT) + 1, UNKNOWN, dtype=np.int32)
        self._rows = np.zeros((3, max(self._layout.overlaps)))
        self._program: Program
        self._groups: Groups
        self._assemble()
        self._state: State = new_state(self._layout, 1, exponents=False, moments=False)
        self._held: Held = self._new_held(0 if ordered else 1)
        self._clocks: Clocks = new_clocks(self._groups, 1, shared=sharing is Sharing.ALWAYS)
        self._bursts: Bursts = new_bursts(self._groups, record=record)
        self._totals: Totals = new_totals(self._layout, FIRST_ROWS)
        self._counters = np.zeros(1, dtype=np.int64)

    @property
    def open_group(self) -> int:
        """The group of the key that goes on, with `one_slot`; -1 where there is none yet."""
        if self._state.key[0] >= 0:
            return int(self._state.group[0])
        return int(self._held.group[0]) if (self._held.key >= 0).any() else -1

    @property
    def _awaits_ties(self) -> bool:
        """Whether simultaneous events may come, and none has yet."""
        return not self._ordered and not self._remember

    @staticmethod
    def bytes_per_key(unit: TrendUnit) -> int:
        """Return how much memory each key takes, but with `one_slot`."""
        width = {window: 1 if window is None else window.overlap for window in unit.merged.windows}
        entries = sum(width.values())
        times = 3 if unit.merged.has_resets else 2
        for node in unit.merged.nodes:
            entries += times * width[node.window] * (len(node.linear) + len(node.extremes))
            entries += 2 + len(node.linear)  # its stamp, and its mark where it is in a group
        return 8 * entries

    def process(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Take a batch; return totals that are final already (with `one_slot`), else none.

        Raises InputError where a key's rows are not in time order.
        """
        self.statistics.events += batch.num_rows
        if batch.num_rows == 0:
            return self._take(np.zeros(self._totals.count[0], dtype=np.bool_))
        events = self._read(batch)
        if not self._one_slot:
            self._need_slots(int(events.keys.max()) + 1)
        if self._awaits_ties:
            events = self._look_ahead(events)
        elif len(self._held.key):
            self._let_go()
        self._work(events)
        self.statistics.matched = int(self._counters[0])
        self._measure()
        if self._one_slot:
            done = self._totals.group[: self._totals.count[0]] != self._state.group[0]
            return self._take(done)
        return self._take(np.zeros(self._totals.count[0], dtype=np.bool_))

    def _read(self, batch: pa.RecordBatch) -> Events:
        """Return a batch's columns as the kernels read them."""
        classes = _ints(batch, "class")
        values, present = matrix(batch, "sum:", self.unit.summed, np.float64)
        orders, ordered = matrix(batch, "rank:", self.unit.ranked, np.int64)
        return Events(
            times=_ints(batch, "time"),
            keys=_codes(batch, "key"),
            groups=_codes(batch, "group"),
            classes=classes,
            codes=self._codes(classes),
            values=values,
            present=present,
            orders=orders,
            ordered=ordered,
        )

    def _look_ahead(self, events: Events) -> Events:
        """Work on the events that waited for these; return those that need not wait themselves.

        Remembers moments from here on if some of them are simultaneous.
        """
        held, state = self._held, self._state
        seen = (state.key, state.time, held.key, held.time)
        if self._one_slot and is_spaced(events.times, events.keys, *seen):
            last = last_acting(events.codes, self._known)
            slots, rows = _FIRST[: min(last + 1, 1)], np.array([last])
        else:
            slots, rows = self._look(events, seen)
        if self._remember:
            return events
        self._release(slots[held.key[slots] >= 0])
        return hold(held, slots, events, rows) if len(slots) else events

    def _look(
        self, events: Events, seen: tuple[Codes, Ints, Codes, Ints]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Look for simultaneous events; return the slots touched, and each one's last event."""
        held = self._held
        touched = np.empty(min(len(events.keys), len(held.key)), dtype=np.int64)
        event, count = 0, 0
        while True:
            how, event, count = look(
                event,
                count,
                self._one_slot,
                events.times,
                events.keys,
                events.codes,
                self._known,
                *seen,
                held.row,
                touched,
            )
            if how != kernels.COMPILE:
                break
            self._compile(kernels.unknown_codes(events.codes, event, self._known).tolist())
        slots = touched[:count]
        rows = held.row[slots]
        held.row[slots] = -1
        if how == TIE and not self._remember:
            self._remember_moments()
        if self._remember:
            self._let_go()
        return slots, rows

    def _let_go(self) -> None:
        """Work on all events that wait; none will wait again."""
        self._release(np.flatnonzero(self._held.key >= 0))
        self._held = self._new_held(0)

    def _release(self, slots: NDArray[np.int64]) -> None:
        """Work on the events that wait in some slots."""
        if len(slots):
            events = release(self._held, slots)
            self._work(events._replace(codes=self._codes(events.classes)))

    def _new_held(self, slots: int) -> Held:
        return new_held(slots, len(self.unit.summed), len(self.unit.ranked))

    def _work(self, events: Events) -> None:
        """Let events act on their keys' states."""
        parts = np.zeros(kernels.VALUE + 2 * len(events.values))
        event = 0
        while True:
            run = kernels.run_shared if self._shared.groups else kernels.run
            how, event = run(
                self._program,
                self._groups,
                self._state,
                self._clocks,
                self._bursts,
                self._totals,
                self._rows,
                parts,
                event,
                events.times,
                events.keys,
                events.codes,
                self._known,
                events.values,
                events.present,
                events.orders,
                events.ordered,
                events.groups,
                self._one_slot,
                self._remember,
                not self._ordered,
                self._sharing is Sharing.DYNAMIC,
                self._layout.most_closed,
                self._counters,
            )
            if how == kernels.DONE:
                break
            if how == kernels.COMPILE:
                self._compile(kernels.unknown_codes(events.codes, event, self._known).tolist())
            elif how == kernels.GROW:
                self._grow_totals()
            elif how == kernels.EXPONENTS:
                self._give_exponents()
            else:
                raise InputError(
                    f"Events of a key are out of time order: time {events.times[event]} came "
                    "after a later one. Sort the input by time."
                )

    def close(self, until: int | None = None) -> pa.RecordBatch:
        """Return the totals of all windows that end at or before `until`; None: of all windows."""
        time = int(FOREVER) if until is None else until
        self._release(np.flatnonzero((self._held.key >= 0) & (self._held.time < time)))
        self.statistics.matched = int(self._counters[0])
        if self._shared.groups:
            arrays = (self._groups, self._clocks, self._bursts, self._program)
            passed = settle_until(*arrays, self._state, self._rows, time)
            if passed and len(self._state.powers) == 0:
                self._give_exponents()
        slot = 0
        while slot < len(self._state.key):
            slot = kernels.close_until(
                self._program, self._state, self._totals, slot, time, self._layout.most_closed
            )
            if slot < len(self._state.key):
                self._grow_totals()
        self._measure()
        count = int(self._totals.count[0])
        if until is None:
            return self._take(np.ones(count, dtype=np.bool_))
        kinds = np.array(self._layout.window_of)[self._totals.query[:count]]
        within = self._program.within[kinds]
        starts = (
            self._program.origin[kinds] + self._program.step[kinds] * self._totals.window[:count]
        )
        ended = within != FOREVER
        ended[ended] = starts[ended] + within[ended] <= time
        return self._take(ended)

    def deadline(self) -> int | None:
        """Return the end of the first window of which there is something to give out."""
        state, held, ends = self._state, self._held, []
        count = int(self._totals.count[0])
        kinds = np.array(self._layout.window_of)[self._totals.query[:count]]
        waiting = held.time[held.key >= 0]
        for kind, window in enumerate(self._layout.windows):
            if window is None:
                continue
            first = state.first[:, kind]
            indices = [
                first[(state.key >= 0) & (first <= state.last[:, kind])],
                self._totals.window[:count][kinds == kind],
            ]
            if len(waiting):
                indices.append(np.array([window.first(int(waiting.min()))]))
            ends += [window.bounds(int(some.min()))[1] for some in indices if len(some)]
        return min(ends, default=None)

    def forget(self, slots: NDArray[np.int64]) -> None:
        """Make slots ready for other keys; nothing of their keys is open."""
        exponents = len(self._state.powers) > 0
        empty = new_state(self._layout, 1, exponents=exponents, moments=self._remember)
        clocks = new_clocks(self._groups, 1, shared=False)
        for name, rows in self._state._asdict().items():
            if len(rows):
                rows[slots] = getattr(empty, name)[0]
        for name, rows in self._clocks._asdict().items():
            if name != "shared":  # what is shared stays so
                rows[slots] = getattr(clocks, name)[0]

    def _codes(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return codes that index the table of known classes.

        Where there are more classes than a table should have rows, those that occur are numbered
        anew, by sorting.
        """
        if self.unit.classes.size <= TABLE_LIMIT:
            return codes
        unique, inverse = np.unique(codes, return_inverse=True)
        for code in unique[unique >= 0].tolist():
            if code not in self._places:
                self._places[code] = len(self._places)
        if len(self._places) > len(self._known):
            more = np.full(2 * len(self._places) - len(self._known), UNKNOWN, dtype=np.int32)
            self._known = np.concatenate((self._known, more))
        places = [self._places[code] if code >= 0 else -1 for code in unique.tolist()]
        return np.array(places, dtype=np.int64)[inverse]

    def _compile(self, places: list[int]) -> None:
        """Compile the classes at some places of the table of known classes."""
        code_of = dict(zip(places, places, strict=True))
        if self.unit.classes.size > TABLE_LIMIT:
            code_of = {number: code for code, number in self._places.items()}
        for place in places:
            code = code_of[place]
            classes = self._types[bisect.bisect_right(self._offsets, code) - 1]
            type_name, true = classes.type, classes.true(code)
            updates = self._layout.updates(type_name, true)
            resets = self._layout.resets(type_name, true)
            self._known[place] = -1
            if not updates and not resets:
                continue
            self._known[place] = len(self._sections)
            self._sections.append(self._shared.sections(updates, resets, type_name, true))
            self._compiled.append(code_of[place])
            if not self._remember and tangled(updates, resets):
                self._remember_moments()
        self.statistics.classes += len(places)
        self._assemble()

    def _assemble(self) -> None:
        self._program, lengths = assemble(self._layout, self._fixed, self._sections)
        self._groups = self._shared.arrays(self._sections, lengths)

    def save(self) -> bytes:
        """Return all that is needed to go on later as if never stopped."""
        arrays = {f"state.{name}": rows for name, rows in self._state._asdict().items()}
        arrays |= {f"totals.{name}": rows for name, rows in self._totals._asdict().items()}
        arrays |= {f"clocks.{name}": rows for name, rows in self._clocks._asdict().items()}
        arrays |= {f"bursts.{name}": rows for name, rows in self._bursts._asdict().items()}
        arrays |= {f"held.{name}": rows for name, rows in self._held._asdict().items()}
        arrays |= {
            "codes": np.array(self._compiled, dtype=np.int64),
            "counters": self._counters,
            "modes": np.array([self._one_slot, self._ordered, self._record, self._remember]),
            "sharing": np.array(self._sharing.value),
            "statistics": np.array([self.statistics.events, self.statistics.totals]),
            "sets": np.array(sets_to_text([] if self._shared.groups else self.statistics.sharing)),
        }
        return pack(self.unit.fingerprint, arrays)

    @classmethod
    def load(cls, unit: TrendUnit, blob: bytes) -> TrendOperator:
        """Return the operator that `save` made the bytes of.

        Raises StateError where the bytes are damaged or of another version or workload.
        """
        arrays = unpack(unit.fingerprint, blob)
        one_slot, ordered, record, remember = arrays["modes"].tolist()
        sharing = Sharing(str(arrays["sharing"]))
        operator = cls(unit, one_slot=one_slot, ordered=ordered, sharing=sharing, record=record)
        if remember and not operator._remember:
            operator._remember_moments()
        operator._compile(operator._codes(arrays["codes"]).tolist())
        operator._state = State(*(arrays[f"state.{name}"] for name in State._fields))
        operator._totals = Totals(*(arrays[f"totals.{name}"] for name in Totals._fields))
        operator._clocks = Clocks(*(arrays[f"clocks.{name}"] for name in Clocks._fields))
        operator._bursts = Bursts(*(arrays[f"bursts.{name}"] for name in Bursts._fields))
        operator._held = Held(*(arrays[f"held.{name}"] for name in Held._fields))
        operator._counters = arrays["counters"]
        operator.statistics.events, operator.statistics.totals = arrays["statistics"].tolist()
        operator.statistics.matched = int(operator._counters[0])
        operator.statistics.sharing = sets_from_text(str(arrays["sets"]))
        operator._measure()
        return operator

    def _need_slots(self, slots: int) -> None:
        """Make room for keys up to `slots`, at least doubling what there is."""
        have = len(self._state.key)
        if slots > have:
            self._move_state(max(slots, 2 * have if have > 1 else 1))

    def _give_exponents(self) -> None:
        """Make room for exponents: a number has passed 2**384."""
        self._move_state(len(self._state.key), exponents=True)
        normalise_cells(self._state)

    def _remember_moments(self) -> None:
        """Keep what states were before the present moment from now on; nothing is shared then."""
        self._remember = True
        self._end_sharing()
        self._move_state(len(self._state.key))

    def _end_sharing(self) -> None:
        """Bring all holders up to date and let each event act on all nodes at once from now on."""
        if not self._shared.groups:
            return
        arrays = (self._groups, self._clocks, self._bursts, self._state, self._rows)
        if settle_keys(*arrays) and len(self._state.powers) == 0:
            self._give_exponents()
        self._measure_sharing()
        self.statistics.sharing = [one for one in self.statistics.sharing if one.bursts]
        self._shared = GroupLayout(self._layout, share=False)
        self._sections = [
            self._shared.sections(
                [update for part in sections.parts for update in part],
                [node for node, _ in sections.resets],
                "",
                frozenset(),
            )
            for sections in self._sections
        ]
        self._assemble()
        self._clocks = new_clocks(self._groups, len(self._state.key), shared=False)
        self._bursts = new_bursts(self._groups, record=self._record)

    def _move_state(self, slots: int, *, exponents: bool = False) -> None:
        exponents = exponents or len(self._state.powers) > 0
        state = new_state(self._layout, slots, exponents=exponents, moments=self._remember)
        copy_rows(self._state, state)
        self._state = state
        if slots > len(self._clocks.last):
            shared = self._sharing is Sharing.ALWAYS
            clocks = new_clocks(self._groups, slots, shared=shared)
            copy_rows(self._clocks, clocks)
            self._clocks = clocks
        if 0 < len(self._held.key) < slots:
            held = self._new_held(slots)
            copy_rows(self._held, held)
            self._held = held

    def _grow_totals(self) -> None:
        have = len(self._totals.query)
        rows = 2 * have
        while rows < self._totals.count[0] + self._layout.most_closed:
            rows *= 2
        self._totals = grown_totals(self._layout, self._totals, rows)

    def _take(self, chosen: NDArray[np.bool_]) -> pa.RecordBatch:
        """Remove the chosen rows from the totals and return them."""
        batch = totals_batch(self._layout, self._totals, chosen)
        if batch.num_rows:
            keep = ~chosen
            kept = int(keep.sum())
            rest = new_totals(self._layout, len(self._totals.query))
            for name, rows in self._totals._asdict().items():
                if name not in {"table", "count"}:
                    getattr(rest, name)[:kept] = rows[: len(keep)][keep]
            rest.count[0] = kept
            kernels.rebuild_table(rest)
            self._totals = rest
            self.statistics.totals += batch.num_rows
        return batch

    def _measure(self) -> None:
        size = size_of(self._state, self._totals, self._clocks, self._held)
        self.statistics.state_bytes = max(self.statistics.state_bytes, size)
        self._measure_sharing()

    def _measure_sharing(self) -> None:
        if self._shared.groups:
            found = measure(self.unit, self._shared.groups, self._groups, self._bursts)
            # what the windows of a single query share, it shares with no other
            self.statistics.sharing = [one for one in found if len(one.queries) > 1]


def _codes(batch: pa.RecordBatch, name: str) -> NDArray[np.int32]:
    """Return a column of codes, without copying where it is int32 already."""
    return np.ascontiguousarray(batch.column(name).to_numpy(zero_copy_only=False), dtype=np.int32)


def _ints(batch: pa.RecordBatch, name: str) -> NDArray[np.int64]:
    """Return a column of whole numbers, without copying where it is int64 already."""
    return np.ascontiguousarray(batch.column(name).to_numpy(zero_copy_only=False), dtype=np.int64)
