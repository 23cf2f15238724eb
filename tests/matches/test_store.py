"""The events that are kept: their rows, and the integers that stand for texts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.errors import InputError
from elsinore.matches import store
from elsinore.matches.classes import EventClasses
from elsinore.matches.engine.codes import MOMENT, TIME
from elsinore.matches.operands import RESERVED, Layout
from elsinore.matches.operator import MatchOperator
from elsinore.matches.store import Store
from elsinore.operators import OperatorOptions
from elsinore.operators.conditions import ranked
from elsinore.operators.conditions.ranked import OrderCodes
from elsinore.plan.classes import classes_of
from oracles.matches import Happening
from support.matches import batch_of, parsed, units_of

BATCHES = st.lists(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abcdefgh")), min_size=1, max_size=6),
    max_size=8,
)


@settings(max_examples=200)
@given(BATCHES, st.integers(0, 4), st.integers(1, 12))
def test_a_store_has_the_last_rows_of_each_key(batches, few, span) -> None:
    layout = Layout({"s": pa.string()}, EventClasses(classes_of(())))
    row = layout.whole("s")
    expected: dict[int, list[tuple[int, str]]] = {}
    time = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "FEW", few)
        patch.setattr(ranked, "FEW", 1)
        patch.setattr(ranked, "STEP", 2)
        kept = Store(layout, one_slot=False, ordered=True)
        for batch in batches:
            rows = []
            for key, text in batch:
                time += 1
                rows.append((key, time, text))
            keys, times, values = zip(*rows, strict=True)
            table = pa.table({"key": pa.array(keys, pa.int32()), "time": times, "value:s": values})
            touched, old = kept.append(table, np.zeros(len(rows), np.int64))
            assert old.tolist() == [len(expected.get(key, [])) for key in touched.tolist()]
            for key, at, text in rows:
                expected.setdefault(key, []).append((at, text))
            taken = kept.take(touched, old)
            columns = taken.operands.wholes
            listed = kept.arrived.take("value:s", taken.numbers).to_pylist()
            for key, one in zip(touched.tolist(), taken.keys, strict=True):
                span_of_key = slice(int(one.first_row), int(one.end_row))
                assert columns[TIME, span_of_key].tolist() == [at for at, _ in expected[key]]
                assert listed[span_of_key] == [text for _, text in expected[key]]
                assert (np.diff(columns[MOMENT, span_of_key]) == 1).all()
                assert one.new_row - one.first_row == old[touched.tolist().index(key)]
            codes = dict(zip(columns[row].tolist(), listed, strict=True))
            assert [codes[code] for code in sorted(codes)] == sorted(set(listed))
            kept.release(touched, np.full(len(touched), time - span))
            for key in touched.tolist():
                expected[key] = [pair for pair in expected[key] if pair[0] >= time - span]
        assert kept.rows == sum(map(len, expected.values()))
        assert kept.codes().tolist() == sorted(key for key in expected if expected[key])
    assert row == RESERVED


def test_texts_without_integers_between_them_are_renumbered() -> None:
    codes = OrderCodes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranked, "STEP", 4)
        codes.learn(["a", "z"])
        words = ["m", "f", "c", "b", "d"]
        changed = [codes.learn([word]) for word in words]
    assert any(change is not None for change in changed)
    everything = sorted(["a", "z", *words])
    assert (np.diff(codes.encoded(everything)) > 0).all()


def test_forgotten_texts_take_no_memory_and_constants_stay() -> None:
    codes = OrderCodes()
    codes.pin(["constant"])
    codes.learn(map(str, range(1000)))
    codes.keep(codes.encoded(["7"]))
    assert len(codes) == 2
    assert codes.code_of("constant") > codes.encoded(["7"])[0]


def test_the_two_least_integers_are_told_apart_across_batches() -> None:
    (unit,) = units_of(parsed("RETURN b.n PATTERN SEQ(A a, B b) WHERE b.n > a.n WITHIN 10;"))
    operator = MatchOperator(unit, OperatorOptions())
    first, _ = batch_of(unit, [Happening(1, "A", {"n": -(2**63)})])
    second, _ = batch_of(unit, [Happening(2, "B", {"n": -(2**63) + 1})])
    assert list(operator.process(first)) == []
    with pytest.raises(InputError, match="cannot tell apart"):
        list(operator.process(second))


def test_only_the_keys_of_a_batch_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    (unit,) = units_of(parsed("RETURN b.n PATTERN SEQ(A a, B b) WHERE [k] WITHIN 1000;"))
    operator = MatchOperator(unit, OperatorOptions())
    events = [Happening(n, "A", {"n": n, "k": n}) for n in range(100)]
    events += [Happening(200, "B", {"n": 200, "k": 7})]
    batch, _ = batch_of(unit, events)
    assert list(operator.process(batch.slice(0, 100))) == []
    searched = []
    take = Store.take

    def counted(self, touched, old=None):
        rows = take(self, touched, old)
        searched.append(len(rows.numbers))
        return rows

    monkeypatch.setattr(Store, "take", counted)
    (found,) = operator.process(batch.slice(100), until=150)
    assert found.num_rows == 1
    assert searched == [2]
