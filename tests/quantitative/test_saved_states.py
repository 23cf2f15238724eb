"""Saved states of quantitative queries: what they hold, what is refused, and how large they are."""

from __future__ import annotations

import datetime as dt
import enum
import json
import os
import pickle
import re
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import pytz
from hypothesis import given, settings
from hypothesis import strategies as st

import elsinore.quantitative as qre
from elsinore.errors import StateError
from elsinore.expressions.columns import evaluate
from elsinore.operators import OperatorOptions, kind_for
from elsinore.plan import Unit
from elsinore.quantitative import encoding
from elsinore.quantitative.encoded_values import UnsupportedValueError, taken_apart
from elsinore.quantitative.encoding import KEYS, MOST_NESTED, decode, encode
from elsinore.quantitative.fingerprint import fingerprint
from elsinore.quantitative.items import as_item
from elsinore.quantitative.runnable import Query
from elsinore.quantitative.stream import SAVED_BY
from elsinore.quantitative.versions import Bag, Counts
from elsinore.runtime.classify import classify, type_numbers
from elsinore.saved_states import seal
from quantitative.test_kind import MODULE, unit_and_batch
from support.forged import allocating_little, check_forgeries

S = qre.event("s")
EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "30"))
RAN: list[str] = []  # functions of classes below that were called


@dataclass(frozen=True)
class Extent:
    least: float
    most: float


@dataclass
class Noisy:
    """A dataclass that notes when one of its functions is called."""

    value: Any
    doubled: int = field(init=False)

    def __post_init__(self) -> None:
        RAN.append("__post_init__")
        self.doubled = 2

    def __setattr__(self, name: str, value: Any) -> None:
        RAN.append("__setattr__")
        object.__setattr__(self, name, value)


@dataclass(slots=True)
class Slotted:
    value: Any


@dataclass
class Zone(dt.tzinfo):
    """A time zone whose functions are the user's."""

    def utcoffset(self, moment: dt.datetime | None) -> dt.timedelta:
        RAN.append("utcoffset")
        return dt.timedelta(0)


class Pair(NamedTuple):
    left: int
    right: str


class Plain:
    """No dataclass."""


class Colour(enum.Enum):
    RED = 1


VALUES = [
    None, True, False, qre.UNDEFINED,
    0, -1, 2**63 - 1, -(2**63), 2**63, -(2**200), 1.5, float("inf"), -0.0,
    "", "text", "\ud800", "\ud83d\ude00", '"\x00\\',
    b"bytes", bytearray(b"x"), 1 + 2j, (), [], {}, set(), frozenset({1}),
    (1, (2, "a")), [1.0, 2.0, 3.0, 4.0, -0.0], [1, 2, 3, 4, -5], [1, 2, 3, 2**70], [True] * 5,
    {"a": [1], (1, 2): None}, {1, 2}, Counter("aab"), OrderedDict(b=1, a=2),
    defaultdict(list, a=[1]), deque([1, 2], 3), deque([1]), Decimal("1.50"), Fraction(1, 3),
    dt.date(2026, 1, 2), dt.time(1, 2, 3), dt.datetime(2026, 1, 2, 3, 4, 5, 6),
    dt.datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
    dt.datetime(2026, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=-3))),
    dt.time(1, 2, tzinfo=dt.timezone(dt.timedelta(hours=1), "CET")), dt.time(1, fold=1),
    pytz.timezone("Europe/Berlin").localize(dt.datetime(2026, 10, 25, 2, 30), is_dst=True),
    dt.datetime(2026, 1, 2, tzinfo=pytz.UTC), dt.datetime(2026, 1, 2, tzinfo=pytz.FixedOffset(180)),
    Decimal("-0E+3"), pd.Timestamp("9000-01-01").as_unit("s"), pd.Timestamp(5, tz="+03:00"),
    dt.timedelta(days=-1, seconds=3, microseconds=5), UUID(int=7), np.float32(1.5), np.int8(-3),
    np.datetime64("2026-01-02T03", "ns"), pd.Timestamp(5, tz="UTC"), pd.Timestamp("2026-01-01"),
    pd.Timestamp(1791000000000000001, tz="Europe/Berlin"), pd.Timedelta(5),
    pa.MonthDayNano([1, -2, 3]), Extent(1.0, 2.0), Slotted([Extent(0.0, 1.0)]), Pair(1, "a"),
    as_item({"type": "M", "class": 1, "a b": None}), Counts({"a": 2}), Bag([3, 1, 2]),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{type(value).__name__} {value!r:.30}")
def test_values_are_loaded_unchanged(value: Any) -> None:
    again = decode(encode(value))
    assert type(again) is type(value)
    assert repr(again) == repr(value)
    assert again == value
    if isinstance(value, dict | list | tuple):
        assert list(map(type, again)) == list(map(type, value))
    if isinstance(value, deque | defaultdict):
        same = "maxlen" if isinstance(value, deque) else "default_factory"
        assert getattr(again, same) == getattr(value, same)


def test_arrays_and_nan_are_loaded_unchanged() -> None:
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    again = decode(encode(array[:, ::2]))
    assert (again.dtype, again.tolist()) == (np.int16, [[0, 2], [3, 5]])
    nan = decode(encode([float("nan"), 1.0, 1.0, 1.0]))
    assert nan[0] != nan[0]
    assert nan[1:] == [1.0, 1.0, 1.0]


ZONES = st.none() | st.timezones() | st.sampled_from(
    [dt.UTC, dt.timezone(dt.timedelta(minutes=-90), "x"), pytz.UTC, pytz.FixedOffset(90)]
)  # fmt: skip
PYTZ = st.builds(
    lambda zone, moment: pytz.timezone(zone).fromutc(moment),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata"]),
    st.datetimes(dt.datetime(1950, 1, 1), dt.datetime(2060, 1, 1)),
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
    | st.text(st.characters(categories=["Cs", "Cc"])) | st.binary() | st.decimals(allow_nan=False)
    | st.fractions() | st.complex_numbers(allow_nan=False) | st.dates() | st.times(timezones=ZONES)
    | st.datetimes(timezones=ZONES) | PYTZ | PYTZ.map(pd.Timestamp) | st.timedeltas() | st.uuids()
    | st.integers(-(2**63) + 1, 2**63 - 1).map(lambda n: np.datetime64(n, "us")),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | inner.map(lambda v: (v, [v], v))
    | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers(), st.text()), inner)
    | st.builds(Slotted, inner) | st.builds(Extent, st.floats(allow_nan=False), st.just(0.0)),
)  # fmt: skip


@given(PLAIN)
@settings(max_examples=max(100, EXAMPLES))
def test_drawn_values_are_loaded_unchanged(value: Any) -> None:
    assert repr(decode(encode(value))) == repr(value)


def test_a_container_that_occurs_twice_is_written_once_and_shared_again() -> None:
    shared = ["a", "b"] * 100
    first, second = decode(encode((shared, shared)))
    assert first is second
    assert len(encode((shared,) * 9)) < len(encode((shared,))) + 40


# --- what a state does not hold -----------------------------------------------------------------


def local_class() -> object:
    @dataclass
    class Local:
        value: int

    return Local(1)


CONTAINED: list[Any] = []
CONTAINED.append(CONTAINED)
NESTED: Any = ()
for _ in range(MOST_NESTED):
    NESTED = (NESTED,)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (Plain(), f"a {__name__}.Plain"),
        (len, "a builtins.builtin_function_or_method"),
        (Colour.RED, f"a {__name__}.Colour"),
        (defaultdict(lambda: 1), "a collections.defaultdict"),
        (np.array([object()]), "a numpy.ndarray of the type object"),
        (dt.datetime(2026, 1, 1, tzinfo=Zone()), f"a {__name__}.Zone"),
        (local_class(), f"a {__name__}.local_class.<locals>.Local, which is not found"),
        (CONTAINED, "a list that contains itself"),
        (NESTED, f"more than {MOST_NESTED} containers in one another"),
    ],
)
def test_unsupported_values_are_rejected_with_the_function_that_returned_them(
    value: object, sentence: str
) -> None:
    def kept(item: object) -> object:
        return value

    def joined(first: object, second: object) -> int:
        return 1 if first is second else 0

    query = qre.split(qre.atom(qre.any, kept), qre.atom(), joined)
    stream = query.start()
    stream.push(1)
    message = f"cannot be saved: kept of atom(any, kept) is {sentence}"
    with pytest.raises(StateError, match=re.escape(message)):
        stream.save()
    with pytest.raises(UnsupportedValueError):
        encode(value)


def test_the_function_in_the_query_of_a_key_is_named() -> None:
    def opened(item: Any) -> Plain:
        return Plain()

    body = qre.split(qre.atom(~S, opened), qre.atom(S), qre.left)
    stream = qre.map_collect(S, "k", body, S).start()
    stream.push({"type": "M", "k": 1})
    with pytest.raises(StateError, match=r"opened of atom\(~s, opened\) is a .*Plain"):
        stream.save()


def test_an_unsupported_last_value_names_its_query() -> None:
    stream = qre.atom(qre.any, lambda item: Plain()).start()
    stream.push(1)
    with pytest.raises(StateError, match=r"the value of atom\(any, lambda:\d+\) is a .*Plain"):
        stream.save()


def widened(extent: Extent, v: float) -> Extent:
    return Extent(min(extent.least, v), max(extent.most, v))


def test_accumulators_may_be_dataclasses() -> None:
    query = qre.iterate(qre.atom(qre.any, lambda v: v), Extent(0.0, 0.0), widened)
    stream = query.start()
    stream.push(3.0)
    assert query.load(stream.save()).push(-1.0) == Extent(-1.0, 3.0)


def test_loading_a_state_calls_no_function_of_a_class() -> None:
    state = encode(Noisy(5))
    RAN.clear()
    again = decode(state)
    assert RAN == []
    assert (again.value, again.doubled) == (5, 2)


# --- forged states ------------------------------------------------------------------------------


def inverse_of_last() -> Query:
    return qre.iterate(qre.atom(qre.any, lambda v: 10 // v), 0, lambda total, v: total + v)


ITEMS = [{"type": "as"[n % 4 == 3], "v": float(n), "k": f"key {n % 3}"} for n in range(11)]
PER_SYNC = qre.split(qre.iterate(qre.atom(~S, lambda m: m.v), qre.median()), qre.atom(S), qre.left)
KEPT: dict[str, Query] = {
    "sum": qre.iterate(qre.atom(qre.any, lambda m: m.v), qre.sum()),
    "window": qre.sliding(qre.atom(qre.any, lambda m: m.v), 4, qre.max()),
    "median": qre.iterate(qre.atom(qre.any, lambda m: m.v), qre.median()),
    "counts": qre.iterate(qre.atom(qre.any, lambda m: m.k), qre.counts()),
    "sketch": qre.iterate(qre.atom(qre.any, lambda m: m.v), qre.sketch(0.1)),
    "keys": qre.iter_last(qre.map_collect(S, "k", PER_SYNC, S)),
    "items": qre.sliding(qre.atom(), 3, qre.last()),
    "dataclass": qre.iterate(qre.atom(qre.any, lambda m: m.v), Extent(0.0, 0.0), widened),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_forged_state_of_a_stream_is_rejected(name: str) -> None:
    query = KEPT[name]
    stream = query.start()
    stream.extend(ITEMS)
    state = stream.save()
    check_forgeries(query.load, state)
    assert query.load(state).save() == state


@pytest.mark.parametrize("query", ["totals", "per_key", "kinds", "pipeline"])
def test_a_forged_state_of_an_operator_is_rejected(query: str) -> None:
    unit, batch = unit_and_batch(f"QUERY q FROM detectors:{query}")
    kind = kind_for(unit)
    operator = kind.operator(unit, OperatorOptions())
    list(operator.process(batch))
    check_forgeries(lambda blob: kind.load(unit, blob), operator.save(), count=20)


class Command:
    def __reduce__(self) -> tuple[Any, ...]:
        return RAN.append, ("unpickled",)


def rows(*rows: Sequence[Any], root: Any = None) -> bytes:
    """Return the content of a state with these rows: an example of the type, and the parts."""
    typed = [[taken_apart(example)[0], *parts] for example, *parts in rows]
    return json.dumps([*typed, [len(rows) - 1] if root is None else root]).encode()


EXTENT, FORGED_ZONE = Extent(0.0, 0.0), (Extent(0.0, 0.0), f"{__name__}:Zone")
MOMENT = encode(dt.datetime(2026, 1, 2)).split(b'"')[1].decode()


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(Command()),
        rows((EXTENT, "os:system", "true")),
        rows((EXTENT, "subprocess:Popen", "true")),
        rows((EXTENT, "builtins:eval", "1")),
        rows((EXTENT, f"{__name__}:Plain")),
        rows((EXTENT, f"{__name__}:Extent.least", 1.0)),
        rows((EXTENT, f"{__name__}:Extent", 1.0)),
        rows((EXTENT, f"{__name__}:Pair", 1)),
        rows((EXTENT, "antigravity:x")),
        rows((EXTENT, "quantitative.test_saved_states:local_class.<locals>.Local", 1)),
        *(text.encode() for text in ["", "[]", "{}", "5", "[{}]", "[[]]", "[[0],[0],[1]", "[[0,5"]),
        b"\xff" * 30,
        b"[" * 100_000,
        rows(((), [1])),
        rows(((), [0])),
        rows(((), []), root=[0]),
        rows(((), [0, 0]), root=[0]),
        rows(((), {"a": 1})),
        rows(((), 1), root={"a": 1}),
        b"[[99],[0]]",
        b"[[null],[0]]",
        b"[[0," + b"9" * 5000 + b"],[0]]",
        rows((np.zeros(0), "<f8", "AAAAAAAAAAA=", 1 << 40)),
        rows((np.zeros(0), "<f8", "AAAAAAAAAAA=", -1, -1)),
        rows((np.zeros(0), "|O", "AAAAAAAAAAA=", 1)),
        rows((np.zeros(0), "V8", "AAAAAAAAAAA=", 1)),
        rows((np.zeros(0), "<f8", "?" * 12, 1)),
        rows(((),), *(((), [n]) for n in range(MOST_NESTED))),
        rows(((),), *(((), [n]) for n in range(100_000))),
        rows(([],), ({}, [0], 1)),  # a list as a key
        rows(({}, 1)),
        rows(({},), root=[0])[:-5] + f',[{KEYS},"<elsinore query.keys0>",null,[0]],[1]]'.encode(),
        rows((Counts(), None)),
        rows((Bag(), None)),
        rows((dt.timedelta(0), 1 << 80)),
        rows((Decimal(1), "one")),
        rows(FORGED_ZONE, (b"", MOMENT), (dt.datetime(2026, 1, 2), [1], [0])),
        rows(FORGED_ZONE, (b"", "AQIDAAAA"), (dt.time(), [1], [0])),
        rows(FORGED_ZONE, (np.int8(0), "<M8[ns]", "AAAAAAAAAAA="), (pd.Timestamp(0), [1], [0])),
        rows((ZoneInfo("UTC"), "../../etc/passwd")),
        rows((pytz.UTC, "../../etc/passwd")),
    ],
)
def test_invalid_content_with_a_correct_checksum_is_rejected(content: bytes) -> None:
    RAN.clear()
    with pytest.raises(StateError), allocating_little():
        decode(content)
    query = inverse_of_last()
    with pytest.raises(StateError), allocating_little():
        query.load(seal(SAVED_BY, fingerprint(query.stages), content))
    assert RAN == []


def test_a_key_that_refers_to_itself_many_times_is_not_hashed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    doubled = [((),), *(((), [n], [n]) for n in range(60))]
    monkeypatch.setattr(encoding, "MOST_HASHED", 1000)
    with pytest.raises(StateError, match="a key of more than 1000 values"):
        decode(rows(*doubled, ({}, [60], None)))
    key: tuple[Any, ...] = ()
    for _ in range(10):
        key = (key, key)
    with pytest.raises(UnsupportedValueError, match="a key of more than 1000 values"):
        encode({key: 1})


def test_a_deep_value_that_occurs_again_below_another_is_rejected_when_saved() -> None:
    inner: Any = ()
    for _ in range(MOST_NESTED - 10):
        inner = (inner,)
    outer = inner
    for _ in range(9):
        outer = (outer,)
    assert decode(encode([inner, outer[0]])) == [inner, outer[0]]
    with pytest.raises(UnsupportedValueError, match="containers in one another"):
        encode([inner, (outer,)])


@pytest.mark.parametrize(
    "state",
    [
        (),
        (True,),
        (1, 2),
        (True, 0, 0),
        [True, 0],
        None,
    ],
)
def test_a_state_of_another_machine_is_rejected(state: object) -> None:
    query = inverse_of_last()
    saved = encode(([0], [state], [None]))
    with pytest.raises(StateError, match="not fit the query's machine"):
        query.load(seal(SAVED_BY, fingerprint(query.stages), saved))


@pytest.mark.parametrize(
    "window",
    [
        qre.sliding(qre.atom(~S), 3, qre.count()),
        qre.sliding(qre.atom(~S, lambda m: m.value), 3, 0, lambda total, value: total + value),
        qre.approx_count_in_window(qre.atom(~S, lambda m: m.value), 3, lambda v: v > 1, 0.5),
    ],
)
def test_the_value_of_a_window_before_another_part_is_saved(window: Any) -> None:
    query = qre.split(window, qre.atom(S), qre.atom(S), lambda value, _, __: value)
    items = [*({"type": "M", "value": v} for v in (1, 2, 3, 4)), {"type": "s"}, {"type": "s"}]
    whole = query.start().extend(items)
    for cut in range(len(items)):
        stream = query.start()
        stream.extend(items[:cut])
        places, values = query.load(stream.save()).extend(items[cut:])
        assert ([cut + place for place in places], values) == whole


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_state_is_loaded_from_any_type_of_bytes(kind: Callable[[bytes], bytes]) -> None:
    stream = inverse_of_last().start()
    loaded = inverse_of_last().load(kind(stream.save()))
    assert loaded.save() == stream.save()


@pytest.mark.parametrize("state", ["text", None, 3, b"nothing"])
def test_values_other_than_saved_states_are_rejected(state: Any) -> None:
    with pytest.raises(StateError, match="not a saved state"):
        inverse_of_last().load(state)


def test_a_state_of_another_query_or_of_an_older_release_is_rejected() -> None:
    with pytest.raises(StateError, match="with other queries"):
        qre.filter(qre.any).load(inverse_of_last().start().save())
    older = b"elsinore quantitative state\n\1\0" + pickle.dumps(Command())
    with pytest.raises(StateError, match="not a saved state"):
        inverse_of_last().load(older)
    assert "unpickled" not in RAN


# --- map_collect, over tables -------------------------------------------------------------------


@pytest.mark.parametrize("name", KEPT)
def test_a_stream_that_took_a_table_is_saved_and_goes_on(name: str) -> None:
    query, table = KEPT[name], pa.Table.from_pylist(ITEMS)
    whole = query.start()
    expected = [whole.push(item) for item in ITEMS * 3]
    stream = query.start()
    found = [stream.push(item) for item in ITEMS]
    taken = stream.take(table)
    assert taken.num_rows == sum(value is not qre.UNDEFINED for value in expected[11:22])
    again = query.load(stream.save())
    assert again.position == 22
    found += expected[11:22]
    found += [again.push(item) for item in ITEMS]
    if name != "sketch":
        assert found == expected
        assert [stream.push(item) for item in ITEMS] == expected[22:]


def test_an_item_that_fails_after_a_table_changes_no_key() -> None:
    per_key = qre.split(
        qre.iterate(qre.atom(~S, lambda m: m.v), qre.sum()),
        qre.atom(S),
        lambda total, sync: total // sync.v,
    )
    query = qre.map_collect(S, "k", qre.iter_last(per_key))
    stream, rows = query.start(), [{"type": "M", "k": n % 2, "v": n} for n in range(6)]
    stream.take(pa.Table.from_pylist(rows))
    with pytest.raises(qre.OperationError, match="ZeroDivisionError"):
        stream.push({"type": "s", "k": None, "v": 0})
    stream.push({"type": "M", "k": 0, "v": 10})
    assert stream.push({"type": "s", "k": None, "v": 1}) == {0: 16, 1: 9}


# --- size ---------------------------------------------------------------------------------------


def episodes() -> Query:
    """Return the mean of each episode; a key between two episodes is as a new one."""
    begin, end = qre.event("M"), qre.event("S")
    values = qre.iterate1(qre.atom(qre.event("other"), lambda other: other.v or 0.0), qre.mean())
    return qre.iter_last(qre.split(qre.atom(begin), values, qre.atom(end), lambda m, v, s: v))


def unit_of_episodes() -> Unit:
    """Return the unit of `episodes`."""
    MODULE.episodes = episodes().by("k")  # type: ignore[attr-defined]
    unit, _ = unit_and_batch("QUERY q FROM detectors:episodes")
    return unit


EPISODE = {"type": ["M", "other", "S"], "v": [1.0, 2.0, 3.0]}


def test_keys_between_two_episodes_are_a_bit_in_a_state_and_are_not_open() -> None:
    unit, count = unit_of_episodes(), 4000
    kind = kind_for(unit)
    whole, operator = (kind.operator(unit, OperatorOptions()) for _ in range(2))
    begun = batch_for(unit, EPISODE, range(count))
    first, rest = begun.slice(0, 3 * count - 4), begun.slice(3 * count - 4)
    expected = [list(whole.process(part)) for part in (first, rest)]
    assert expected[1][0].column("value").to_pylist() == [2.0, 2.0]
    assert list(operator.process(first)) == expected[0]
    open_keys = operator.open_keys()
    assert open_keys is not None
    assert open_keys.tolist() == [count - 2]  # the last key has no events yet
    state = operator.save()
    assert len(state) < count // 8 + 500
    assert list(kind.load(unit, state).process(rest)) == expected[1]


@pytest.mark.parametrize("rows", [2, 400])
@given(st.data())
@settings(max_examples=EXAMPLES // 4)
def test_a_code_that_is_not_open_may_be_that_of_another_key(rows: int, data: st.DataObject) -> None:
    unit = unit_of_episodes()
    kind = kind_for(unit)
    shared = kind.operator(unit, OperatorOptions())
    streams: dict[int, Any] = {}  # code -> an operator of its key alone
    for _ in range(data.draw(st.integers(1, 4))):
        kinds = data.draw(st.lists(st.sampled_from(["M", "other", "S"]), min_size=rows // 2))
        codes = data.draw(st.lists(st.integers(0, 3), min_size=len(kinds), max_size=len(kinds)))
        kinds, codes = (kinds * rows)[:rows], (codes * rows)[:rows]
        values = [float(n % 5) for n in range(len(kinds))]
        expected: list[Any] = []
        batch = batch_of(unit, kinds, values, codes)
        found = [
            (row["group"], row["value"])
            for part in shared.process(batch)
            for row in part.to_pylist()
        ]
        for code in sorted(set(codes)):
            alone = streams.setdefault(code, kind.operator(unit, OperatorOptions()))
            mine = [n for n, each in enumerate(codes) if each == code]
            part = batch_of(
                unit, [kinds[n] for n in mine], [values[n] for n in mine], [0] * len(mine)
            )
            for rows_of_key in alone.process(part):
                expected += [(code, row["value"]) for row in rows_of_key.to_pylist()]
        assert sorted(found) == sorted(expected)
        for code in set(streams) - set(shared.open_keys().tolist()):
            del streams[code]  # its next event is that of another key
        if data.draw(st.booleans()):
            shared = kind.load(unit, shared.save())


def batch_for(unit: Unit, columns: dict[str, Any], keys: Iterable[int]) -> pa.RecordBatch:
    """Return the events of `columns` for each key, key after key."""
    rows = [(key, place) for key in keys for place in range(len(columns["type"]))]
    kinds, values = ([columns[name][place] for _, place in rows] for name in ("type", "v"))
    return batch_of(unit, kinds, values, [key for key, _ in rows])


def batch_of(
    unit: Unit, kinds: Sequence[str], values: Sequence[float], keys: Sequence[int]
) -> pa.RecordBatch:
    """Return events as an operator takes them."""
    table: dict[str, Any] = {"type": pa.array(kinds), "v": pa.array(values)}
    key = pa.array(keys, pa.int32())
    numbers = type_numbers(table["type"], unit.types)
    batch: dict[str, Any] = {"key": key, "group": key, "time": pa.array(range(len(keys)))}
    batch["class"] = pa.array(classify(unit.classes, numbers, unit.types, table))
    for column in unit.columns:
        source = column.source
        batch[column.name] = table[source] if isinstance(source, str) else evaluate(source, table)
    return pa.RecordBatch.from_pydict(batch)
