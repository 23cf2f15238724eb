"""SQL over results: conditions that filter a result's rows, and queries over several results.

Users write Spark's SQL. In this process, sqlglot translates it for DuckDB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.optimizer.scope import traverse_scope

from elsinore.errors import InputError, did_you_mean
from elsinore.runtime.sql.database import empty_database

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

DIALECT = "spark"
ROWS = "rows"  # the name of the table in a condition


class SqlCondition:
    """An SQL condition on the rows of a result.

    Raises InputError for text that is not an SQL condition.

    >>> table = pa.table({"user": ["a", "b"], "n": [2, 5]})
    >>> SqlCondition("n > 3").keep(table).to_pylist()
    [{'user': 'b', 'n': 5}]
    """

    def __init__(self, text: str) -> None:
        self.text = text
        tree = _parse(text)
        if isinstance(tree, exp.Query | exp.DDL | exp.DML | exp.Command | exp.Alias):
            raise InputError(f"'{text}' is not a condition. Write one as after WHERE: n > 3.")
        truth = exp.cast(tree, "boolean")
        self._query = exp.select(exp.alias_(truth, "keep")).from_(ROWS)
        self._database: DuckDBPyConnection | None = None

    def keep(self, table: pa.Table) -> pa.Table:
        """Return the rows for which the condition is true, in their order.

        Raises InputError for unknown columns and for what DuckDB cannot compute.
        """
        if self._database is None:  # reused, as rows may come in many pieces
            self._database = empty_database()
        self._database.register(ROWS, _as_stored(table))
        try:
            is_kept = _compute(self._database, self._query, self.text)
        finally:
            self._database.unregister(ROWS)
        return table.filter(is_kept.column("keep"))


class SqlQuery:
    """A SELECT over results, which are tables with their queries' names.

    Raises InputError for text that is not a SELECT, and for unknown tables.

    >>> streaks = pa.table({"name": ["a", "a", "b"], "n": [2, 5, 1]})
    >>> best = SqlQuery("SELECT name, MAX(n) AS best FROM streaks GROUP BY name", ["streaks"])
    >>> sorted(best.rows({"streaks": streaks}).to_pylist(), key=lambda row: row["name"])
    [{'name': 'a', 'best': 5}, {'name': 'b', 'best': 1}]
    """

    def __init__(self, text: str, names: list[str]) -> None:
        self.text = text
        tree = _parse(text)
        if not isinstance(tree, exp.Query):
            raise InputError(
                f"'{text}' is not a SELECT. Write one over the results by the names of their "
                f"queries: SELECT * FROM {names[0]}."
            )
        self._tree = tree
        self._tables = {id(table): name for table, name in _tables_of(tree, names, text)}

    @property
    def names(self) -> list[str]:
        """The queries whose results are read."""
        return sorted(set(self._tables.values()))

    def text_over(self, renamed: Mapping[str, str]) -> str:
        """Return the query in Spark's SQL, with results under other names."""
        return str(self._with_renamed_tables(renamed).sql(DIALECT))

    def rows(self, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Return the rows that the query selects.

        Raises InputError for unknown columns and for what DuckDB cannot compute.
        """
        places = {name: f"result{number}" for number, name in enumerate(self.names)}
        with closing(empty_database()) as database:
            for name, place in places.items():
                database.register(place, _as_stored(tables[name]))
            lengths = {
                field.name.casefold()
                for name in self.names
                for field in tables[name].schema
                if pa.types.is_duration(field.type)
            }
            return _compute(
                database, _summing_lengths(self._with_renamed_tables(places), lengths), self.text
            )

    def _with_renamed_tables(self, renamed: Mapping[str, str]) -> exp.Query:
        """Return the query with each result's table renamed, and its old name as the alias."""
        tree = self._tree.copy()
        copies = list(zip(self._tree.walk(), tree.walk(), strict=True))
        for original, table in copies:
            name = self._tables.get(id(original))
            if name is not None and isinstance(table, exp.Table):
                if not table.alias:
                    alias = exp.to_identifier(table.name, quoted=True)
                    table.set("alias", exp.TableAlias(this=alias))
                table.set("this", exp.to_identifier(renamed[name], quoted=True))
        return tree


def _parse(text: str) -> exp.Expression:
    """Parse one SQL statement or expression."""
    try:
        trees = sqlglot.parse(text, dialect=DIALECT, error_level=ErrorLevel.RAISE)
    except SqlglotError as error:
        raise InputError(f"'{text}' is not SQL: {_first_error(error)}") from None
    if len(trees) != 1 or trees[0] is None:
        raise InputError(f"'{text}' is not one SQL statement: there are {len(trees)}.")
    return trees[0]


def _first_error(error: SqlglotError) -> str:
    """Return sqlglot's message for a syntax error, without terminal codes."""
    details = getattr(error, "errors", None)
    if not details:
        return str(error).splitlines()[0]
    first = details[0]
    return f"{first['description'].rstrip('.')} (line {first['line']}, column {first['col']})."


def _tables_of(tree: exp.Query, names: list[str], text: str) -> Iterator[tuple[exp.Table, str]]:
    """Yield the tables that a SELECT reads, each with its query's name."""
    by_spelling = {name.casefold(): name for name in names} | {name: name for name in names}
    for scope in traverse_scope(tree):
        for source in scope.sources.values():
            if not isinstance(source, exp.Table):
                continue
            name = by_spelling.get(source.name) or by_spelling.get(source.name.casefold())
            if name is None or source.db:
                raise InputError(
                    f"'{text}' reads '{source.sql(DIALECT)}', and no query has that name."
                    f"{did_you_mean(source.name, names)} Queries: {', '.join(names)}."
                )
            yield source, name


def _summing_lengths(tree: exp.Query, lengths: set[str]) -> exp.Query:
    """Rewrite a query's sums and averages of durations to those of microseconds.

    DuckDB cannot aggregate intervals. `lengths` are the columns of durations, in lower case.
    """

    def is_length(node: exp.Expression) -> bool:
        match node:
            case exp.Column():
                return node.name.casefold() in lengths
            case exp.Paren() | exp.Neg() | exp.Abs() | exp.Coalesce():
                return is_length(node.this)
            case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.Filter():
                return is_length(node.this) or is_length(node.expression)
            case exp.Case():
                return any(is_length(branch.args["true"]) for branch in node.args["ifs"])
            case exp.If():
                return is_length(node.args["true"])
            case _:
                return False

    def replace_sum(node: exp.Expression) -> exp.Expression:
        if not isinstance(node, exp.Sum | exp.Avg) or not is_length(node.this):
            return node
        micros = exp.func("epoch_us", node.this.copy())
        total = exp.cast(exp.func("round", type(node)(this=micros)), "bigint")
        return exp.func("to_microseconds", total)

    return tree.transform(replace_sum) if lengths else tree


def _compute(database: DuckDBPyConnection, query: exp.Query, text: str) -> pa.Table:
    import duckdb  # noqa: PLC0415 - as above

    try:
        return _as_results(database.sql(query.sql("duckdb")).to_arrow_table())
    except duckdb.Error as error:
        lines = [line for line in str(error).splitlines() if line and not line.startswith("LINE")]
        message = " ".join(line.strip() for line in lines if set(line.strip()) != {"^"})
        raise InputError(f"'{text}' cannot be computed over these results: {message}") from None


def _as_stored(table: pa.Table) -> pa.Table:
    """Convert decimals of more than 38 digits, which DuckDB lacks, to 38 digits or doubles."""
    for at, field in enumerate(table.schema):
        if pa.types.is_decimal256(field.type):
            column = table.column(at)
            try:
                shorter = column.cast(pa.decimal128(38, field.type.scale))
            except pa.ArrowInvalid:
                shorter = column.cast(pa.float64())
            table = table.set_column(at, field.name, shorter)
    return table


def _as_results(table: pa.Table) -> pa.Table:
    """Return a table with intervals as durations, as in results."""
    for at, field in enumerate(table.schema):
        if pa.types.is_interval(field.type):
            lengths = [_length(value) for value in table.column(at).to_pylist()]
            table = table.set_column(at, field.name, pa.array(lengths, pa.duration("us")))
    return table


def _length(interval: pa.MonthDayNano | None) -> int | None:
    """Return the microseconds of an interval, a month as the 30 days that DuckDB compares it as."""
    if interval is None:
        return None
    days = interval.months * 30 + interval.days
    return int(days * 86_400_000_000 + interval.nanoseconds // 1000)
