"""Instructions with fewer jumps do the same."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from elsinore.quantitative.machine.instructions import (
    ADD,
    GREATER,
    JUMP,
    JUMP_IF,
    JUMP_UNLESS,
    LESS,
    MOVE,
    NOT,
    TRUTH,
)
from elsinore.quantitative.machine.jumps import Jumps
from elsinore.quantitative.machine.transitions import Numbered

SLOTS = 6
STEPS = 60  # of instructions that jump back


def carried_out(code: Sequence[Numbered], slots: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the sums that were computed, and the slots after the instructions."""
    values, sums, place = list(slots), list[int](), 0
    while place < len(code) and len(sums) < STEPS:
        operation, target, left, right, jump = code[place]
        place += 1
        if operation == JUMP:
            place = left
        elif operation in {JUMP_IF, JUMP_UNLESS}:
            place = right if bool(values[left]) is (operation == JUMP_IF) else place
        elif operation == ADD:
            values[target] = values[left] + values[right]
            sums.append(values[target])
        elif operation in {LESS, GREATER}:
            first, second = values[left], values[right]
            values[target] = int(first < second if operation == LESS else first > second)
        elif operation == NOT:
            values[target] = int(not values[left])
        else:
            values[target] = values[left] if operation == MOVE else int(bool(values[left]))
        if jump and bool(values[target]) is (jump < 0):
            place = abs(jump) - 1
    return sums, values


@st.composite
def codes(draw: st.DrawFn) -> list[Numbered]:
    """Draw instructions. Whoever jumps back adds before, so that an end of `STEPS` sums comes."""
    count = draw(st.integers(1, 14))
    slot = st.integers(0, SLOTS - 1)
    code: list[Numbered] = []
    for place in range(count):
        operation = draw(
            st.sampled_from([ADD, LESS, GREATER, NOT, TRUTH, MOVE, MOVE, *[JUMP, JUMP_IF] * 2])
        )
        if operation == JUMP_IF:
            operation = draw(st.sampled_from([JUMP_IF, JUMP_UNLESS]))
        adds = [n for n, line in enumerate(code) if line[0] == ADD]
        to = draw(st.sampled_from([*adds, *range(place + 1, count + 1)]))
        if operation == JUMP:
            code.append((JUMP, 0, to, 0, 0))
        elif operation in {JUMP_IF, JUMP_UNLESS}:
            code.append((operation, 0, draw(slot), to, 0))
        else:
            code.append((operation, draw(slot), draw(slot), draw(slot), 0))
    return code


@given(
    codes(), st.lists(st.integers(0, 2), min_size=SLOTS, max_size=SLOTS), st.sets(st.integers(0, 5))
)
def test_instructions_with_fewer_jumps_do_the_same(
    code: list[Numbered], slots: list[int], read: set[int]
) -> None:
    names = list(range(len(code)))
    after, functions, sources = Jumps(code, (), names, names, read).result()
    assert functions == sources
    assert [code[name][0] for name in functions] == [line[0] for line in after]
    expected, values = carried_out(code, slots)
    sums, values_after = carried_out(after, slots)
    assert sums == expected
    if len(sums) < STEPS:
        assert [values_after[slot] for slot in read] == [values[slot] for slot in read]


def test_a_condition_in_two_parts_is_tested_once() -> None:
    """As of `1 if not x and x < y else 0`."""
    code = [
        (NOT, 2, 0, 0, 0),
        (JUMP_UNLESS, 0, 2, 4, 0),
        (LESS, 3, 0, 1, 0),
        (JUMP, 0, 5, 0, 0),
        (MOVE, 3, 2, 0, 0),
        (JUMP_UNLESS, 0, 3, 8, 0),
        (MOVE, 4, 0, 0, 0),
        (JUMP, 0, 9, 0, 0),
        (MOVE, 4, 1, 0, 0),
    ]
    names = list(range(len(code)))
    after, _, _ = Jumps(code, (), names, names, {4}).result()
    assert after == [
        (NOT, 2, 0, 0, 5),
        (LESS, 3, 0, 1, 5),
        (MOVE, 4, 0, 0, 0),
        (JUMP, 0, 5, 0, 0),
        (MOVE, 4, 1, 0, 0),
    ]
