"""Items given to streams one after another, and the values that come of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cython
import numpy as np
import pyarrow as pa

from elsinore.arrow import to_arrow
from elsinore.quantitative.machine.frames import Buffer, Frame, append
from elsinore.quantitative.machine.instructions import BOOL, DOUBLE, INT, NONE
from elsinore.quantitative.machine.memory import Memory
from elsinore.quantitative.machine.moments import Moment
from elsinore.quantitative.machine.steps import step
from elsinore.quantitative.machine.tagged import boxed
from elsinore.quantitative.machine.transitions import Transition, built
from elsinore.quantitative.values import as_array, struct_of

FEW = 64  # places of values that there is room for at first
NOTHING: Any = object()  # where there is no value


class Values(Buffer):
    """Values of a query, the parts of each one after another.

    form: the structure of the values (`transitions.form_of`), which `earlier` ones did not have:
    these are Python's; width: how many parts a value has; tags: by part, a bit for each tag that
    there is.
    """

    def __init__(self) -> None:
        super().__init__(0)
        self.form, self.width = None, 1
        self.tags = np.zeros(1, np.int32)
        self.earlier: list[Any] = []

    def __len__(self) -> int:
        return len(self.earlier) + self.count // self.width

    def to_list(self) -> list[Any]:
        """Return the values as Python's."""
        values = [built(self.form, self, begin) for begin in range(0, self.count, self.width)]
        return [*self.earlier, *values]

    def column(self) -> pa.Array:
        """Return the values as a column of Arrow. Raises InputError for values of several kinds."""
        if self.earlier or not self.count:
            return as_array(self.to_list())
        return self._column(self.form)

    def _column(self, form: Any) -> pa.Array:
        """Return a part of the values, or the column of records with several."""
        if isinstance(form, tuple):
            kind, *parts = form
            return struct_of(kind, [self._column(part) for part in parts])
        tags = self.tags[form]
        kind = tags & ~(1 << NONE)
        if kind not in {1 << BOOL, 1 << INT, 1 << DOUBLE}:
            places = range(form, self.count, self.width)
            return as_array([boxed(self, place) for place in places])
        column = self.array[: self.count][form :: self.width]
        values = column["number"] if kind == 1 << DOUBLE else column["whole"]
        if kind == 1 << BOOL:
            values = values != 0
        mask = None if tags == kind else column["tag"] == NONE
        return to_arrow(np.ascontiguousarray(values), mask=mask)


@cython.cfunc
def _append(values: Values, transition: Transition, frame: Frame) -> cython.int:
    """Append the value that a transition has in a frame."""
    if transition.form is not values.form:
        if transition.form != values.form:
            values.earlier = values.to_list()
            values.count, values.objects = 0, []
            values.width = transition.value_slots.shape[0] - 1
            values.tags = np.zeros(values.width, np.int32)
        values.form = transition.form
    part: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    for part in range(values.width):
        slot = transition.value_slots[part]
        append(values, frame, slot)
        values.tags[part] |= 1 << frame.values[slot].tag
    return 0


class Batch:
    """Items of streams, for the queries of a pipeline, and what comes of them.

    memories: by query, the states of the streams; classes: of the items, by their predicates;
    codes: the items' streams, None: all of stream 0; rows: the numbers of the items to take, None:
    all.

    places, values: the items after which there are values, and these; last: each query's last
    value, NOTHING without; passed: by query but the first, the streams of the items that it has
    taken. taken: how many items were taken before one at which a function raised the `error`, in a
    query (`stage`).
    """

    def __init__(
        self,
        programs: Sequence[Any],
        memories: Sequence[Memory],
        classes: Any,
        codes: Any,
        rows: Any,
        items: Any,
    ) -> None:
        self.programs, self.memories = list(programs), list(memories)
        self.classes = classes
        self.has_codes, self.has_rows = codes is not None, rows is not None
        if codes is not None:
            self.codes = np.ascontiguousarray(codes, np.int32)
        if rows is not None:
            self.rows = np.ascontiguousarray(rows, np.int64)
        self.moment = Moment(items, programs[0].attributes)
        self.values = Values()
        self.places_array = self.places = np.zeros(FEW, np.int64)
        self.last: list[Any] = [NOTHING] * len(self.programs)
        self.passed: list[list[int]] = [[] for _ in self.programs]
        self.taken, self.stage = 0, 0
        self.error: Exception | None = None

    def run(self) -> None:
        """Take the items."""
        number: cython.Py_ssize_t = 0
        row: cython.Py_ssize_t
        code: cython.Py_ssize_t = 0
        count: cython.Py_ssize_t = self.rows.shape[0] if self.has_rows else self.classes.shape[0]
        moment: Moment = self.moment
        memory: Memory = self.memories[0]
        program = self.programs[0]
        pipes: cython.bint = len(self.programs) > 1
        values: Values = self.values
        found: Any = None
        has_last: cython.bint = False
        try:
            for number in range(count):
                row = self.rows[number] if self.has_rows else number
                if moment.undo:
                    moment.undo.clear()
                moment.row, moment.item_class = row, self.classes[row]
                moment.has_item = False
                moment.may_raise = pipes
                if self.has_codes:
                    code = self.codes[row]
                if pipes:
                    self._pass_on(row, code)
                    continue
                found = step(program, memory, code, moment, 0)
                has_last = found is not None
                if has_last:
                    _append(values, found, moment.frames[0])
                    _note(self, row)
            self.taken = count
        except Exception as error:
            moment.take_back()
            self.taken, self.error = number, error
        if not pipes and self.taken and self.error is None and has_last:
            self.last[0] = built(found.value, moment.frames[0])

    def _pass_on(self, row: int, code: int) -> None:
        """Give an item to the queries, one after another; all take it or none does."""
        moment: Moment = self.moment
        is_row = moment.is_row
        stage: cython.Py_ssize_t
        before: list[Any] = []
        reached: list[Any] = []
        try:
            for stage in range(len(self.programs)):
                self.stage = stage
                memory: Memory = self.memories[stage]
                program = self.programs[stage]
                moment.attributes = program.attributes
                if stage:
                    moment.item_class = -1  # while conditions are evaluated
                    moment.item_class = program.class_of(moment.known_item)
                    moment.is_row = False
                before.append((memory, code, memory.state(code)))
                found: Any = step(program, memory, code, moment, 0)
                value = NOTHING
                if found is not None:
                    value = built(found.value, moment.frames[0])
                    if stage == len(self.programs) - 1:
                        _append(self.values, found, moment.frames[0])
                        _note(self, row)
                reached.append(value)
                if found is None:
                    break
                moment.known_item, moment.has_item = value, True
        except Exception:
            moment.take_back()
            while before:
                memory, code, saved = before.pop()
                memory.put(code, *saved)
            raise
        moment.is_row = is_row
        for stage in range(len(reached)):
            self.last[stage] = reached[stage]
            if stage:
                self.passed[stage].append(code)
        self.stage = 0


@cython.cfunc
def _note(batch: Batch, row: cython.Py_ssize_t) -> cython.int:
    """Note that there is a value after an item."""
    count: cython.Py_ssize_t = len(batch.values) - 1
    if count == batch.places.shape[0]:
        array = np.zeros(2 * count, np.int64)
        array[:count] = batch.places_array
        batch.places_array = batch.places = array
    batch.places[count] = row
    return 0
