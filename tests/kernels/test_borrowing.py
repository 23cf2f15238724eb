"""Kernels that borrow arrays do nothing that counting references would be needed for."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import types
from numba.core.errors import TypingError
from numba.core.runtime import _nrt_python, rtsys

from elsinore.kernels import kernel
from elsinore.quantitative.lowered.words import HELPERS

WORDS = types.Array(types.int64, 1, "C")
LISTED = types.ListType(WORDS)
words_at = HELPERS["words_at"]  # returns a pointer


class Pair(NamedTuple):
    one: np.ndarray
    other: np.ndarray


@kernel(linked=True)
def made(count: int) -> np.ndarray:
    return np.zeros(count, np.int64)


@kernel(linked=True)
def count_made(count: int) -> int:
    return len(made(count))


def makes(numbers: np.ndarray) -> int:
    return len(np.ones(len(numbers), np.int64))


def sums(numbers: np.ndarray) -> int:
    more = numbers + 1
    return more[0]


def chooses(numbers: np.ndarray) -> int:
    return len(numbers[numbers > 1])


def copies(numbers: np.ndarray) -> int:
    return len(numbers.copy())


def lists(numbers: np.ndarray) -> int:
    return len([numbers])


def spells(numbers: np.ndarray) -> int:
    return len(str(numbers[0]))


def gets(numbers: np.ndarray) -> int:
    return len(made(len(numbers)))


def returns(numbers: np.ndarray) -> np.ndarray:
    return numbers


def returns_slice(numbers: np.ndarray) -> Any:
    part = numbers[1:]
    return 1, part


def returns_shaped(numbers: np.ndarray) -> np.ndarray:
    return numbers.reshape((1, -1))


def returns_tuple(numbers: np.ndarray) -> Pair:
    return Pair(numbers, numbers)


def returns_where(numbers: np.ndarray) -> Any:
    return words_at(numbers, 0)


def gives(numbers: np.ndarray) -> Iterator[int]:
    yield numbers[0]


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize(
    ("body", "why"),
    [
        (makes, "makes, keeps"),
        (sums, "makes, keeps"),
        (chooses, "makes, keeps"),
        (copies, "makes, keeps"),
        (lists, "memory of its own"),
        (spells, "makes, keeps"),
        (gets, "gets array.* from made"),
        (returns_shaped, "keeps or returns"),
        (gives, "one by one|returns"),
    ],
)
def test_what_is_not_for_arrays_that_are_borrowed_is_refused(
    body: Callable[..., Any], why: str, linked: bool
) -> None:
    borrowing = kernel(borrows=True, linked=linked)(body)
    with pytest.raises(TypingError, match=rf"{body.__name__}.*({why})(.|\n)*borrows=True"):
        borrowing.compile((WORDS,))  # type: ignore[attr-defined]


@pytest.mark.parametrize("body", [returns, returns_slice, returns_tuple, returns_where])
def test_parts_of_arrays_are_returned_to_kernels_that_borrow_alone(
    body: Callable[..., Any],
) -> None:
    with pytest.raises(TypingError, match=rf"{body.__name__} returns .*borrows=True"):
        kernel(borrows=True)(body).compile((WORDS,))  # type: ignore[attr-defined]
    part = kernel(borrows=True, linked=True)(body)

    def takes(numbers: np.ndarray) -> int:
        part(numbers)
        return numbers[0]

    with pytest.raises(TypingError, match=rf"takes gets .* from {body.__name__}"):
        kernel(takes).compile((WORDS,))  # type: ignore[attr-defined]
    assert kernel(borrows=True)(takes)(np.array([5, 7])) == 5


def test_a_kernel_that_borrows_keeps_no_array_in_a_list_of_its_caller() -> None:
    def keeps(numbers: np.ndarray, listed: Any) -> None:
        listed.append(numbers)

    with pytest.raises(TypingError, match=r"keeps (makes, keeps or returns|has memory of its own)"):
        kernel(borrows=True)(keeps).compile((WORDS, LISTED))  # type: ignore[attr-defined]

    def reads(numbers: np.ndarray, listed: Any) -> int:
        return len(listed)

    with pytest.raises(TypingError, match="reads has memory of its own in 'listed'"):
        kernel(borrows=True)(reads).compile((WORDS, LISTED))  # type: ignore[attr-defined]


def test_a_kernel_that_borrows_has_parts_of_arrays() -> None:
    @kernel(borrows=True)
    def total(pair: Pair, table: np.ndarray) -> int:
        found = 0
        for number in pair.one[1:]:
            found += number
        for row in table:
            found += row[0] + row[-1]
        both = pair.other, pair.one[1:]
        found += table.reshape(-1)[1]
        return found + both[0][0] + both[1][1]

    numbers, table = np.array([5, 7, 9]), np.array([[1, 2], [3, 4]])
    assert total(Pair(numbers, numbers[1:]), table) == 16 + 10 + 2 + 7 + 9


def test_a_kernel_that_counts_does_so_whoever_calls_it_first() -> None:
    @kernel(borrows=True)
    def twice(count: int) -> int:
        return count_made(count) + count_made(count + 1)

    assert twice(1) == 3
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    assert twice(3) == 7
    after = rtsys.get_allocation_stats()
    _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free == 2
