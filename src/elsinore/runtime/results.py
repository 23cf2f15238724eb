"""Results of a run: a table per query, with warnings, statistics and rejected events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pyarrow as pa

from elsinore.errors import did_you_mean
from elsinore.operators import OperatorStatistics
from elsinore.runtime.result import Result, engine_of, html_table, rows_text
from elsinore.words import count

if TYPE_CHECKING:
    from elsinore.runtime.result_sql import SqlQuery

Frame = TypeVar("Frame")
FINAL_RESULT = "result"  # the name of the result of SQL over results
SHOWN_QUERIES = 5  # in a line
SHOWN_TABLE = 50  # in a notebook


@dataclass(frozen=True, slots=True, repr=False)
class Results(Mapping[str, Result], Generic[Frame]):
    """A mapping from a query's name to its result; `tables` has the bare tables or data frames.

    `rejected` contains the unusable events, with a `reject_reason`, if the run was allowed to
    continue without them. `orders` names the sort columns of each query's rows: rows are sorted in
    this process, and on Spark if this was requested (`ordered`).

    On Spark, operators' outputs from which several results are computed are cached for the session;
    `close`, or the end of a `with`, releases them. Afterwards results are computed from the events
    again.
    """

    tables: Mapping[str, Frame]
    rejected: Frame | None = None
    find_statistics: Callable[[], tuple[OperatorStatistics, ...]] = tuple
    find_warnings: Callable[[], tuple[str, ...]] = tuple
    find_query_warnings: Callable[[], tuple[str, ...]] = (
        tuple  # about the queries, without the events
    )
    find_open_windows: Callable[[], Mapping[str, int | None]] = dict
    release: Callable[[], object] = tuple
    find_result: Callable[[str], Result] | None = None
    find_selected: Callable[[SqlQuery], Result] | None = None
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def close(self) -> None:
        """Release what Spark caches for the results; does nothing in this process."""
        self.release()

    def __enter__(self) -> Results[Frame]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def statistics(self) -> tuple[OperatorStatistics, ...]:
        """The operators' statistics: an entry per unit of the plan.

        On Spark they cover the results computed so far; a part that Spark computed more than once
        counts once. The tuple is empty with Spark Connect, which cannot return statistics.
        """
        return self.find_statistics()

    @property
    def open_windows(self) -> Mapping[str, int | None]:
        """The number of each query's open windows at the end of an open stream (`end="open"`).

        Their results are not final and were not returned. Windows of trend queries, and those of
        match queries with SLIDE, count once for all groups; without WITHIN there is one, the whole
        stream. If a window is relative to the match, each event with which a match may begin has
        its own; on Spark, these are counted when results are computed, and None until then, and
        over Spark Connect. Empty if the stream is closed.
        """
        return self.find_open_windows()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of possible mistakes, such as a type that never occurs.

        Those on the queries alone, which `workload.warnings` has too, come first. On Spark this
        looks at all results, and once more at the types of all events, unless the tasks that
        computed results have read them all from files.
        """
        return self.find_query_warnings() + self.find_warnings()

    def __getitem__(self, name: str) -> Result:
        try:
            if self.find_result is not None:
                return self.find_result(name)
            return Result(name, self.tables[name])
        except KeyError:
            names = ", ".join(self.tables)
            raise KeyError(
                f"No query '{name}'.{did_you_mean(str(name), self.tables)} Queries: {names}"
            ) from None

    def sql(self, text: str) -> Result:
        """Run a SELECT in Spark's SQL over the results, whose tables have the queries' names.

        Spark computes it for results on Spark, DuckDB for results in this process. Use it to
        aggregate matches, sort rows, or add groups without rows. Raises InputError for text that is
        not a SELECT, and for unknown tables and columns.

        >>> streaks = pa.table({"name": ["a", "a", "b"], "n": [2, 5, 1]})
        >>> results = Results({"streaks": streaks})
        >>> results.sql("SELECT name, MAX(n) AS best FROM streaks GROUP BY name ORDER BY name")
        <result: 2 rows of name, best; in process>
        """
        from elsinore.runtime.result_sql import SqlQuery  # noqa: PLC0415 - loads sqlglot

        query = SqlQuery(text, list(self.tables))
        if self.find_selected is not None:
            return self.find_selected(query)
        return Result(FINAL_RESULT, query.rows(self.tables))

    def to_arrow(self) -> dict[str, pa.Table]:
        """Return the rows of all queries; Spark computes those of one pass in one job."""
        return {name: self[name].to_arrow() for name in self}

    def __reduce__(self) -> tuple[Any, ...]:
        if not all(isinstance(table, pa.Table) for table in self.tables.values()):
            raise TypeError("Results on Spark cannot be pickled; their rows can: to_arrow()")
        evaluated = (
            self.statistics,
            self.find_warnings(),
            self.find_query_warnings(),
            self.open_windows,
        )
        return _from_pickle, (dict(self.tables), self.rejected, dict(self.orders), *evaluated)

    def __repr__(self) -> str:
        texts = [self._shown_result(name) for name in list(self.tables)[:SHOWN_QUERIES]]
        hidden = len(self.tables) - len(texts)
        hidden_text = f" and {hidden:,} more" if hidden else ""
        return f"<Results of {self._count()}: {', '.join(texts)}{hidden_text}; {self._engine()}>"

    def _shown_result(self, name: str) -> str:
        frame = self.tables[name]
        return f"{name} ({rows_text(frame)})" if isinstance(frame, pa.Table) else name

    def _count(self) -> str:
        return count(len(self.tables), "query", "queries")

    def _engine(self) -> str:
        return engine_of(next(iter(self.tables.values()), pa.table({})))

    def _repr_html_(self) -> str:
        rows = [
            (name, rows_text(frame), ", ".join(_columns(frame)))
            for name, frame in list(self.tables.items())[:SHOWN_TABLE]
        ]
        hidden = len(self.tables) - len(rows)
        not_shown = f"; {hidden:,} not shown" if hidden else ""
        note = f"<caption>{self._count()}, {self._engine()}{not_shown}"
        return html_table(["query", "rows", "columns"], rows, f"{note}</caption>")

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)


def _from_pickle(
    tables: Mapping[str, pa.Table],
    rejected: pa.Table | None,
    orders: Mapping[str, tuple[str, ...]],
    statistics: tuple[OperatorStatistics, ...],
    warnings: tuple[str, ...],
    query_warnings: tuple[str, ...],
    open_windows: Mapping[str, int | None],
) -> Results[pa.Table]:
    """Recreate pickled results; warnings were evaluated when they were pickled."""
    return Results(
        tables,
        rejected,
        find_statistics=lambda: statistics,
        find_warnings=lambda: warnings,
        find_query_warnings=lambda: query_warnings,
        find_open_windows=lambda: open_windows,
        orders=orders,
    )


def _columns(frame: Any) -> list[str]:
    return list(frame.column_names if isinstance(frame, pa.Table) else frame.columns)
