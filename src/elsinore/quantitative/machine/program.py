"""A compiled query: a machine's initial state and the functions that change it.

A state is a tuple, and no step changes it: a step that fails leaves the state before it as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np

from elsinore.errors import InputError, did_you_mean
from elsinore.model.evaluate import is_true
from elsinore.model.expression import Attribute, Expression
from elsinore.model.time_values import operand
from elsinore.quantitative.items import attribute_of
from elsinore.quantitative.machine.emit import Emitter, Source, fresh
from elsinore.quantitative.machine.keys import Failures, KeyThreads, Program, State
from elsinore.quantitative.nodes import MapCollect, Node
from elsinore.quantitative.regex import ALWAYS, VALUE, Predicate, predicates

FEW_TOLD, MOST_TOLD = 8, 62  # predicates whose bits are kept in an integer of 8 bits, or of 64


@dataclass(frozen=True, slots=True)
class Bits:
    """The predicates of a query: those of which a bit tells, and tests in plain Python."""

    told: tuple[Predicate, ...]
    asked: tuple[Predicate, ...]

    @property
    def kind(self) -> Any:
        """Arrays of what type hold the bits of items."""
        few = len(self.told) <= FEW_TOLD
        return np.uint8 if few else np.int64 if len(self.told) <= MOST_TOLD else object

    @property
    def masks(self) -> dict[Expression, str]:
        """How the code of a machine asks whether a condition holds of the item `x`."""
        masks = {leaf.condition: f"b & {1 << place}" for place, leaf in enumerate(self.told)}
        masks |= {leaf.condition: f"p{place}(x)" for place, leaf in enumerate(self.asked)}
        return masks

    def of(self, item: Any) -> int:
        """Return an item's bits."""
        lookup = lookup_of(item)
        return sum(
            1 << place for place, leaf in enumerate(self.told) if is_true(leaf.condition, lookup)
        )


class ItemError(Exception):
    """A user's function that raised: at which item, counted from 0, and the state before it."""

    def __init__(self, place: int, state: State | None) -> None:
        super().__init__(place)
        self.place, self.state = place, state


def bits_of(query: Node) -> Bits:
    """Return the predicates of a query, each once."""
    by_condition: dict[Expression, Predicate] = {}
    for leaf in _predicates(query):
        if leaf.condition != ALWAYS:
            by_condition.setdefault(leaf.condition, leaf)
    without_tests = tuple(leaf for leaf in by_condition.values() if not leaf.tests)
    return Bits(without_tests, tuple(leaf for leaf in by_condition.values() if leaf.tests))


def compile_query(query: Node) -> Program:
    """Return the machine of a query.

    >>> from elsinore.quantitative import atom, event, iterate
    >>> program = compile_query(iterate(atom(event("M")), 0, lambda n, m: n + 1).node)
    >>> state, has, value = program.begin()
    >>> has, value, program.step(state, "an item", 1, 0)[1:]
    (True, 0, (True, 1))
    """
    return _compile(fresh(query), bits_of(query), "query", Failures())


def _compile(query: Node, bits: Bits, name: str, failures: Failures) -> Program:
    emitter, source = emitted(query, bits)
    lines, labels = _written(emitter, source)
    filename = f"<elsinore {name}>"
    names: dict[str, Any] = dict(source.names)
    for place, leaf in enumerate(bits.asked):
        names[f"p{place}"] = _test(leaf)
    keyed: list[Program] = []
    for place, (factory, node) in enumerate(source.collectors.items()):
        program = _compile(node.body, bits, f"{name}.keys{place}", failures)
        keyed.append(program)
        names[factory] = _factory(node, program, bits, failures)
    names["ItemError"] = ItemError
    code = compile("\n".join(lines), filename, "exec")
    exec(code, names)
    threads = tuple(source.variables.index(slot) for _, slot, _ in emitter.thread_slots())
    return Program(
        query=query,
        code=code,
        labels=labels,
        begin=names["begin"],
        run=names["run"],
        step=names["step"],
        keyed=tuple(keyed),
        filename=filename,
        variables=tuple(source.variables),
        threads=threads,
        failures=failures,
        keys=tuple(names[factory] for factory in source.collectors),
        makers=source.makers,
    )


def lookup_of(item: Any) -> Callable[[Attribute], Any]:
    """Return how the attributes of an item are read; a plain value has one, `value`: itself."""
    if item is None or isinstance(item, bool | int | float | str):
        return lambda read: item if read.name == VALUE else None
    if isinstance(item, date | timedelta):
        plain = operand(item)
        return lambda read: plain if read.name == VALUE else None

    def lookup(read: Attribute) -> Any:
        name = VALUE if read.name is None else read.name
        try:
            return operand(attribute_of(item, name))
        except AttributeError:
            names = getattr(item, "_fields", ())
            has = f" It has: {', '.join(names)}.{did_you_mean(name, names)}" if names else ""
            raise InputError(
                f"A condition asks for the attribute '{name}', which the {type(item).__name__} "
                f"{item!r:.100} does not have.{has}"
            ) from None

    return lookup


def _predicates(query: Node) -> Sequence[Predicate]:
    read: list[Predicate] = []
    if isinstance(query, MapCollect):
        read += predicates(query.rate)
        read.append(query.sync)
    if not query.parts:
        read += predicates(query.rate)
    for part in query.parts:
        read += _predicates(part)
    return read


def emitted(query: Node, bits: Bits) -> tuple[Emitter, Source]:
    """Return what writes a query's machine.

    The query is walked over twice, the first time to count in how many places threads end.
    """
    rates: dict[int, Node] = {}
    draft = Emitter(query, bits.masks, {}, rates)
    draft.item(0)
    counts = {id(node): draft.ends.get(id(node), 0) for node in draft.nodes}
    emitter = Emitter(query, bits.masks, counts, rates)
    return emitter, emitter.source


def _written(emitter: Emitter, source: Source) -> tuple[list[str], dict[int, str]]:
    """Return the lines of the machine's functions, and what raises where."""
    variables = source.variables
    state = f"({', '.join(variables)}{',' if len(variables) == 1 else ''})"
    load = [f"    {state} = state"] if variables else []
    lines = source.lines
    lines += ["def begin():", "    has = False; out = None"]
    for name in variables:
        lines.append(f"    {name} = {(name in source.flags and 'False') or None}")
    emitter.begin(1)
    lines += [f"    return {state}, has, out", ""]

    threads = bool(source.collectors)
    lines += ["def run(state, items, bits, s, positions, values):", *load, "    i = -1"]
    before = "before" if threads else "None"
    lines += [f"    before = {state}"] if threads else []
    lines += ["    try:", "        for i, (x, b) in enumerate(zip(items, bits)):"]
    lines += [f"            before = {state}", "            s += 1"] if threads else []
    lines += ["            has = False"]
    emitter.item(3)
    lines += ["            if has: positions.append(i); values.append(out)"]
    lines += ["    except Exception as error:", f"        raise ItemError(i, {before}) from error"]
    lines += [f"    return {state}", ""]

    lines += ["def step(state, x, b, s):", *load, "    has = False; out = None"]
    emitter.item(1)
    alive = " or ".join(source.flags) or "False"
    lines += [f"    return ({state} if {alive} else None), has, out", ""]
    return lines, source.labels


def _test(leaf: Predicate) -> Callable[[Any], bool]:
    tests = dict(leaf.tests)

    def holds(item: Any) -> bool:
        read = lookup_of(item)

        def lookup(attribute: Attribute) -> Any:
            test = tests.get(attribute.name or "")
            return read(attribute) if test is None else bool(test(item))

        return is_true(leaf.condition, lookup)

    return holds


def _factory(
    node: MapCollect, program: Program, bits: Bits, failures: Failures
) -> Callable[[], KeyThreads]:
    idle, _, _ = program.begin()
    if node.sync.condition == ALWAYS:
        mask, test = -1, None
    elif node.sync.tests:
        mask, test = 0, _test(node.sync)
    else:
        place = [leaf.condition for leaf in bits.told].index(node.sync.condition)
        mask, test = 1 << place, None
    return lambda: KeyThreads(program, node.key, mask, test, idle, failures)
