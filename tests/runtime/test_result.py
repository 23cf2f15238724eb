"""Results as users hold them: as tables of several libraries, in a shell, in a notebook."""

from __future__ import annotations

import copy
import pickle
from datetime import datetime
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import elsinore as el
from elsinore.runtime.result import Result, shown_values
from elsinore.runtime.results import Results

TABLE = pa.table({"k": ["<a>", None], "trends": [3.0, 1.0]})


def test_a_result_is_a_table_of_each_library() -> None:
    result = Result("q", TABLE)
    assert result.frame is TABLE
    assert result.to_arrow() is TABLE
    assert isinstance(result.to_pandas(), pd.DataFrame)
    assert result.to_polars().equals(pl.from_arrow(TABLE))
    assert result.to_pylist() == TABLE.to_pylist()
    assert pa.table(result).equals(TABLE)
    assert pl.DataFrame(result).equals(pl.from_arrow(TABLE))


def test_it_does_what_a_table_does() -> None:
    result = Result("q", TABLE)
    assert result.column_names == ["k", "trends"]
    assert (len(result), result.num_rows, bool(result)) == (2, 2, True)
    assert not Result("q", TABLE.slice(0, 0))
    assert result["trends"].to_pylist() == [3.0, 1.0]
    assert result.sort_by("trends").column("trends").to_pylist() == [1.0, 3.0]
    assert result == TABLE
    assert result == Result("q", TABLE)
    assert result != Result("q", TABLE.slice(1))
    assert str(result) == str(TABLE)
    with pytest.raises(AttributeError):
        _ = result.no_such_method


@pytest.mark.parametrize("copied", [copy.copy, lambda one: pickle.loads(pickle.dumps(one))])
def test_it_can_be_copied(copied: Any) -> None:
    assert copied(Result("q", TABLE)) == TABLE


@pytest.mark.filterwarnings("ignore::elsinore.NoRowsWarning")
def test_results_can_be_pickled_with_what_there_is_to_say_about_them() -> None:
    workload = el.Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, C+)")
    results = workload.run([{"time": 1, "type": "A"}, {"time": None, "type": "A"}], rejects=True)
    kept = pickle.loads(pickle.dumps(results))
    assert kept["q"] == results["q"]
    assert kept.rejected == results.rejected
    assert kept.warnings == results.warnings
    assert "no event has type C" in kept.warnings[0]
    assert kept.statistics == results.statistics


def test_representations_name_queries_rows_and_engine() -> None:
    assert repr(Result("q", TABLE)) == "<q: 2 rows of k, trends; in process>"
    one = Results({"q": TABLE.slice(1)})
    assert repr(one) == "<Results of 1 query: q (1 row); in process>"
    many = Results({f"q{n}": TABLE for n in range(1000)})
    assert repr(many).startswith("<Results of 1,000 queries: q0 (2 rows), q1 (2 rows), ")
    assert repr(many).endswith(" and 995 more; in process>")


def test_a_notebook_shows_tables() -> None:
    shown = Result("q & r", TABLE)._repr_html_()
    assert shown.startswith("<table><caption>q &amp; r</caption>")
    assert "<td>&lt;a&gt;</td>" in shown
    assert "<td>null</td>" in shown
    long = pa.table({"n": list(range(50))})
    assert "30 more not shown" in Result("q", long)._repr_html_()
    assert Result("q", long)._repr_html_().count("<tr>") == 21
    overview = Results({"q": TABLE})._repr_html_()
    assert "<td>q</td><td>2 rows</td><td>k, trends</td>" in overview


def test_a_notebook_shows_what_explain_tells() -> None:
    workload = el.Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+)")
    assert workload.explain("svg")._repr_html_().startswith("<svg")
    assert workload.explain()._repr_html_().startswith("<pre>1 query, run by 1 operator in 1 pass")
    assert isinstance(workload.explain(), str)


def test_a_result_can_be_run_over_again() -> None:
    events = Result("q", pa.table({"time": [1, 2], "type": ["A", "B"]}))
    actual = el.Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B)").run(events)
    assert actual["q"].to_pylist() == [{"window_start": None, "window_end": None, "count(*)": 1.0}]


def test_an_unknown_query_is_named_with_the_nearest() -> None:
    with pytest.raises(KeyError, match="Did you mean 'slow'"):
        Results({"slow": TABLE})["slwo"]


def test_times_that_python_has_not_are_shown_and_named() -> None:
    events = {"time": [datetime(9999, 12, 31, 1), datetime(9999, 12, 31, 2)], "type": ["A", "B"]}
    workload = el.Workload.parse("RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 1 day")
    (result,) = workload.run(events).values()
    assert "<td>10000-01-01 00:00:00.000000</td>" in result._repr_html_()
    with pytest.raises(el.InputError, match=r"the years 1 to 9999, .* to_arrow"):
        result.to_pylist()
    nested = pa.chunked_array([pa.array([[253402300800]]).cast(pa.list_(pa.timestamp("s")))])
    assert shown_values(nested) == ['["10000-01-01T00:00:00"]']
