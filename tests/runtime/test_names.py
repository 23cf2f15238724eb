"""Texts are found among names whatever their lengths, and wherever they lie in their buffers."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.runtime.names import BLOCK, text_numbers

FEW_NAMES = 8  # with which texts are compared one by one; more are hashed
# lengths about those of one word and of two, and texts that differ in any of their letters
LENGTHS = st.sampled_from([0, 1, 7, 8, 9, 15, 16, 17, 24, 40])
TEXTS = st.builds(
    lambda length, place, letter: (
        "a" * min(place, length) + letter * (place < length) + "a" * (length - place - 1)
    ),
    LENGTHS,
    st.integers(0, 40),
    st.sampled_from("ab"),
)

# up to eight bytes, of which the last might be taken for a length
SHORT = st.one_of(
    st.text("ab\0\7", max_size=8),
    st.builds(str.__add__, st.just("a" * 7), st.sampled_from(["", "\0", "\1", "\7", "\b"])),
)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@given(
    texts=st.lists(TEXTS, max_size=30), names=st.lists(TEXTS, unique=True), first=st.integers(0, 3)
)
def test_each_text_has_the_place_of_its_name(
    kind: pa.DataType, texts: list[str], names: list[str], first: int
) -> None:
    places = {name: place for place, name in enumerate(names)}
    column = pa.array(texts, kind).slice(first)
    expected = [places.get(t, -1) for t in texts[first:]]
    assert text_numbers(column, names).whole().tolist() == expected
    assert text_numbers(column, names).whole(3).tolist() == expected
    loose = pa.array(["x", *texts], kind).slice(1 + first)  # no text at the place of a word
    assert text_numbers(loose, names).whole().tolist() == [places.get(t, -1) for t in texts[first:]]


def test_a_text_is_found_where_its_bytes_are_not_where_words_are() -> None:
    task_bytes = pa.py_buffer(b"xABCDEFGHIJ" * 10).slice(1)
    starts = pa.array([0, 10, 21, 32], pa.int32()).buffers()[1]
    column = pa.Array.from_buffers(pa.string(), 3, [None, starts, task_bytes])
    assert text_numbers(column, ["ABCDEFGHIJ", "xABCDEFGHIJ"]).whole().tolist() == [0, 1, 1]


@given(
    texts=st.lists(TEXTS, min_size=1, max_size=30),
    short=st.lists(SHORT, min_size=1, max_size=30),
    names=st.lists(st.one_of(SHORT, TEXTS), unique=True, max_size=FEW_NAMES + 1),
)
def test_blocks_of_short_texts_have_the_places_of_their_names(
    texts: list[str], short: list[str], names: list[str]
) -> None:
    places = {name: place for place, name in enumerate(names)}
    many = 3 * BLOCK // len(short) * short + texts + BLOCK * short
    assert text_numbers(pa.array(many), names).whole().tolist() == [places.get(t, -1) for t in many]
