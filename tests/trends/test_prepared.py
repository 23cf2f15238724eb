"""What is worked out of a unit once serves all its operators, whatever they have seen."""

from __future__ import annotations

import itertools
import os
import pickle

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.kernels.needed import canonical
from elsinore.language import parse_workload
from elsinore.model import Workload
from elsinore.operators import plan
from elsinore.plan import Path, Sharing
from elsinore.trends import TrendOperator
from elsinore.trends.kind import trend_units
from elsinore.trends.sums.prepared import Prepared, prepared
from support.trends import trend_workloads
from support.units import UnitInput, unit_inputs

TEXT = "\n".join(
    f"QUERY q{cut} RETURN COUNT(*) PATTERN SEQ(A, B+ b, NOT D, C c) WHERE b.v < {cut};"
    for cut in range(1, 6)
)
EVENTS = pa.table(
    {
        "type": list("AABBBBDBBCBBBC") * 4,
        "time": range(56),
        "v": [(7 * number) % 6 for number in range(56)],
    }
)
HALF = len(EVENTS) // 2


def fresh() -> UnitInput:
    """Return a unit of which nothing is worked out yet, and its events."""
    (given,) = unit_inputs(plan(parse_workload(TEXT)), EVENTS, exact=False)
    return given


def alone(given: UnitInput, sharing: Sharing) -> list[dict[str, object]]:
    """Return what an operator gives out that no other has come before."""
    operator = TrendOperator(given.unit, sharing=sharing)
    operator.process(given.batch)
    return rows_of(operator.close())


def rows_of(totals: pa.RecordBatch) -> list[dict[str, object]]:
    return sorted(totals.to_pylist(), key=lambda row: row["query"])


@pytest.mark.parametrize("sharing", Sharing)
def test_operators_of_one_unit_may_see_classes_in_any_order(sharing: Sharing) -> None:
    given, expected = fresh(), alone(fresh(), sharing)
    assert len(expected) == 5
    begun = TrendOperator(given.unit, sharing=sharing)
    begun.process(given.batch.slice(0, 3))
    backwards = TrendOperator(given.unit, sharing=sharing)
    backwards.process(given.batch.slice(HALF + 5))
    assert prepared(given.unit, sharing).codes != sorted(prepared(given.unit, sharing).codes)
    begun.process(given.batch.slice(3))
    assert rows_of(begun.close()) == expected
    assert alone(given, sharing) == expected


@pytest.mark.parametrize("sharing", Sharing)
def test_a_state_goes_on_where_other_classes_were_seen_before(sharing: Sharing) -> None:
    first, expected = fresh(), alone(fresh(), sharing)
    operator = TrendOperator(first.unit, sharing=sharing)
    operator.process(first.batch.slice(0, HALF))
    saved = operator.save()
    for begin, end in itertools.pairwise((0, 3, 9, HALF, len(EVENTS))):
        second = fresh()
        other = TrendOperator(second.unit, sharing=sharing)
        other.process(second.batch.slice(begin, end - begin))
        loaded = TrendOperator.load(second.unit, saved)
        loaded.process(second.batch.slice(HALF))
        assert rows_of(loaded.close()) == expected
        assert loaded.statistics.classes == TrendOperator.load(first.unit, saved).statistics.classes


def test_what_is_worked_out_of_a_unit_does_not_travel() -> None:
    given = fresh()
    before, told = len(pickle.dumps(given.unit)), canonical(given.unit)
    alone(given, Sharing.DYNAMIC)
    assert given.unit.kept
    assert canonical(given.unit) == told
    assert len(pickle.dumps(given.unit)) == before
    copy = pickle.loads(pickle.dumps(given.unit))
    assert copy == given.unit
    assert not copy.kept


MANY = "\n".join(
    f"QUERY q{n} RETURN COUNT(*), SUM(x.v), MAX(b.v) PATTERN SEQ(X{n} x, B b+{', C c' * (n % 2)}) "
    f"{'WHERE x.v < 3 AND b.v > 1' if n % 3 else ''} WITHIN 9 seconds SLIDE 3 seconds;"
    for n in range(12)
)


def whole(text: str | Workload, sharing: Sharing, *, at_once: bool) -> list[tuple[object, ...]]:
    """Return the words of a workload's units, and the places of all classes in them."""
    made: list[tuple[object, ...]] = []
    for _, unit in trend_units(plan(parse_workload(text) if isinstance(text, str) else text)):
        if unit.path is Path.COARSE:
            ready, codes = Prepared(unit, sharing), range(min(unit.classes.size, 200))
            steps = [codes] if at_once else [[code] for code in codes]
            places = [place for several in steps for place in ready.places(several)]
            made.append((places, ready.words.tolist()))
    return made


@pytest.mark.parametrize("sharing", Sharing)
def test_classes_have_the_words_together_that_each_has_by_itself(sharing: Sharing) -> None:
    together = whole(MANY, sharing, at_once=True)
    assert together
    assert together == whole(MANY, sharing, at_once=False)


@settings(max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "20")))
@given(trend_workloads(), st.sampled_from(Sharing))
def test_classes_of_any_workload_have_them_too(workload: Workload, sharing: Sharing) -> None:
    assert whole(workload, sharing, at_once=True) == whole(workload, sharing, at_once=False)
