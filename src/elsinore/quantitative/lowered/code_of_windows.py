"""Windows over the last values, as source (see `windows`)."""

from __future__ import annotations

from typing import Any

from elsinore.quantitative.approximate import ExponentialHistogram
from elsinore.quantitative.folds import Merging, most_common
from elsinore.quantitative.lowered import objects
from elsinore.quantitative.lowered.code_of_tables import TableCode
from elsinore.quantitative.lowered.words import Dynamic, Marks, Panes, size
from elsinore.quantitative.machine.layout import Place
from elsinore.quantitative.machine.names import INDENT


class WindowCode(TableCode):
    """Writes that windows get values."""

    def push(self, place: Place, state: Any, value: Any) -> tuple[str, str]:
        """Write that a window gets a value; return the window's state and value then."""
        kind = self.types.window(place)
        shared = self._is_held(kind, state)
        if isinstance(kind, Marks):
            return self._push_mark(place, kind, state, value, shared)
        push = self._push_ring if kind.how == "ring" else self._push_stacks
        after, total = push(place, kind, state, value, shared)
        finish = place.window.fold.finish
        if finish is not None:
            total = self._of(place, "finish", finish, [total])
        elif isinstance(kind.accumulator, Dynamic) and not self._only_read(place):
            total = self._assign(f"share(H, J, {total})")
        return after, total

    def _only_read(self, place: Place) -> bool:
        """Return whether a window's value is read at once, and kept nowhere."""
        return place.parent is not None and place.parent.function is most_common

    def _push_mark(
        self, place: Place, kind: Marks, state: str, value: str, shared: str
    ) -> tuple[str, str]:
        window = place.window
        assert isinstance(window, ExponentialHistogram)
        levels = kind.size.bit_length() + 2
        bounds = f"{kind.size}, {window.most(1)}, {window.most(2)}, {levels}"
        number = self.kind_of(kind)
        after = self._assign(
            f"mark(H, J, T, {number}, {state}, {shared}, (1 if {value} != 0 else 0), {bounds})"
        )
        return after, self._assign(f"marks(H, {after}, {levels})")

    def _push_ring(
        self, place: Place, kind: Panes, state: str, value: str, shared: str
    ) -> tuple[str, str]:
        fold, most = place.window.fold, kind.size
        head, stride = objects.RING + size(kind.accumulator), size(kind.value)
        at = self._temporary()
        self._line(f"if {state} == 0:")
        self._level += 1
        self._line(f"{at} = new_window(H, {self.kind_of(kind)}, {head}, {stride}, {most})")
        init = self._init(place, kind)
        self._write("H", at, objects.RING, kind.accumulator, init)
        self._level -= 1
        self._line("else:")
        self._level += 1
        held = f"{state}, {shared}, {most}, {head}, {stride}"
        self._line(f"{at} = ring_with_room(H, J, T, {held})")
        self._level -= 1
        self._line(f"keep(H, J, {at} + FIRST, {head - objects.FIRST})")
        capacity, first, filled = (
            self._assign(f"H[{at} + {word}]") for word in ("CAPACITY", "FIRST", "FILLED")
        )
        slot, to = self._temporary(), self._temporary()
        self._line(f"{slot} = {first} + {filled}")
        self._line(f"if {slot} >= {capacity}: {slot} -= {capacity}")
        self._line(f"{to} = {at} + {head} + {slot} * {stride}")
        total = self._read("H", at, objects.RING, kind.accumulator)
        if fold.inverse is not None:
            stepped = self._of(place, "step", fold.step, [self._assign(total), value])
            self._write("H", at, objects.RING, kind.accumulator, stepped)
            self._line(f"if {filled} == {most}:")
            self._level += 1
            oldest = self._assign(self._read("H", to, 0, kind.value))
            again = self._assign(total)
            self._write("H", at, objects.RING, kind.accumulator,
                        self._of(place, "inverse", fold.inverse, [again, oldest]))  # fmt: skip
            self._level -= 1
        self._line(f"if {filled} == {most}:")
        self._line(f"{INDENT}keep(H, J, {to}, {stride})")
        self._line(f"{INDENT}H[{at} + FIRST] = {first} + 1 if {first} + 1 < {capacity} else 0")
        self._line("else:")
        self._line(f"{INDENT}H[{at} + FILLED] = {filled} + 1")
        kept = value
        if isinstance(kind.value, Dynamic):
            kept = self._assign(f"share(H, J, {value})")
        self._write("H", to, 0, kind.value, kept)
        if fold.inverse is None:
            self._fold_anew(place, kind, at, head, stride)
        return at, self._assign(total)

    def _fold_anew(self, place: Place, kind: Panes, at: str, head: int, stride: int) -> None:
        self._write("H", at, objects.RING, kind.accumulator, self._init(place, kind))
        number = self._temporary()
        self._line(f"for {number} in range(H[{at} + FILLED]):")
        self._level += 1
        slot = self._assign(f"(H[{at} + FIRST] + {number}) % H[{at} + CAPACITY]")
        begin = self._assign(f"{at} + {head} + {slot} * {stride}")
        value = self._assign(self._read("H", begin, 0, kind.value))
        total = self._assign(self._read("H", at, objects.RING, kind.accumulator))
        after = self._of(place, "step", place.window.fold.step, [total, value])
        self._write("H", at, objects.RING, kind.accumulator, after)
        self._level -= 1

    def _push_stacks(
        self, place: Place, kind: Panes, state: str, value: str, shared: str
    ) -> tuple[str, str]:
        fold, most = place.window.fold, kind.size
        whole, one = size(kind.accumulator), size(kind.value)
        head = objects.STACKS + whole
        at = self._temporary()
        self._line(f"if {state} == 0:")
        call = f"new_window(H, {self.kind_of(kind)}, {head}, {whole + one}, {most})"
        self._line(f"{INDENT}{at} = {call}")
        self._line("else:")
        call = f"stacks_with_room(H, J, T, {state}, {shared}, {most}, {head}, {whole}, {one})"
        self._line(f"{INDENT}{at} = {call}")
        self._line(f"keep(H, J, {at} + DONE, {head - objects.DONE})")
        newer = self._assign(f"{at} + {head} + H[{at} + CAPACITY] * {whole}")
        self._line(f"if H[{at} + OLDER] - H[{at} + DONE] + H[{at} + NEWER] == {most}:")
        self._level += 1
        self._line(f"if H[{at} + OLDER] == H[{at} + DONE]:")
        self._level += 1
        self._line(f"H[{at} + OLDER] = H[{at} + NEWER]")
        self._line(f"H[{at} + NEWER] = 0")
        self._line(f"H[{at} + DONE] = 0")
        entry = self._temporary()
        self._line(f"for {entry} in range(H[{at} + OLDER] - 1, -1, -1):")
        self._level += 1
        begin = self._assign(f"{newer} + {entry} * {one}")
        kept = self._assign(self._read("H", begin, 0, kind.value))
        alone = self._of(place, "step", fold.step, [self._init(place, kind), kept])
        to = self._assign(f"{at} + {head} + {entry} * {whole}")
        self._line(f"if {entry} == H[{at} + OLDER] - 1:")
        self._level += 1
        self._write("H", to, 0, kind.accumulator, alone)
        self._level -= 1
        self._line("else:")
        self._level += 1
        before = self._assign(self._read("H", to, whole, kind.accumulator))
        joined = self._of(place, "combine", fold.combine, [alone, before])
        self._write("H", to, 0, kind.accumulator, joined)
        self._level -= 3
        self._line(f"H[{at} + DONE] += 1")
        self._level -= 1
        alone = self._of(place, "step", fold.step, [self._init(place, kind), value])
        self._line(f"if H[{at} + NEWER] == 0:")
        self._level += 1
        self._write("H", at, objects.STACKS, kind.accumulator, alone)
        self._level -= 1
        self._line("else:")
        self._level += 1
        before = self._assign(self._read("H", at, objects.STACKS, kind.accumulator))
        joined = self._of(place, "combine", fold.combine, [before, alone])
        self._write("H", at, objects.STACKS, kind.accumulator, joined)
        self._level -= 1
        slot = self._assign(f"{newer} + H[{at} + NEWER] * {one}")
        self._line(f"keep(H, J, {slot}, {one})")
        self._write("H", slot, 0, kind.value, value)
        self._line(f"H[{at} + NEWER] += 1")
        total = self._assign(self._read("H", at, objects.STACKS, kind.accumulator))
        oldest = self._temporary()
        self._line(f"if H[{at} + OLDER] == H[{at} + DONE]:")
        self._line(f"{INDENT}{oldest} = {total}")
        self._line("else:")
        self._level += 1
        to = self._assign(f"{at} + {head} + H[{at} + DONE] * {whole}")
        older = self._assign(self._read("H", to, 0, kind.accumulator))
        total_name = self._of(place, "combine", fold.combine, [older, total])
        self._line(f"{oldest} = {total_name}")
        self._level -= 1
        return at, oldest

    def _init(self, place: Place, kind: Panes) -> str:
        init = place.window.fold.init
        if init is None or init is True or init is False:
            return repr(init)
        name = f"k{self.number(place)}"
        self.context.constants[name] = init, kind.accumulator
        return name

    def _of(self, place: Place, role: str, function: Any, arguments: list[str]) -> str:
        """Write the call of one of a window's functions; return the variable with its value."""
        if isinstance(function, Merging):
            kind = self.types.window(place)
            total, counts = arguments
            return self._merged(kind.accumulator, function.sign, total, counts, "False")
        if function is most_common:
            return self._best(self.types.window(place).accumulator, arguments[0])
        return self._call(place, role, function, arguments)
