"""Classes of events: what a code says is what the predicates say of an event that has it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.errors import UnsupportedError
from elsinore.language import parse_expression
from elsinore.model import Attribute, Binary, Expression, InList, IsNull, Literal, Not, Operator
from elsinore.model.evaluate import is_true
from elsinore.plan.classes import Bit, Choices, Classes, Cuts, Digit, classes_of, digits_of

often = settings(max_examples=80)
COMPARISONS = (Operator.LT, Operator.LE, Operator.GT, Operator.GE, Operator.EQ, Operator.NE)
NUMBERS = (-3, -1.5, -1, 0, 0.5, 1, 2)


def _comparison(operator: Operator, attribute: str, constant: Any, turned: bool) -> Expression:
    sides: tuple[Any, Any] = (Attribute("A", attribute), Literal(constant))
    return Binary(operator, *(reversed(sides) if turned else sides))


numeric = st.builds(
    _comparison,
    st.sampled_from(COMPARISONS),
    st.sampled_from(["v", "w"]),
    st.sampled_from(NUMBERS),
    st.booleans(),
)
textual = st.one_of(
    st.builds(
        _comparison,
        st.sampled_from([Operator.EQ, Operator.NE]),
        st.just("s"),
        st.sampled_from("abc"),
        st.booleans(),
    ),
    st.builds(
        lambda values: InList(Attribute("A", "s"), tuple(map(Literal, values))),
        st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True),
    ),
    st.builds(
        _comparison,
        st.sampled_from([Operator.EQ, Operator.NE]),
        st.just("b"),
        st.booleans(),
        st.booleans(),
    ),
)
others = st.sampled_from(
    [
        parse_expression("A.v IS NULL"),
        parse_expression("A.v + A.w > 1"),
        parse_expression("A.s < 'b'"),
        parse_expression("A.v IN (1, 2)"),
        parse_expression("A.s IN ('a', NULL)"),
        Not(IsNull(Attribute("A", "s"))),
    ]
)
several = st.lists(st.one_of(numeric, numeric, textual, textual, others), max_size=9, unique=True)
events = st.fixed_dictionaries(
    {
        "v": st.sampled_from([None, *NUMBERS, -2, 0.25, 7]),
        "w": st.sampled_from([None, *NUMBERS, 7]),
        "s": st.sampled_from([None, "", "a", "b", "c", "d", "e"]),
        "b": st.sampled_from([None, True, False]),
    }
)


def digit_value(digit: Digit, event: dict[str, Any]) -> int:
    """Return an event's digit, by the plain reading of what the digit says it is."""
    match digit:
        case Cuts(attribute, points, _):
            number = event[attribute]
            if number is None:
                return 0
            below = sum(point < number for point in points)
            return 1 + 2 * below + (number in points)
        case Choices(attribute, values, _):
            if event[attribute] is None:
                return 0
            return values.index(event[attribute]) + 2 if event[attribute] in values else 1
        case Bit(predicate):
            return int(is_true(predicate, lambda read: event[read.name]))


def code_of(classes: Classes, type_name: str, event: dict[str, Any]) -> int:
    """Return an event's class."""
    (one,) = (one for one in classes.types if one.type == type_name)
    code = 0
    for digit in one.digits:
        value = digit_value(digit, event)
        assert 0 <= value < digit.radix
        code = code * digit.radix + value
    return one.offset + code


def true_of(predicates: list[Expression], event: dict[str, Any]) -> set[Expression]:
    """Return the predicates that hold for an event."""
    return {one for one in predicates if is_true(one, lambda read: event[read.name])}


@often
@given(several, several, st.lists(events, min_size=1, max_size=20))
def test_a_class_decodes_to_what_is_true_of_its_events(
    one: list[Expression], other: list[Expression], stream: list[dict[str, Any]]
) -> None:
    classes = classes_of([("A", one), ("B", other)])
    for event in stream:
        for name, predicates in (("A", one), ("B", other)):
            code = code_of(classes, name, event)
            assert 0 <= code < classes.size
            assert classes.decode(code) == (name, true_of(predicates, event))


@often
@given(several)
def test_every_predicate_is_in_one_digit_and_every_code_has_its_type(
    predicates: list[Expression],
) -> None:
    digits = digits_of(predicates)
    held = [
        predicate
        for digit in digits
        for predicate in ([digit.predicate] if isinstance(digit, Bit) else digit.predicates)
    ]
    assert sorted(map(repr, held)) == sorted(map(repr, predicates))
    classes = classes_of([("A", predicates), ("B", predicates[:1]), ("C", [])])
    assert classes.decode(0)[0] == "A"
    assert classes.decode(classes.types[1].offset - 1)[0] == "A"
    assert classes.decode(classes.types[1].offset)[0] == "B"
    assert classes.decode(classes.size - 1) == ("C", frozenset())


def test_a_thousand_thresholds_on_an_attribute_are_one_digit() -> None:
    predicates = [parse_expression(f"A.v < {number}") for number in range(1000)]
    (digit,) = digits_of(predicates)
    assert isinstance(digit, Cuts)
    assert digit.radix == 2002
    assert digit.points == tuple(range(1000))
    assert digit.true(0) == frozenset()  # null
    assert digit.true(1) == set(predicates)  # below 0
    assert digit.true(2) == set(predicates[1:])  # 0 itself
    assert digit.true(2001) == frozenset()  # above 999


def test_a_thousand_names_of_an_attribute_are_one_digit() -> None:
    predicates = [parse_expression(f"A.s = 'name {number:03}'") for number in range(1000)]
    (digit,) = digits_of(predicates)
    assert isinstance(digit, Choices)
    assert digit.radix == 1002
    assert [digit.true(value) for value in (0, 1, 2)] == [set(), set(), {predicates[0]}]


def test_few_predicates_on_an_attribute_are_bits() -> None:
    predicates = [parse_expression(text) for text in ("A.v < 3", "A.v > 5", "A.s = 'x'")]
    assert digits_of(predicates) == tuple(map(Bit, predicates))


@pytest.mark.parametrize("great", [2**53, -(2**53), 2**60 + 1])
def test_constants_that_no_double_holds_are_compared_one_by_one(great: int) -> None:
    small = [parse_expression(f"A.v < {number}") for number in range(4)]
    compared = [parse_expression(f"A.v {test} {great}") for test in ("<", ">", "=")]
    assert digits_of(compared + small) == (
        Cuts("v", (0, 1, 2, 3), tuple(small)),
        *map(Bit, compared),
    )


@pytest.mark.parametrize(
    "texts",
    [
        ("2024-01-01", "2024-01-01 00:00", "2024-01-01T01:00:00+01:00"),
        ("10:00", "10:00:00", "11:30:00.25"),
    ],
)
def test_texts_that_may_be_one_time_are_compared_one_by_one(texts: tuple[str, ...]) -> None:
    compared = [parse_expression(f"A.t {test} '{text}'") for text in texts for test in ("=", "!=")]
    compared.append(parse_expression(f"A.t IN ('x', '{texts[0]}')"))
    names = [parse_expression(f"A.t = '{text}'") for text in ("10:00:5e", "24-01-01", "c")]
    assert digits_of(compared + names) == (
        Choices("t", ("10:00:5e", "24-01-01", "c"), tuple(names)),
        *map(Bit, compared),
    )


def test_any_number_of_times_written_in_one_way_are_told_apart() -> None:
    days = [f"{2000 + day // 28}-01-{day % 28 + 1:02}" for day in range(200)]
    tests = [parse_expression(f"A.t = '{day}'") for day in days]
    assert digits_of(tests) == (Choices("t", tuple(days), tuple(tests)),)


def test_texts_and_truth_values_of_one_attribute_are_told_apart_separately() -> None:
    texts = [parse_expression(f"A.s = '{text}'") for text in "abc"]
    truths = [parse_expression(f"A.s {test}") for test in ("= TRUE", "= FALSE", "!= TRUE")]
    assert [type(digit) for digit in digits_of(texts + truths)] == [Choices, Choices]


def test_the_attributes_read_are_those_of_all_predicates() -> None:
    texts = ("A.v < 1", "A.v < 2", "A.v < 3", "A.w + A.x > 1", "A.s = 'a'")
    classes = classes_of([("A", [parse_expression(text) for text in texts]), ("B", [])])
    assert classes.attributes == {"v", "w", "x", "s"}


def test_types_without_predicates_have_one_class_each() -> None:
    classes = classes_of((name, []) for name in "ABC")
    assert classes.size == 3
    assert [classes.decode(code) for code in range(3)] == [(name, frozenset()) for name in "ABC"]


def test_more_combinations_than_a_number_holds_are_refused() -> None:
    predicates = [parse_expression(f"A.v + {number} > A.w") for number in range(63)]
    with pytest.raises(UnsupportedError, match=r"^UnsupportedError: WHERE: type A"):
        classes_of([("A", predicates)])
    assert classes_of([("A", predicates[:62])]).size == 2**62


def test_every_code_of_a_type_says_something_else() -> None:
    texts = ("A.v < 1", "A.v < 2", "A.v < 3", "A.s = 'a'", "A.w > A.v")
    classes = classes_of([("A", [parse_expression(text) for text in texts])])
    assert classes.size == 8 * 2 * 2
    cuts = classes.types[0].digits[0]
    sets = {classes.decode(code)[1] for code in range(classes.size)}
    subsets = {cuts.true(value) for value in range(cuts.radix)}
    bits = [parse_expression("A.s = 'a'"), parse_expression("A.w > A.v")]
    expected = {
        subset | set(more)
        for subset in subsets
        for size in range(3)
        for more in itertools.combinations(bits, size)
    }
    assert sets == expected
