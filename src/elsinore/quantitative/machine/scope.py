"""What is written for one item in one control state: operations, then what they change.

Everything is computed before anything is changed. Windows, counts and the states of keys are
changed in place where the loops keep them for themselves.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any

from elsinore.quantitative.machine.control import Automaton, Choice, Outcome, State
from elsinore.quantitative.machine.derive import ITEM, Kind, Op, Symbol, registers
from elsinore.quantitative.machine.names import INDENT, Names, Page

CHANGED = re.compile(r"\br\d|\bR\d+\[|\bu\[")  # a register in an expression


def cells(kind: Kind) -> int:
    """Return how many variables a register has."""
    return kind.number if kind.of == "tuple" else 2 if kind.of in {"window", "keys"} else 1


class Scope(Names):
    """What is known by which name while an item's operations are written."""

    def __init__(
        self,
        writer: Page,
        automaton: Automaton,
        state: State,
        form: str,
        item: Sequence[bool] = (False,),
    ) -> None:
        super().__init__(writer, automaton.derivation, item)
        self.automaton, self.state, self.form = automaton, state, form
        self.outs: dict[int, str] = {}  # the values of keys that were given an item
        self.record: type | None = None  # what the value is given out as the fields of
        self.fields: list[str] = []  # the expressions of these
        self.after: list[str] = []  # lines that change what was before the item
        at = 1 if form == "u" else 0
        symbols = registers(state.kinds)
        for symbol, kind in zip(symbols, state.kinds, strict=True):
            names = [self._cell(at + cell) for cell in range(cells(kind))]
            at += len(names)
            self._give_parts(symbol, names) if kind.of == "tuple" else self._give(symbol, *names)

    def _cell(self, number: int) -> str:
        return {"r": f"r{number}", "R": f"R{number}[k]", "u": f"u[{number}]"}[self.form]

    def copy(self) -> Scope:
        """Return a scope that goes on by itself."""
        copied = type(self)(self.writer, self.automaton, self.state, self.form, self.made_item)
        copied.texts, copied.seconds = dict(self.texts), dict(self.seconds)
        copied.outs, copied.parts = dict(self.outs), dict(self.parts)
        copied.bound_rows, copied.after = self.bound_rows, list(self.after)
        return copied

    def choose(
        self,
        outcome: Outcome | Choice,
        number: int,
        bits: int,
        leave: Callable[[Scope, Outcome, int], None],
    ) -> None:
        """Write an item's operations, after the tests that they depend on."""
        writer = self.writer
        if isinstance(outcome, Choice):
            writer.line(f"if {writer.name_of(outcome.test)}({self._item(None)}):")
            for each in (outcome.yes, outcome.no):
                writer.level += 1
                begin = len(writer.lines)
                self.copy().choose(each, number, bits, leave)
                if len(writer.lines) == begin:
                    writer.line("pass")
                writer.level -= 1
                if each is outcome.yes:
                    writer.line("else:")
            return
        feeds = [op for op in outcome.ops if op.role == "feed" and not self._is_sync(op, bits)]
        for op in outcome.ops:
            if op not in feeds:
                self._operation(op, outcome, bits)
        for op in feeds:
            self.feed_own(op, bits)
        for line in self.after:
            writer.line(line)
        leave(self, outcome, number)

    # --- operations -----------------------------------------------------------------------------

    def _operation(self, op: Op, outcome: Outcome, bits: int) -> None:
        match op.role:
            case "call":
                text = self.call(op.function, op.given)
                if op.result.kind.of == "tuple":
                    self._give_tuple(op.result, text)
                elif not self._makes(op, outcome, text):
                    self._give(op.result, self._assign(text))
            case "count":
                self._count(op, outcome)
            case "push":
                self._push(op, outcome)
            case "value":
                self._value(op)
            case "keys":
                first = self.first(self.automaton.inner[op.result.kind.number])
                self._give(op.result, "{}", first)
            case "feed":
                self.feed_all(op, outcome, bits)
            case "collect":
                fed = self.outs.get(id(op.given[0]), "{}")
                self._give(op.result, self._assign(f"dict({fed})" if fed != "{}" else fed))

    def _give_tuple(self, symbol: Symbol, text: str) -> None:
        """Write a tuple's parts; where they cannot be seen, take it apart."""
        written = _parsed(text)
        if isinstance(written, ast.Tuple):
            parts = [self._assign(ast.unparse(part)) for part in written.elts]
        else:
            parts = [self.writer.temporary() for _ in range(symbol.kind.number)]
            self.writer.line(f"{', '.join(parts)}, = {text}")
        self._give_parts(symbol, parts)

    def _makes(self, op: Op, outcome: Outcome, text: str) -> bool:
        """Write a record's fields where it is given out and nothing else; return whether it is."""
        if not self.writer.makes or self.form == "u" or outcome.value is not op.result:
            return False
        used = [*outcome.values, *(value for each in outcome.ops for value in each.given)]
        call = _parsed(text)
        if any(value is op.result for value in used) or not isinstance(call, ast.Call):
            return False
        kind = self.writer.names.get(getattr(call.func, "id", ""))
        if not call.args or call.keywords or not is_plain_record(kind, len(call.args)):
            return False
        self.record = kind
        self.fields = [self._assign(ast.unparse(argument)) for argument in call.args]
        return True

    def _count(self, op: Op, outcome: Outcome) -> None:
        """Write that a value is counted: in place, where nobody looks at the counts before it."""
        writer, (old, value) = self.writer, op.given
        if op.result.kind in writer.shown:
            self._give(op.result, self._assign(self.call(op.function, op.given)))
            return
        given, counts = self._assign(self.text(value)), self.text(old)
        if not old.is_register or any(v is old for v in outcome.values):
            counts = writer.temporary()
            writer.line(f"{counts} = {self.text(old)}.copy()")
        number = writer.temporary()
        writer.line(f"{number} = {counts}.get({given}, 0) + 1")
        self.after.append(f"{counts}[{given}] = {number}")
        self._give(op.result, counts)

    def _push(self, op: Op, outcome: Outcome) -> None:
        """Write that a window gets a value, and gives the oldest one out where it is full."""
        writer = self.writer
        old, value = op.given
        window = self.automaton.windows[op.result.kind.number]
        values = [*outcome.values, outcome.value, *(g for o in outcome.ops if o is not op
                                                   for g in o.given)]  # fmt: skip
        ours = isinstance(old, Symbol) and old.is_register
        given = self._assign(self.text(value))
        kept, total = self.text(old), self._second(old)
        if not ours or any(there is old for there in values):
            kept = writer.temporary()
            writer.line(f"{kept} = {self.text(old)}" + (".copy()" if ours else ""))
        after = writer.temporary()
        writer.line(f"{after} = {self._of(window.fold.step, total, given)}")
        inverse = self._of(window.fold.inverse, after, f"{kept}[0]")
        writer.line(f"if len({kept}) == {window.size}: {after} = {inverse}")
        self.after.append(f"{kept}.append({given})")  # the oldest one goes
        self._give(op.result, kept, after)

    def _value(self, op: Op) -> None:
        window = self.automaton.windows[op.given[0].kind.number]
        total, finish = self._second(op.given[0]), window.fold.finish
        self._give(op.result, total if finish is None else self._assign(self._of(finish, total)))

    def _of(self, function: Any, *texts: str) -> str:
        """Return the expression of a function of what is written already."""
        symbols = [Symbol("t") for _ in texts]
        for symbol, text in zip(symbols, texts, strict=True):
            self._give(symbol, text)
        return self.call(function, symbols)

    # --- keys -----------------------------------------------------------------------------------

    def _is_sync(self, op: Op, bits: int) -> bool:
        return self.automaton.is_synchronizing(op.given[0].kind.number, bits)

    def first(self, automaton: Automaton) -> str:
        """Return the expression of a machine's first state."""
        scope = type(self)(self.writer, automaton, State((), ()), "u")
        for op in automaton.first_ops:
            scope._operation(op, Outcome((), 0, (), False, None), 0)
        state = Outcome((), 0, automaton.begins, False, None)
        return f"[{', '.join(['0', *scope._sources(state)])}]"

    def feed_own(self, op: Op, bits: int) -> None:
        """Write that an item goes to its own key."""
        writer, number = self.writer, op.given[0].kind.number
        inner = self.automaton.inner[number]
        states = self.text(op.given[0])
        key = self._assign(self.call(self.automaton.keys_of(number).key, (ITEM,)))
        writer.line(f"u = {states}.get({key})")
        writer.line("if u is None:")
        idle = self._second(op.given[0])
        grows = any(kind.of == "counts" for state in inner.states for kind in state.kinds)
        fork = f"forked({idle})" if grows else f"{idle}[:]"
        writer.line(f"{INDENT}u = {states}[{key}] = {fork}")
        writer.line(f"{INDENT}fresh = left(), {states}, {key}")
        cases = [
            n for n in range(len(inner.states))
            if not _changes_nothing(inner.outcomes[n, bits], n)
        ]  # fmt: skip
        if not cases:
            return

        def write(state: int) -> None:
            scope = Scope(writer, inner, inner.states[state], "u", self.made_item)
            begin = len(writer.lines)
            scope.choose(
                inner.outcomes[state, bits], state, bits,
                lambda scope, outcome, number: scope.assign_list(outcome, number, "u"),
            )  # fmt: skip
            if len(writer.lines) == begin:
                writer.line("pass")

        writer.chain(cases, write, "u[0]")

    def feed_all(self, op: Op, outcome: Outcome, bits: int) -> None:
        """Write that an item goes to all keys, into a new dict; and the keys' values then."""
        writer, threads = self.writer, op.given[0]
        inner = self.automaton.inner[threads.kind.number]
        states = self.text(threads)
        lives = any(value is threads for value in outcome.values)
        cases = [
            n for n in range(len(inner.states))
            if not _changes_nothing(inner.outcomes[n, bits], n)
        ]  # fmt: skip
        after, out = writer.temporary(), writer.temporary()
        self.outs[id(threads)] = out
        writer.line(f"{after} = {{}}; {out} = {{}}")
        writer.line(f"for y, u in chain(((IDLE, {self._second(threads)}),), {states}.items()):")
        writer.level += 1

        def leave(scope: Scope, each: Outcome, number: int) -> None:
            if each.has:
                writer.line(f"{out}[y] = {scope.text(each.value)}")
            if lives:
                scope.assign_list(each, number, f"{after}[y]", keep=True)

        def write(state: int) -> None:
            scope = Scope(writer, inner, inner.states[state], "u", self.made_item)
            begin = len(writer.lines)
            scope.choose(inner.outcomes[state, bits], state, bits, leave)
            if len(writer.lines) == begin:
                writer.line("pass")

        begin = len(writer.lines)
        if cases:
            writer.chain(cases, write, "u[0]")
        if lives:
            if cases:
                writer.line("else:")
            writer.line(f"{INDENT if cases else ''}{after}[y] = u")
        elif len(writer.lines) == begin:
            writer.line("pass")
        writer.level -= 1
        writer.line(f"{out}.pop(IDLE, None)")
        if lives:
            idle = self._assign(f"{after}.pop(IDLE)")
            self.texts[id(threads)], self.seconds[id(threads)] = after, idle

    # --- the state after an item ----------------------------------------------------------------

    def _sources(self, outcome: Outcome) -> list[str]:
        texts: list[str] = []
        kinds = self.automaton.states[outcome.target].kinds
        for value, kind in zip(outcome.values, kinds, strict=True):
            text = self.text(value)
            if kind.of == "tuple":
                texts += self.parts[id(value)]
                continue
            texts.append(text)
            if cells(kind) > 1:
                texts.append(self._second(value))
        return texts

    def assign_variables(self, outcome: Outcome) -> None:
        """Write what the registers hold, where they are variables."""
        pairs = [(f"r{n}", text) for n, text in enumerate(self._sources(outcome))]
        self._assign_all([(to, text) for to, text in pairs if to != text])

    def assign_columns(self, outcome: Outcome, number: int) -> None:
        """Write what the registers hold, where each is in a list, by the code of the stream."""
        pairs = [(f"R{n}[k]", text) for n, text in enumerate(self._sources(outcome))]
        self._assign_all([(to, text) for to, text in pairs if to != text])
        if outcome.target != number:
            before = sum(map(cells, self.automaton.states[number].kinds))
            gone = [f"R{n}[k] = " for n in range(len(pairs), before)]
            if gone:
                self.writer.line(f"{''.join(gone)}None")
            self.writer.line(f"Q[k] = {outcome.target}")

    def assign_list(self, outcome: Outcome, number: int, to: str, *, keep: bool = False) -> None:
        """Write what the registers hold, where they are in a list; keep: in a new one."""
        sources = self._sources(outcome)
        if keep or outcome.target != number:
            whole = f"[{', '.join([str(outcome.target), *sources])}]"
            self.writer.line(f"{to}{'' if keep else '[:]'} = {whole}")
            return
        pairs = [(f"{self.form}[{n}]", text) for n, text in enumerate(sources, start=1)]
        self._assign_all([(to, text) for to, text in pairs if to != text])

    def _assign_all(self, pairs: list[tuple[str, str]]) -> None:
        if any(CHANGED.search(text) for _, text in pairs) and len(pairs) > 1:
            left, right = (", ".join(part) for part in zip(*pairs, strict=True))
            self.writer.line(f"{left} = {right}")
            return
        for to, text in pairs:
            self.writer.line(f"{to} = {text}")


def _changes_nothing(outcome: Outcome | Choice, number: int) -> bool:
    return isinstance(outcome, Outcome) and outcome.changes_nothing(number)


def is_plain_record(kind: Any, count: int) -> bool:
    """Return whether a class is a dataclass that does nothing but keep so many fields as given.

    >>> is_plain_record(Op, 5), is_plain_record(Op, 4), is_plain_record(int, 1)
    (True, False, False)
    """
    if not isinstance(kind, type) or not dataclasses.is_dataclass(kind):
        return False
    fields = dataclasses.fields(kind)
    made = kind.__init__.__code__.co_filename == "<string>"
    plain = made and not hasattr(kind, "__post_init__") and kind.__new__ is object.__new__
    return plain and len(fields) == count and all(f.init and not f.kw_only for f in fields)


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
