"""Sliding windows as instructions: what a value does to a window's buffers and its accumulator.

- `inverse`: the oldest value is taken out of the accumulator again;
- `combine`: two stacks, the older values folded from their end, the newer ones into one
  accumulator; when the older stack is empty and the window full, the newer values become the older
  stack, so that a value costs two joins in the mean (Tangwongsan, Hirzel and Schneider, General
  Incremental Sliding-Window Aggregation, VLDB 2015);
- neither: the values are folded anew each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import getitem
from typing import Any

from elsinore.quantitative.machine import instructions as ins
from elsinore.quantitative.machine.frames import Buffer
from elsinore.quantitative.machine.symbols import (
    Emitter,
    Label,
    Parts,
    Result,
    Symbol,
    fields_of,
    form_of,
    in_form,
)
from elsinore.quantitative.windows import Sliding

EMPTY = Buffer(0)  # never changed: a first value makes a buffer of its own
Apply = Callable[[Any, list[Symbol]], Symbol]  # the value of a function


class SlidingCode:
    """Notes the instructions of a window."""

    def __init__(self, emitter: Emitter, window: Sliding, apply: Apply) -> None:
        self.emitter, self.window, self.fold, self.apply = emitter, window, window.fold, apply
        self.zero, self.one = emitter.constant(0), emitter.constant(1)
        self.size = emitter.constant(window.size)

    def empty(self) -> Parts:
        """Return the state of a window without values."""
        emitter = self.emitter
        buffer, start = emitter.constant(EMPTY), emitter.in_parts(self.fold.init)
        if self.window.is_stacks:
            is_whole = not self._keeps_form(start)
            older = [buffer for _ in leaves_of(start)][: 1 if is_whole else None]
            joined = self.zero if is_whole else start
            return Parts(tuple, [Parts(tuple, older), self.zero, buffer, self.zero, joined])
        state = [buffer, self.zero, self.zero]
        return Parts(tuple, state if self.fold.inverse is None else [*state, start])

    def _keeps_form(self, start: Symbol) -> bool:
        """Return whether all accumulators have the parts of the first one."""
        mark = self.emitter.mark
        alone = self.apply(self.fold.step, [start, Result()])
        joined = self.apply(self.fold.combine, [alone, alone])
        self.emitter.go_back(mark)
        return bool(shape_of(alone) == shape_of(joined) == shape_of(start))

    def push(self, state: Symbol, value: Symbol) -> tuple[Symbol, Symbol]:
        """Return the state after a value, and the accumulator then."""
        assert isinstance(state, Parts)
        if self.window.is_stacks:
            return self._push_stacks(state, value)
        return self._push_anew(state, value) if self.fold.inverse is None else self._push(
            state, value
        )  # fmt: skip

    # --- instructions ---------------------------------------------------------------------------

    def _add(self, left: Symbol, right: Symbol) -> Symbol:
        return self.emitter.emit(ins.ADD, left, right)

    def _less(self, left: Symbol, right: Symbol) -> Symbol:
        return self.emitter.emit(ins.SUBTRACT, left, right)

    def _equal(self, left: Symbol, right: Symbol) -> Symbol:
        return self.emitter.emit(ins.EQUAL, left, right)

    def _read(self, buffer: Symbol, index: Symbol) -> Symbol:
        return self.emitter.emit(ins.READ_BUFFER, buffer, index)

    def _append(self, buffer: Symbol, first: Symbol, beyond: Symbol, value: Symbol) -> Symbol:
        return self.emitter.emit(ins.APPEND, buffer, first, beyond, self.emitter.whole(value))

    # --- the three ways -------------------------------------------------------------------------

    def _push(self, state: Parts, value: Symbol) -> tuple[Symbol, Symbol]:
        """Take the oldest value out."""
        buffer, first, beyond, total = state.parts
        total = self.apply(self.fold.step, [total, value])

        def without_oldest() -> Symbol:
            less = self.apply(self.fold.inverse, [total, self._read(buffer, first)])
            return Parts(tuple, [less, self._add(first, self.one)])

        is_full = self._equal(self._less(beyond, first), self.size)
        after = self.emitter.chosen(is_full, without_oldest, lambda: Parts(tuple, [total, first]))
        assert isinstance(after, Parts)
        total, first = after.parts
        buffer = self._append(buffer, first, beyond, value)
        return Parts(tuple, [buffer, first, self._add(beyond, self.one), total]), total

    def _push_anew(self, state: Parts, value: Symbol) -> tuple[Symbol, Symbol]:
        """Fold all values."""
        buffer, first, beyond = state.parts
        value = self.emitter.whole(value)
        is_full = self._equal(self._less(beyond, first), self.size)
        first = self.emitter.chosen(is_full, lambda: self._add(first, self.one), lambda: first)
        buffer = self._append(buffer, first, beyond, value)
        beyond = self._add(beyond, self.one)
        start = self.emitter.in_parts(self.fold.init)
        after = Parts(tuple, [buffer, first, beyond])

        def next_of(index: Symbol, total: Symbol) -> Symbol:
            return self.apply(self.fold.step, [total, self._read(buffer, index)])

        return after, self._folded(start, first, beyond, next_of)

    def _push_stacks(self, state: Parts, value: Symbol) -> tuple[Symbol, Symbol]:
        """Join what two stacks have."""
        stacks, older_count, newer, newer_count, joined = state.parts
        assert isinstance(stacks, Parts)
        emitter, step, combine = self.emitter, self.fold.step, self.fold.combine
        start, value = emitter.in_parts(self.fold.init), emitter.whole(value)
        form = start if len(stacks.parts) > 1 else None

        def turned() -> Symbol:
            turned_stacks = self._turned(newer, newer_count, start, form)
            return Parts(tuple, [turned_stacks, newer_count, self.zero])

        def kept() -> Symbol:
            return Parts(tuple, [stacks, older_count, newer_count])

        def without_oldest() -> Symbol:
            after = emitter.chosen(self._equal(older_count, self.zero), turned, kept)
            assert isinstance(after, Parts)
            left, count, newer_left = after.parts
            return Parts(tuple, [left, self._less(count, self.one), newer_left])

        is_full = self._equal(self._add(older_count, newer_count), self.size)
        after = emitter.chosen(is_full, without_oldest, kept)
        assert isinstance(after, Parts)
        left, older_left, newer_left = after.parts
        assert isinstance(left, Parts)
        alone = self._formed(self.apply(step, [start, value]), form)
        so_far = self._formed(joined, form)
        joined = emitter.chosen(
            self._equal(newer_left, self.zero),
            lambda: alone,
            lambda: self._formed(self.apply(combine, [so_far, alone]), form),
        )
        newer = self._append(newer, self.zero, newer_left, value)

        def of_both() -> Symbol:
            top = self._less(older_left, self.one)
            parts = [self._read(buffer, top) for buffer in left.parts]
            first = parts[0] if form is None else with_leaves(form, parts)
            return self._formed(self.apply(combine, [first, joined]), form)

        is_alone = self._equal(older_left, self.zero)
        total = emitter.chosen(is_alone, lambda: joined, of_both)
        count = self._add(newer_left, self.one)
        return Parts(tuple, [left, older_left, newer, count, joined]), total

    def _turned(self, newer: Symbol, count: Symbol, start: Symbol, form: Symbol | None) -> Symbol:
        """Return the stacks of the newer values, folded from their end, one for each part."""
        emitter, step, combine = self.emitter, self.fold.step, self.fold.combine
        last = self._less(count, self.one)
        total = self._formed(self.apply(step, [start, self._read(newer, last)]), form)
        empty = emitter.constant(EMPTY)
        stacks = [self._append(empty, self.zero, self.zero, leaf) for leaf in leaves_of(total)]
        variables = self._variables(last, self.one, total, Parts(tuple, stacks))
        index, height, so_far, growing = variables
        with self._repeated(ins.GREATER, index, self.zero):
            before = self._less(index, self.one)
            alone = self._formed(self.apply(step, [start, self._read(newer, before)]), form)
            longer = self._formed(self.apply(combine, [alone, so_far]), form)
            grown = [
                self._append(stack, self.zero, height, part)
                for stack, part in zip(leaves_of(growing), leaves_of(longer), strict=True)
            ]
            after = [before, self._add(height, self.one), longer, Parts(tuple, grown)]
            self._assign(variables, after)
        return growing

    def _folded(
        self, start: Symbol, first: Symbol, beyond: Symbol, next_of: Callable[..., Symbol]
    ) -> Symbol:
        """Return the fold from `start` of what `next_of` makes of indices and accumulators."""
        mark = self.emitter.mark
        folded = self._folded_in_parts(start, first, beyond, next_of)
        if folded is None:  # the accumulators are not of the form of the first one
            self.emitter.go_back(mark)
            whole = self.emitter.whole(start)
            folded = self._folded_in_parts(whole, first, beyond, next_of)
            assert folded is not None
        return folded

    def _folded_in_parts(
        self, start: Symbol, first: Symbol, beyond: Symbol, next_of: Callable[..., Symbol]
    ) -> Symbol | None:
        variables = self._variables(first, start)
        index, total = variables
        with self._repeated(ins.LESS, index, beyond):
            after = next_of(index, total)
            if not isinstance(start, Parts):
                after = self.emitter.whole(after)
            if shape_of(after) != shape_of(start):
                return None
            self._assign(variables, [self._add(index, self.one), after])
        return total

    # --- repetition -----------------------------------------------------------------------------

    def _formed(self, symbol: Symbol, form: Symbol | None) -> Symbol:
        """Return a value in the parts that a form has; None: as a whole."""
        emitter = self.emitter
        if form is None:
            return emitter.whole(symbol)
        if not isinstance(form, Parts):
            return emitter.whole(symbol)
        if isinstance(symbol, Parts) and len(symbol.parts) == len(form.parts):
            parts = list(symbol.parts)
        else:  # what another process could translate when it saved the state
            whole, fields = emitter.whole(symbol), fields_of(form.kind)
            parts = [
                emitter.emit(ins.BINARY, whole, emitter.constant(n), function=getitem)
                if fields is None
                else emitter.emit(ins.FIELD, whole, function=fields[n])
                for n in range(len(form.parts))
            ]
        pairs = zip(parts, form.parts, strict=True)
        return Parts(form.kind, [self._formed(part, of_part) for part, of_part in pairs])

    def _variables(self, *symbols: Symbol) -> list[Symbol]:
        """Return variables that begin with some values."""
        variables: list[Symbol] = []
        for symbol in symbols:
            leaves = leaves_of(symbol)
            results = [Result() for _ in leaves]
            for result, leaf in zip(results, leaves, strict=True):
                self.emitter.move(result, leaf)
            variables.append(with_leaves(symbol, results))
        return variables

    def _assign(self, variables: Sequence[Symbol], symbols: Sequence[Symbol]) -> None:
        """Give variables new values, all at once."""
        targets = [leaf for variable in variables for leaf in leaves_of(variable)]
        values = [leaf for symbol in symbols for leaf in leaves_of(symbol)]
        for place, value in enumerate(values):
            if value in targets:
                values[place] = copy = Result()
                self.emitter.move(copy, value)
        for target, value in zip(targets, values, strict=True):
            assert isinstance(target, Result)
            self.emitter.move(target, value)

    @contextmanager
    def _repeated(self, comparison: int, left: Symbol, right: Symbol) -> Iterator[None]:
        """Repeat instructions while a comparison is true."""
        emitter, begin, end = self.emitter, Label(), Label()
        with emitter.apart() as lines:
            lines.append(begin)
            emitter.jump_where(False, emitter.emit(comparison, left, right), end)
            yield
            emitter.jump(begin)
            lines.append(end)
        emitter.lines += lines


def compact(window: Sliding, state: Any) -> Any:
    """Return a window's state without what the window has left, as it is saved."""
    if window.is_stacks:
        older, older_count, newer, count, joined = state
        kept = tuple(_part_of(buffer, 0, older_count) for buffer in older)
        return kept, older_count, _part_of(newer, 0, count), count, joined
    buffer, first, beyond, *total = state
    return (_part_of(buffer, first, beyond), 0, beyond - first, *total)


def _part_of(buffer: Buffer, first: int, beyond: int) -> Buffer:
    return Buffer(0, buffer.between(first, beyond))


def leaves_of(symbol: Symbol) -> list[Symbol]:
    """Return the parts of a symbol that have no parts."""
    leaves: list[Symbol] = []
    form_of(symbol, leaves.append)
    return leaves


def shape_of(symbol: Symbol) -> Any:
    """Return the structure of a symbol's parts."""
    return form_of(symbol, lambda _: 0)


def with_leaves(symbol: Symbol, leaves: Sequence[Symbol]) -> Symbol:
    """Return a symbol of the same structure with other leaves."""
    remaining = iter(leaves)
    return in_form(shape_of(symbol), lambda _: next(remaining))
