"""Numbering keys and groups against tuples of values."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.runtime import keys, ranges
from elsinore.runtime.keys import encode_keys, number_keys

often = settings(max_examples=80)
values = st.one_of(
    st.tuples(
        st.just(pa.int64()),
        st.lists(
            st.one_of(
                st.none(), st.integers(-3, 3), st.sampled_from([10**12, -(2**63), 2**63 - 1])
            ),
            min_size=12,
            max_size=12,
        ),
    ),
    st.tuples(st.just(pa.int8()), st.lists(st.integers(-128, 127), min_size=12, max_size=12)),
    st.tuples(
        st.just(pa.string()),
        st.lists(st.sampled_from([None, "", "a", "b"]), min_size=12, max_size=12),
    ),
    st.tuples(
        st.just(pa.bool_()),
        st.lists(st.sampled_from([None, True, False]), min_size=12, max_size=12),
    ),
)
Column = tuple[pa.DataType, list[Any]]


def built(column: Column, rows: int, *, encoded: bool) -> pa.Array:
    """Return a drawn column's first rows."""
    array = pa.array(column[1][:rows], column[0])
    return array.dictionary_encode() if encoded else array


@often
@given(
    st.lists(values, max_size=3),
    st.lists(values, max_size=2),
    st.integers(0, 12),
    st.booleans(),
    st.sampled_from([1, 2, 5]),
    st.data(),
)
def test_codes_are_equal_just_where_tuples_are(
    groups: list[Column],
    others: list[Column],
    rows: int,
    encoded: bool,
    threads: int,
    data: st.DataObject,
) -> None:
    required = data.draw(st.lists(st.sampled_from(groups + others))) if groups + others else []
    parts = (
        [built(column, rows, encoded=encoded) for column in part]
        for part in (groups, others, required)
    )
    table = mock.patch.object(keys, "TABLE", data.draw(st.sampled_from([0, keys.TABLE])))
    with table, mock.patch.object(ranges, "MOST_ROWS", data.draw(st.sampled_from([3, 100]))):
        numbered = number_keys(*parts, rows, threads)
        kept = numbered.materialized(threads)
    actual = numbered.codes_of(0, rows)
    begin = data.draw(st.integers(0, rows))
    for part in (numbered.codes_of(begin, rows), kept.codes_of(begin, rows)):
        assert part.key.tolist() == actual.key[begin:].tolist()
        assert part.group.tolist() == actual.group[begin:].tolist()
    group_of = [tuple(column[1][row] for column in groups) for row in range(rows)]
    key_of = [tuple(column[1][row] for column in groups + others) for row in range(rows)]
    lacking = [any(column[1][row] is None for column in required) for row in range(rows)]
    assert actual.incomplete is any(lacking)
    assert [code == -1 for code in actual.key.tolist()] == lacking
    for one in range(rows):
        assert actual.key[one] < actual.count
        for other in range(rows):
            same = group_of[one] == group_of[other]
            assert (actual.group[one] == actual.group[other]) == same
            if not lacking[one] and not lacking[other]:
                assert (actual.key[one] == actual.key[other]) == (key_of[one] == key_of[other])
    for code, row in enumerate(actual.example.tolist()):
        if row < 0:
            assert code not in actual.group
        else:
            assert actual.group[row] == code
            assert code not in actual.group[:row]  # the first such row


def test_without_attributes_all_events_have_one_key() -> None:
    actual = encode_keys([], [], [], 3)
    assert actual.key.tolist() == actual.group.tolist() == [0, 0, 0]
    assert actual.count == 1
    assert actual.example.tolist() == [0]


def test_without_attributes_and_events_no_row_is_an_example() -> None:
    assert encode_keys([], [], [], 0).example.tolist() == [-1]


def test_whole_numbers_of_every_width_are_numbered() -> None:
    for kind in (pa.int8(), pa.uint8(), pa.int32(), pa.uint64()):
        top = 2**64 - 1 if kind == pa.uint64() else 100
        column = pa.array([top, 3, top], kind)
        assert len(set(encode_keys([column], [], [], 3).key.tolist())) == 2


def test_a_range_wider_than_its_own_type_is_numbered() -> None:
    column = pa.array([-128, 127, 0], pa.int8())  # the difference of 255 is no int8
    actual = encode_keys([column], [], [], 3)
    assert actual.key.tolist() == [0, 255, 128]
    assert actual.count == 256


def test_a_dictionary_may_be_as_long_as_its_indices_can_tell() -> None:
    for kind, size in ((pa.int8(), 2**7), (pa.uint8(), 2**8)):
        names = pa.array([f"name {place}" for place in range(size)])
        places = pa.array([*range(size), None], kind)
        column = pa.DictionaryArray.from_arrays(places, names)
        assert encode_keys([column], [], [], size + 1).key.tolist() == list(range(size + 1))
