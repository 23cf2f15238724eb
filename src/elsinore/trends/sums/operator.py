"""The trend operator: ordered Arrow batches in, totals of closed windows out."""

from __future__ import annotations

from struct import Struct
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import no_rows, to_arrow, to_numpy
from elsinore.kernels import Store, enter, is_compiled
from elsinore.kernels.arrow import Lender
from elsinore.kernels.saved import pack, reading_state, unpack
from elsinore.model.window import overlap_of
from elsinore.operators.slots import KeySlots, KeyTable, counts_that_fit, words_of
from elsinore.plan import Sharing, TrendUnit
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.core.totals import rebuild_table
from elsinore.trends.partials import TotalsRoom, totals_fields
from elsinore.trends.statistics import SAVED_BY, TrendStatistics
from elsinore.trends.sums.entry import (
    ALL_SLOTS,
    CALL,
    CELLS,
    CLOSING,
    CODES,
    GIVEN,
    HEADERS,
    LENT,
    LISTED_SLOTS,
    MORE_LENT,
    MORE_ROOM,
    MORE_SLOTS,
    NO_SLOTS,
    OF_CALL,
    PLACE,
    ROOM,
    SLOT_COUNT,
    SLOTS,
    UNTIL,
    WHOLES,
    arrive,
    arrive_sharing,
    read_sums,
)
from elsinore.trends.sums.measure import measure
from elsinore.trends.sums.prepared import prepared
from elsinore.trends.sums.run import COMPILE, DISORDER, DONE, GROW, UNKNOWN
from elsinore.trends.sums.store import STATE, new_store
from elsinore.trends.values.columns import (
    CLASS,
    addend_columns,
    event_by_event,
    in_place,
    is_in_place,
    numbers_of,
    out_of_order,
    ranks_by_event,
)
from elsinore.trends.values.shifts import Shifts

PLAIN_SECONDS = 1.5e-4  # that an event takes in plain Python, and ...
PLAIN_LANE = 7e-6  # ... for each cell of a key, at most
SECONDS_READ = 1e-6  # that reading a number takes in plain Python
SLOTS_OF_ROW = 4  # for which there is a row of totals at least where rows run out: all are copied
FEW_ROWS = 2**12  # of totals, runs, up to which room is made eight times as much: it takes longest
MOST_AHEAD = 2**16  # rows for which there is room before it is known that there will be so many
AHEAD = 2**14  # events looked at for classes that are not compiled yet
TABLE_LIMIT = 2**22  # so many classes are looked up in a table; more are found by sorting

_OF_CALL = Struct(f"{UNTIL + 1}q")  # into arrays sooner than word by word
_NO_ADDENDS, _NO_RANKS = np.empty(0), np.empty(0, dtype=np.int64)


class TrendOperator:
    """Aggregates all trends of a unit's queries, coarse granularity (COGRA; HAMLET, Section 3.2).

    A batch has the columns `key` and `group` (int32 codes; a key has one group), `time` (int64,
    microseconds), `class` (int64, see `elsinore.plan.classes`; below 0: of no interest), and of
    each attribute its double `sum:<name>` or its order-keeping integer `rank:<name>`. Each key's
    rows are in time order.

    `one_slot`: keys come one after another, those of a group together, and never again; memory
    is then one key's, and totals are given out as groups end. `ordered`: no key has two events of
    one time, or those are in an order of their own: each event is a moment, and acts when it comes.
    Otherwise a key's latest moment waits until a later event comes or its windows close
    (`elsinore.trends.sums.moments`). Events that act on nothing do not count.

    `sharing`: which bursts are worked on once for all lanes that they act on alike
    (`elsinore.trends.sharing`); results are the same. `record`: keep a record of each burst.
    `store`: the state of an operator that was saved; by default a new one.
    """

    def __init__(
        self,
        unit: TrendUnit,
        *,
        one_slot: bool = False,
        ordered: bool = False,
        sharing: Sharing = Sharing.DYNAMIC,
        record: bool = False,
        store: Store | None = None,
    ) -> None:
        self.unit = unit
        self._statistics = TrendStatistics()
        self._modes = (one_slot, ordered, record)
        self._one_slot = one_slot
        self._ordered = ordered
        self._sharing = sharing
        self._prepared = prepared(unit, sharing)
        self._words = self._prepared.words
        self._arrive = arrive_sharing if self._prepared.shared.groups else arrive
        self._ranks = self._prepared.updates.ranks
        self._adds = bool(unit.addends)
        self._schema = pa.schema([])  # of batches that fit as they are
        self._sums: NDArray[np.int64] | None = None  # see `_places_of_sums`
        self._numbered = unit.classes.size > TABLE_LIMIT
        self._compiled: list[int] = []  # the codes of the classes that occurred, in turn
        self._places: dict[int, int] = {}  # code -> place in `_known`, where codes are too many
        self._known = np.full(min(unit.classes.size, TABLE_LIMIT) + 1, UNKNOWN, dtype=np.int64)
        layout = self._prepared.layout
        self._store: Store = store or new_store(
            self._prepared.updates,
            layout,
            self._prepared.shared,
            self._prepared.totals,
            gains=not ordered,
            record=record,
        )
        schema = totals_fields(unit, exact=False)
        self._none = no_rows(schema)
        self._store["wanted"] = sharing is Sharing.ALWAYS
        self._store["one_slot"], self._store["ordered"] = one_slot, ordered
        self._store["dynamic"] = sharing is Sharing.DYNAMIC
        self._seconds = PLAIN_SECONDS + PLAIN_LANE * layout.cells
        self._room = TotalsRoom(schema, len(unit.squared))
        self._call = np.zeros(CALL, dtype=np.int64)
        self._call_words = self._call.data  # sooner read and written one by one
        self._lender = Lender()
        self._lent: KeyTable | None = None  # of which `_call` tells, as of ...
        # ... room for the slots of a batch's events, or those that are closed
        self._slots, self._slot_counts = np.empty(0, dtype=np.int32), range(1)
        self._shifts = Shifts(unit)
        self._tell()

    @property
    def statistics(self) -> TrendStatistics:
        """What the operator has done so far."""
        self._statistics.matched = self._store["matched"]
        self._statistics.state_bytes = self._store.nbytes  # which never get less
        if self._prepared.shared.groups:
            measured = measure(self.unit, self._prepared.shared.groups, self._store)
            # what the windows of a single query share, it shares with no other
            self._statistics.sharing = [of_set for of_set in measured if len(of_set.queries) > 1]
        return self._statistics

    @property
    def open_group(self) -> int:
        """The group of the key that goes on, with `one_slot`; -1 where there is none yet."""
        return int(self._store["group_code"][0]) if self._store["key"][0] >= 0 else -1

    @staticmethod
    def bytes_per_key(unit: TrendUnit) -> int:
        """Return about how much memory each key takes, but with `one_slot`."""
        entries = 16
        for number, node in enumerate(unit.merged.nodes):
            overlap = overlap_of(node.window)
            entries += overlap * (3 * len(node.linear) + len(node.extremes))
            entries += 0 if unit.summed else overlap  # what moments that wait will do
            if any(edge.source == number for edge in node.edges):
                entries += overlap * (1 + 2 * len(node.linear))  # its marks
        return 8 * entries

    def process(
        self, batch: pa.RecordBatch, slots: KeySlots | None = None, until: int | None = None
    ) -> pa.RecordBatch:
        """Take a batch; return totals that are final already: with `one_slot`, or if many are.

        slots: of keys; None: a key is its own slot. until: close then the windows that end by it,
        too, and return their totals. Raises InputError where a key's rows are not in time order.
        """
        rows = batch.num_rows
        if rows == 0:
            return self._none if until is None else self.close(until)
        self._statistics.events += rows
        ranks = ranks_by_event(self.unit, batch, self._ranks) if self._ranks else _NO_RANKS
        taken = batch
        if not batch.schema.equals(self._schema):
            taken = self._fitting(batch)  # which may number classes anew
        lends, closing = 0, NO_SLOTS
        if slots is not None:
            lends = rows
            if rows not in self._slot_counts:
                self._make_slots(rows)
            if slots.lent is not self._lent:
                self._lend(slots)
        if until is not None:
            closing = ALL_SLOTS
        try:
            lent = self._lender.lend(taken)
            addends = self._read_addends(batch, lent) if self._adds else _NO_ADDENDS
            call = self._call, addends, ranks
            _OF_CALL.pack_into(self._call_words, 0, lent, closing, lends, until or 0)
            how = self._arrive(*call) if self._is_compiled else self._enter(call, rows, closing)
            while how != DONE:
                self._help(how, taken, slots)
                how = self._enter(call, rows - self._store["begin"], closing)
        except BaseException:
            self._lender.take_back()  # `arrive` has let go of it else
            self._stop()
            raise
        given = self._given()
        if self._adds and until is not None:
            self._shifts.forget(until)
        return given

    def _stop(self) -> None:
        """Leave what a call has not done; the next begins anew."""
        self._store["begin"] = 0
        self._call[:OF_CALL] = 0

    def _fitting(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch, of another schema than the last, as `arrive` reads its first columns."""
        if not is_in_place(batch.schema):
            batch = in_place(batch)
        if self._adds:
            self._sums = _places_of_sums(self.unit, batch.schema)
        if not self._numbered:
            self._schema = batch.schema
        else:
            codes = to_arrow(self._codes(to_numpy(batch.column(CLASS))))
            batch = batch.set_column(CLASS, "class", codes)
        return batch

    def _tell(self) -> None:
        """Tell kernels where all is that a batch acts on."""
        lent = *self._store.entered, self._words, self._known
        self._call[HEADERS:LENT] = words_of(lent)
        self._is_compiled = is_compiled(self._arrive)  # what need not be asked for each batch

    def _enter(self, call: tuple[Any, ...], rows: int, closing: int) -> int:
        """Let `arrive` act on so many rows, then close windows or not."""
        closed = 0 if closing == NO_SLOTS else self._store.length("slot")
        return enter(self._arrive, self._seconds * (rows + closed), *call)

    def _make_slots(self, count: int) -> None:
        """Have room for so many slots, which kernels are told of, and for not far more."""
        self._slots = np.empty(count, dtype=np.int32)
        self._call[SLOTS] = self._slots.ctypes.data
        self._slot_counts = counts_that_fit(count, FEW_ROWS)

    def _lend(self, slots: KeySlots) -> None:
        """Tell kernels what slots are lent from."""
        self._lent = slots.lent
        self._call[LENT:] = words_of(slots.lent)

    def _help(self, how: int, batch: pa.RecordBatch | None, slots: KeySlots | None) -> None:
        """Do what must be done before a run goes on; no batch: windows are closed."""
        turn = self._store["begin"]
        if how == MORE_ROOM:
            self._make_room()
        elif how == GROW or batch is None:
            self._grow()
        elif how == COMPILE:
            codes = numbers_of(batch, "class", np.int64)[turn : turn + AHEAD]
            seen = np.unique(codes)
            seen = seen[seen >= 0]
            self._compile(seen[self._known[seen] == UNKNOWN].tolist())
        elif how == MORE_SLOTS:
            keys = self._slots[: batch.num_rows]
            keys = numbers_of(batch, "key", np.int32) if slots is None else keys
            self._grow_slots(int(keys.max()) + 1)
        elif how == MORE_LENT:
            assert slots is not None
            slots.grow()
            self._lend(slots)
        else:
            assert how == DISORDER
            raise out_of_order(numbers_of(batch, "time", np.int64)[turn])
        self._tell()

    def _read_addends(self, batch: pa.RecordBatch, lent: int) -> NDArray[np.float64]:
        """Return the addends of event 0, of event 1, ...; each with whether it is there."""
        if self._sums is not None:
            addends = np.empty(2 * len(self._sums) * batch.num_rows)
            enter(read_sums, SECONDS_READ * len(addends), lent, self._sums, addends)
            return addends
        groups = numbers_of(batch, "group", np.int32)
        if self._one_slot:  # the others were given out
            self._shifts.keep(self._shifts.groups == self.open_group)
        return event_by_event(*addend_columns(self.unit, batch, groups, self._shifts))

    def _close(self, closing: int, until: int, slots: int) -> None:
        """Close windows of so many slots that end by a time."""
        words, seconds = self._call_words, self._seconds * slots
        words[CLOSING], words[UNTIL] = closing, until
        try:
            while (how := enter(self._arrive, seconds, self._call, _NO_ADDENDS, _NO_RANKS)) != DONE:
                self._help(how, None, None)
        except BaseException:  # what was closed stays so; the others may be closed anew
            self._stop()
            raise

    def close(self, until: int | None = None) -> pa.RecordBatch:
        """Return the totals of all windows that end at or before `until`; None: of all windows."""
        time = int(FOREVER) if until is None else until
        self._close(ALL_SLOTS, time, self._store.length("slot"))
        given = self._given()
        self._shifts.forget(until)
        return given

    def forget(self, slots: NDArray[np.int64]) -> None:
        """Make slots ready for other keys; nothing of their keys is open, and what waits is over.

        What is shared stays so.
        """
        known = slots[slots < self._store.length("slot")]
        if len(known) not in self._slot_counts:
            self._make_slots(len(known))
        self._call_words[SLOT_COUNT] = len(known)
        self._slots[: len(known)] = known
        self._close(LISTED_SLOTS, int(FOREVER), len(known))

    def occupied(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the slots that keys have, and the time of each one's last event."""
        slots = np.flatnonzero(self._store["key"] >= 0)
        return slots, self._store["time"][slots]

    def deadline(self) -> int | None:
        """Return the end of the first window of which there is something to give out."""
        store, ends = self._store, []
        count = store["totals"]
        queries, waiting = store["total_query"][:count], store["time"][store["waiting"] != 0]
        for kind, window in enumerate(self.unit.merged.windows):
            if window is None:
                continue
            first, last = store["first"][:, kind], store["last"][:, kind]
            of_kind = [template.query.window == window for template in self.unit.templates]
            indices = [
                first[(store["key"] >= 0) & (first <= last)],
                store["total_window"][:count][np.array(of_kind)[queries]],
            ]
            if len(waiting):
                indices.append(np.array([window.first(int(waiting.min()))]))
            ends += [window.bounds(int(some.min()))[1] for some in indices if len(some)]
        return min(ends, default=None)

    def _codes(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return codes that index the table of known classes, where it has a row for each class.

        Where it has not, those that occur are numbered anew, by sorting.
        """
        if not self._numbered:
            return codes
        unique, inverse = np.unique(codes, return_inverse=True)
        for code in unique[unique >= 0].tolist():
            if code not in self._places:
                self._places[code] = len(self._places)
        if len(self._places) > len(self._known):
            unknown = np.full(2 * len(self._places) - len(self._known), UNKNOWN, dtype=np.int64)
            self._known = np.concatenate((self._known, unknown))
            self._tell()
        places = [self._places[code] if code >= 0 else -1 for code in unique.tolist()]
        return np.array(places, dtype=np.int64)[inverse]

    def _compile(self, places: list[int]) -> None:
        """Add the classes at some places of the table of known classes to the program."""
        codes = places
        if self._numbered:
            code_of = {number: code for code, number in self._places.items()}
            codes = [code_of[place] for place in places]
        self._known[places] = self._prepared.places(codes)
        self._words = self._prepared.words
        self._compiled += codes
        self._store.grow(class_number=self._prepared.classes)
        self._statistics.classes = len(self._compiled)

    def save(self) -> bytes:
        """Return all that is needed to go on later as if never stopped."""
        arrays: dict[str, NDArray[Any]] = {
            "store": np.frombuffer(self._store.save(), dtype=np.uint8),
            "codes": np.array(self._compiled, dtype=np.int64),
            "prepared": np.array(self._prepared.codes, dtype=np.int64),
            "modes": np.array(self._modes),
            "sharing": np.array(self._sharing.value),
            "shifts": self._shifts.saved[1],
            "shifted": self._shifts.saved[0],
            "statistics": np.array([self._statistics.events, self._statistics.totals]),
        }
        return pack(SAVED_BY, self.unit.fingerprint, arrays)

    @classmethod
    @reading_state(SAVED_BY)
    def load(cls, unit: TrendUnit, blob: bytes) -> TrendOperator:
        """Return the operator that `save` made the bytes of.

        Raises StateError where the bytes are damaged or of another version or workload.
        """
        arrays = unpack(SAVED_BY, unit.fingerprint, blob)
        one_slot, ordered, record = arrays["modes"].tolist()
        sharing = Sharing(str(arrays["sharing"]))
        store = Store.load(STATE, arrays["store"].tobytes())
        operator = cls(
            unit, one_slot=one_slot, ordered=ordered, sharing=sharing, record=record, store=store
        )
        operator._prepared = prepared(unit, sharing, arrays["prepared"].tolist())
        operator._compile(operator._codes(arrays["codes"]).tolist())
        operator._shifts.load(arrays["shifted"], arrays["shifts"])
        operator._tell()
        statistics = operator._statistics
        statistics.events, statistics.totals = arrays["statistics"].tolist()
        return operator

    def _grow(self) -> None:
        """Make room for totals, and for simultaneous events."""
        store = self._store
        rows, needed = store.sizes["row"], store["totals"] + 2 * store["most_closed"]
        if self._call_words[UNTIL] == FOREVER:  # all that is left will be closed
            left = store.sizes["slot"] - store["begin"]
            needed += min(left * store["most_closed"], MOST_AHEAD)
        if rows < needed:
            needed = max(needed, store.sizes["slot"] // SLOTS_OF_ROW)
        while rows < needed:  # a power of two, as `find_total` has it
            rows *= 8 if rows < FEW_ROWS else 2
        if rows > store.sizes["row"]:
            store.resize(row=rows, bucket=2 * rows if store.sizes["bucket"] else 0)
            self._rebuild()
        if store.free("run") == 0:
            store.grow(run=(8 if store.sizes["run"] < FEW_ROWS else 2) * store.sizes["run"])

    def _grow_slots(self, slots: int) -> None:
        """Make room for so many slots, and for what will be needed soon: all is moved each time.

        That is the classes of former runs, and a row of totals for each slot, where slots are few.
        """
        store = self._store
        rows = min(slots + 2 * store["most_closed"], FEW_ROWS)
        rows = 0 if store.sizes["bucket"] else 1 << (rows - 1).bit_length()
        store.grow(slot=slots, class_number=self._prepared.classes, row=rows)

    def _make_room(self) -> None:
        """Make room for all totals to be put that may be given out."""
        room, call = self._room, self._call
        arrays = room.arrays(self._store["totals"])
        call[WHOLES], call[CELLS], call[CODES] = (array.ctypes.data for array in arrays)
        call[PLACE], call[ROOM] = room.begin, room.rows

    def _given(self) -> pa.RecordBatch:
        """Return the totals that were given out."""
        rows = self._call_words[GIVEN]
        if rows == 0:
            return self._none
        self._statistics.totals += rows
        totals = self._room.cut(rows, self._shifts)
        self._call_words[PLACE] = self._room.begin
        return totals

    def _rebuild(self) -> None:
        seconds = 1e-5 * (self._store.sizes["bucket"] + self._store["totals"])
        enter(rebuild_table, seconds, *self._store.arguments[:2])


def _places_of_sums(unit: TrendUnit, schema: pa.Schema) -> NDArray[np.int64] | None:
    """Return the places of the columns that are added up, where kernels read these as they are."""
    places = [schema.names.index(f"sum:{name}") for name in unit.summed]
    if unit.squared or any(schema.field(place).type != pa.float64() for place in places):
        return None
    return np.array(places, dtype=np.int64)
