"""Queries as users handle them: to be started, run, explained, keyed, and put one after another.

A query has the node of its expression tree, and the program that its streams share. The modules
that evaluate and explain queries know nodes alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, overload

from elsinore.errors import QuerySemanticError
from elsinore.model.query import PythonQuery
from elsinore.quantitative.explain import explain
from elsinore.quantitative.machine.control import Program
from elsinore.quantitative.nodes import Node
from elsinore.quantitative.regex import Regex
from elsinore.quantitative.stream import Stream


class NoValueWarning(UserWarning):
    """A query that was run over a table has no value at any event; the text says why."""


class Runnable:
    """A streaming function, of one query or of several."""

    __slots__ = ("_programs", "stages")

    stages: tuple[Node, ...]  # the values of each are the items of the next

    def __init__(self, stages: tuple[Node, ...]) -> None:
        self.stages = stages
        self._programs: tuple[Program, ...] | None = None

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs of the stages, which all streams of the query share."""
        if self._programs is None:
            stages = enumerate(self.stages)
            self._programs = tuple(Program(node, name=str(n)) for n, node in stages)
        return self._programs

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may be a mistake in a query that can be run."""
        return tuple(text for stage in self.stages for text in stage.warnings)

    def start(self) -> Stream:
        """Return a stream at its beginning, to push items into."""
        return Stream.from_programs(self.programs)

    def load(self, state: bytes | bytearray | memoryview) -> Stream:
        """Return a stream that continues where one of this query was saved.

        Raises StateError where the state is damaged, or was saved for another query.
        """
        return Stream.load(self.programs, state)

    def explain(self, format: str = "text") -> str:  # noqa: A002 - the word for it
        """Return the expression tree with rates, as "text", "mermaid" or "svg"."""
        return explain([((), self.stages)], format)

    def __str__(self) -> str:
        return " >> ".join(map(str, self.stages))

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self.stages))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.stages,)  # programs are made again

    def run(
        self,
        data: Any,
        *,
        time: str = "time",
        type: str = "type",  # noqa: A002 - the word for it
        **options: Any,
    ) -> Any:
        """Return the values over the events in `data`, as a table: time (or position) and value.

        `data` is a path to files, a pyarrow Table, a pandas or polars DataFrame, a dict of columns
        or a list of dicts, or a DataFrame of Spark, which gives one (`value` says the type of
        values then, where it cannot be worked out); `time` and `type` name its columns. Warns of
        rates that never match, and where there is no value at all (NoValueWarning, with the event
        that left the rate; not over a DataFrame of Spark).
        """
        warn_of(self)
        return driver(data).run(self, data, time=time, type=type, **options)

    def by(self, *attributes: str) -> Keyed:
        """Return the query run apart for each value of some attributes.

        Raises QuerySemanticError for what are no names of attributes.
        """
        if not attributes or not all(isinstance(name, str) for name in attributes):
            raise QuerySemanticError(
                'by() takes names of attributes, as in query.by("patient"), not '
                f"({', '.join(map(repr, attributes))})."
            )
        return Keyed(self, attributes)

    @overload
    def __rshift__(self, after: Runnable) -> Pipeline: ...

    @overload
    def __rshift__(self, after: Keyed | Chain) -> Chain: ...

    def __rshift__(self, after: Runnable | Keyed | Chain) -> Pipeline | Chain:
        if isinstance(after, Keyed | Chain):
            return Chain((self,)) >> after
        return pipeline(self, after)


class Query(Runnable):
    """A streaming function that combinators take: the node of an expression tree."""

    __slots__ = ()

    def __init__(self, node: Node) -> None:
        super().__init__((node,))

    @property
    def node(self) -> Node:
        """The root of the expression tree."""
        return self.stages[0]

    @property
    def rate(self) -> Regex:
        """The regular expression of the sequences of items at which there is a value."""
        return self.node.rate

    def __reduce__(self) -> tuple[Any, ...]:
        return Query, self.stages


class Pipeline(Runnable):
    """Queries one after another; at the top only, so it has no rate."""

    __slots__ = ()


def pipeline(*parts: object) -> Pipeline:
    """Return the queries one after another."""
    stages: list[Node] = []
    for part in parts:
        if not isinstance(part, Runnable):
            raise QuerySemanticError(f"f >> g takes queries, not {part!r}.")
        stages += part.stages
    return Pipeline(tuple(stages))


@dataclass(frozen=True, slots=True)
class Keyed:
    """A query, or a pipeline, with a stream of its own for each value of some attributes."""

    query: Any
    attributes: tuple[str, ...]

    def run(
        self,
        data: Any,
        *,
        time: str = "time",
        type: str = "type",  # noqa: A002 - the word for it
        **options: Any,
    ) -> Any:
        """Return the values over the events in `data`: the attributes, time or position, value."""
        warn_of(self.query)
        return driver(data).run(
            self.query, data, time=time, type=type, by=self.attributes, **options
        )

    def live(
        self,
        schema: Any,
        *,
        time: str = "time",
        type: str = "type",  # noqa: A002 - the word for it
        **options: Any,
    ) -> Any:
        """Start a live run in this process: batches of events in, tables of values out.

        Without a column `time`, events are taken in the order they come in. options: `lateness` and
        others of `Workload.live`.
        """
        keyed = import_module("elsinore.local.live.keyed")
        return keyed.start(self._workload(), schema, time=time, type=type, **options)

    def resume(self, state: bytes, **changes: Any) -> Any:
        """Continue the live run that was saved as `state`."""
        keyed = import_module("elsinore.local.live.keyed")
        return keyed.resume(self._workload(), state, **changes)

    def _workload(self) -> Any:
        """Return the workload that has this query alone."""
        query = PythonQuery(name="values", source="keyed:query", target=self)
        return import_module("elsinore.workload").Workload(query)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may be a mistake in a query that can be run."""
        texts: tuple[str, ...] = self.query.warnings
        return texts

    def explain(self, format: str = "text") -> str:  # noqa: A002 - the word for it
        """Return the expression tree with rates, as "text", "mermaid" or "svg"."""
        return explain([(self.attributes, self.query.stages)], format)

    def __rshift__(self, after: Runnable | Keyed | Chain) -> Chain:
        return Chain((self,)) >> after


@dataclass(frozen=True, slots=True)
class Chain:
    """Queries one after another, of which the first at least has a stream for each key.

    What comes after takes the values of all keys in order of time. Its items have the attributes of
    the keys, the time (or the position) and the value: as `value`, or each field of a record.
    """

    stages: tuple[Any, ...]

    def run(
        self,
        data: Any,
        *,
        time: str = "time",
        type: str = "type",  # noqa: A002 - the word for it
        **options: Any,
    ) -> Any:
        """Return the last query's values over the events in `data`, as that query's `run` does."""
        first, *later = self.stages
        result = first.run(data, time=time, type=type)
        return after(result, later, time=time, **options)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may be a mistake in queries that can be run."""
        return tuple(text for stage in self.stages for text in stage.warnings)

    def explain(self, format: str = "text") -> str:  # noqa: A002 - the word for it
        """Return the expression trees with rates, as "text", "mermaid" or "svg"."""
        keyed = [(s.query, s.attributes) if isinstance(s, Keyed) else (s, ()) for s in self.stages]
        return explain([(attributes, query.stages) for query, attributes in keyed], format)

    def __rshift__(self, after: Runnable | Keyed | Chain) -> Chain:
        if isinstance(after, Chain):
            return Chain((*self.stages, *after.stages))
        if not isinstance(after, Runnable | Keyed):
            raise QuerySemanticError(f"f >> g takes queries, not {after!r}.")
        return Chain((*self.stages, after))


def after(
    result: Any, stages: Sequence[Runnable | Keyed], *, time: str = "time", **options: Any
) -> Any:
    """Return the last stage's values over `result`, the values of what stands before them all.

    The values of each are the items of the next. `time` is what the column of times is called.
    """
    for number, stage in enumerate(stages, start=1):
        items, time = driver(result).values_as_events(result, time)
        if items is None:  # nobody can tell what attributes they would have
            keys = stage.attributes if isinstance(stage, Keyed) else ()
            result = driver(result).no_values(result, keys, time)
            continue
        last = options if number == len(stages) else {}
        result = stage.run(items, time=time, **last)
    return result


def warn_of(query: Runnable) -> None:
    """Warn of what may be a mistake in a query that is run."""
    for text in query.warnings:
        warnings.warn(text, stacklevel=3)


def driver(data: Any) -> Any:
    """Return the driver for data, Spark's or this process's."""
    on_spark = any(
        kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame"
        for kind in type(data).__mro__
    )
    return import_module(f"elsinore.{'spark' if on_spark else 'local'}.streams")
