"""The type rules: what is refused breaks them, what is accepted does not."""

import itertools
import os
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import elsinore.quantitative as qre
from elsinore.errors import QuerySemanticError
from elsinore.quantitative.nodes import Node, spread
from elsinore.quantitative.rate_automaton import automaton
from elsinore.quantitative.regex import Regex
from elsinore.quantitative.rules import check_contained, check_equivalent
from oracles.streaming import parser
from support.quantitative import EVERY, ITEMS, regexes, words

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "20"))
a, b = qre.event("a"), qre.event("b")
LONGEST, SHORT = 3, 2


def test_the_papers_ambiguous_expression_is_rejected_with_its_witness() -> None:
    either = (a | b).star()
    with pytest.raises(qre.RateError, match=r"'b b' is \[\] · \[b b\] or \[b\] · \[b\]") as caught:
        qre.split(qre.match(either), qre.atom(b), qre.match(either), lambda *_: None)
    assert caught.value.witness == "b b"
    assert caught.value.rule == "split"


def test_the_papers_unambiguous_form_is_accepted() -> None:
    query = qre.split(qre.match(a.star()), qre.atom(b), qre.match((a | b).star()), lambda *_: None)
    assert str(query.rate) == "a* b (a | b)*"


def test_an_iteration_of_the_empty_sequence_is_rejected() -> None:
    with pytest.raises(qre.RateError, match="contains the empty sequence") as caught:
        qre.iterate(qre.match(a.star()), 0, lambda n, _: n)
    assert caught.value.witness == "()"


def test_an_ambiguous_iteration_is_rejected_with_a_shortest_witness() -> None:
    with pytest.raises(qre.RateError) as caught:
        qre.iterate(qre.either(qre.atom(a), qre.match(qre.seq(a, a))), 0, lambda n, _: n)
    assert caught.value.witness == "a a"


def test_the_error_for_parts_of_either_in_common_uses_the_most_specific_predicates() -> None:
    high = qre.predicate(a.v > 5, "high")
    with pytest.raises(qre.RateError, match="both match 'high'"):
        qre.either(qre.atom(a), qre.atom(high))


def test_contradictory_conditions_are_disjoint() -> None:
    query = qre.either(qre.atom(a.v > 5), qre.atom(a.v <= 5), qre.atom(a.v.is_null()))
    assert str(query.rate) == "(a.v > 5) | (a.v <= 5) | (a.v IS NULL)"


def test_parts_of_combine_must_match_the_same_sequences() -> None:
    with pytest.raises(
        qre.RateError, match="part 2 matches '\\(\\)' and part 1 does not"
    ) as caught:
        qre.combine(qre.iterate1(qre.atom(a), 0, max), qre.iterate(qre.atom(a), 0, max), min)
    assert caught.value.rule == "combine"
    same = qre.combine(qre.match(qre.seq(a, a.star())), qre.iterate1(qre.atom(a), 0, max), min)
    assert str(same.rate) == "a+"


def test_keys_must_have_values_at_synchronization_items_only() -> None:
    sync = qre.event("s")
    per_key = qre.iterate(qre.atom(~sync), 0, lambda n, _: n + 1)
    with pytest.raises(qre.RateError, match="at which nothing is collected") as caught:
        qre.map_collect(sync, "k", per_key, sync.plus())
    assert caught.value.witness == "()"


def test_the_rate_of_output_depends_on_synchronization_items_alone() -> None:
    sync = qre.event("s")
    per_key = qre.split(qre.match((~sync).star()), qre.atom(sync), qre.right)
    with pytest.raises(QuerySemanticError, match="written with a"):
        qre.map_collect(sync, "k", per_key, qre.seq(a, sync))
    full = qre.seq((~sync).star(), sync)
    query = qre.map_collect(sync, "k", per_key, full.plus())
    assert str(query.rate) == "(~s* s)+"


def test_an_error_that_depends_on_a_predicate_in_python_says_so() -> None:
    big = qre.predicate(lambda item: item.v > 5, "big")
    assert str(qre.filter(big).rate) == "any* big"
    with pytest.raises(qre.RateError, match="Nothing is known of big, written in plain Python"):
        qre.either(qre.atom(a), qre.atom(big))
    assert str(qre.either(qre.atom(big), qre.atom(~big)).rate) == "big | ~big"


def test_a_warning_for_a_rate_that_never_matches_has_the_reason() -> None:
    impossible = qre.atom(qre.predicate((a.v > 5) & (a.v < 3), "odd"))
    assert impossible.warnings == ("the rate odd never matches: no item satisfies odd",)
    assert qre.atom(a).warnings == ()


def test_declared_types_of_either_must_agree() -> None:
    def number(item: Any) -> int:
        return 1

    def text(item: Any) -> str:
        return ""

    with pytest.raises(QuerySemanticError, match="part 1 returns int and part 2 returns str"):
        qre.either(qre.atom(a, number), qre.atom(b, text))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: qre.split(qre.atom(a), qre.atom(b)), "last, the function of their values"),
        (lambda: qre.iterate(a, 0, max), "write atom\\(a\\)"),
        (lambda: qre.iterate(a.star(), 0, max), "write match\\(a\\*\\)"),
        (lambda: qre.iterate(qre.atom(a), 0), "takes a fold, such as sum"),
        (lambda: qre.iterate(qre.atom(a), qre.sum), r"write sum\(\), with brackets"),
        (lambda: qre.iterate(qre.atom(a), 0, qre.sum()), "the fold sum alone"),
        (lambda: qre.sliding(qre.atom(a), 2, qre.sum(), combine=max), "sum alone, without combine"),
        (lambda: qre.iterate(qre.atom(a), 0, 1), "a function of the values, not 1"),
        (lambda: qre.split(qre.atom(a), qre.atom(b), lambda x: x), r"2 values, and .* takes \(x\)"),
        (lambda: qre.atom(a, lambda: 1), r"1 value, and .* takes \(\)"),
        (lambda: qre.atom("a"), r"Write event\('a'\)"),
        (
            lambda: qre.either(qre.atom(a), qre.atom(b).by("k")),
            "by\\(\\) and pipelines, f >> g, at the top",
        ),
        (lambda: qre.atom(a).by(), "names of attributes"),
        (lambda: qre.atom(a).by(3), "names of attributes"),
        (lambda: qre.atom((a.v > 1) & (b.v > 1)), "a predicate is on one item|is on a and b"),
        (lambda: qre.atom(3), "is not a predicate"),
        (lambda: qre.sliding(qre.atom(a), 0, qre.count()), "at least one value"),
        (lambda: qre.sliding(qre.atom(a), 2.5, qre.count()), "a whole number of them, not 2.5"),
        (lambda: qre.tumbling(qre.atom(a), 0, qre.count()), "tumbling: .*at least one value"),
        (lambda: qre.iterate_n(qre.atom(a), 1000, qre.count()), "0 to 100 times"),
        (
            lambda: qre.apply(qre.filter(a) >> qre.filter(b), len),
            "pipelines, f >> g, at the top level only",
        ),
    ],
)
def test_arguments_other_than_queries_are_refused_with_a_remedy(build: Any, message: str) -> None:
    with pytest.raises(QuerySemanticError, match=message):
        build()


@pytest.mark.parametrize(
    ("rate", "rule", "witness"),
    [
        (lambda s: qre.seq(s.star(), s, s.star()), "split", "s s"),
        (lambda s: qre.union(s, s.plus()), "either", "s"),
        (lambda s: s.star().plus(), "iterate", "()"),
        (lambda s: s.plus().times(2), "split", "s s s"),
        (lambda s: qre.union(s, s.times(2)).star(), "iterate", "s s"),
    ],
)
def test_an_ambiguous_rate_of_map_collect_is_rejected_with_a_witness(
    rate: Callable[[Regex], Regex], rule: str, witness: str
) -> None:
    sync = qre.event("s")
    body = qre.match(qre.seq((~sync).star(), sync))
    with pytest.raises(qre.RateError, match=r"the rate of map_collect\(s, item.k") as caught:
        qre.map_collect(sync, "k", body, rate(sync))
    assert (caught.value.rule, caught.value.witness) == (rule, witness)


@given(regexes(3, st.just(qre.event("s"))))
@settings(max_examples=EXAMPLES)
def test_map_collect_accepts_the_rates_of_match_and_combine_compares_them(
    over: Regex,
) -> None:
    sync = qre.event("s")
    if not is_typed(over):
        with pytest.raises(qre.RateError, match="the rate of map_collect"):
            qre.map_collect(sync, "k", qre.match(qre.seq((~sync).star(), sync)), over)
        return
    collected = qre.map_collect(sync, "k", qre.match(spread(over, sync, "here")), over)
    every = list(words(SHORT, EVERY))
    parse = parser(collected.rate)
    assert max(map(parse, every)) < 2
    usual = qre.match(qre.seq((~sync).star(), sync).star())
    parse_usual = parser(usual.rate)
    try:
        qre.combine(collected, usual, qre.left)
    except qre.RateError as error:
        if written_length(error.witness) <= SHORT:
            assert any((parse(word) > 0) != (parse_usual(word) > 0) for word in every)
    else:
        assert all((parse(word) > 0) == (parse_usual(word) > 0) for word in every)


def test_the_witness_of_either_names_all_satisfied_predicates() -> None:
    even, large = qre.item.v % 2 == 0, qre.item.v > 5
    with pytest.raises(qre.RateError) as caught:
        qre.either(qre.atom(even), qre.atom(large))
    assert caught.value.witness == "((item.v % 2 = 0) & (item.v > 5))"
    assert "parts 1 and 2 may both match" in str(caught.value)
    assert "Of item.v % 2 it is known only that equal items have equal values." in str(caught.value)


def test_an_error_that_depends_on_rounding_says_so() -> None:
    v = qre.item.v
    query = qre.either(qre.atom(v + 1 > 3), qre.atom(v <= 2))  # rounding keeps order
    assert str(query.rate) == "(item.v + 1 > 3) | (item.v <= 2)"
    with pytest.raises(
        qre.RateError, match=r"The values of item.v \* 2.5 are known up to"
    ) as error:
        qre.either(qre.atom(v * 2.5 > 4.1), qre.atom(v <= 1.64))
    assert error.value.witness == "((item.v * 2.5 > 4.1) & (item.v <= 1.64))"
    with pytest.raises(qre.RateError, match=r"parts 1 and 2 both match '\(item.v > 5\)'"):
        qre.either(qre.atom(v > 3), qre.atom(v > 5))


@given(st.lists(regexes(2), min_size=2, max_size=2))
@settings(max_examples=EXAMPLES)
def test_split_is_rejected_exactly_if_a_sequence_can_be_cut_in_two_ways(
    rates: list[Regex],
) -> None:
    try:
        parts = [qre.match(rate) for rate in rates]
    except qre.RateError:
        return
    ways = cutter(rates)
    try:
        qre.split(*parts, lambda *_: None)
    except qre.RateError as error:
        length = 0 if error.witness == "()" else written_length(error.witness)
        assert all(ways(word) < 2 for word in words(min(length - 1, LONGEST)))
        # the witness may be of any items
        every = itertools.product(EVERY, repeat=length)
        assert length > LONGEST or any(ways(word) > 1 for word in every)
    else:
        assert all(ways(word) < 2 for word in words(LONGEST))


@given(regexes(2), regexes(2))
@settings(max_examples=EXAMPLES)
def test_equivalence_and_containment_are_those_of_the_languages(left: Regex, right: Regex) -> None:
    if not (is_typed(left) and is_typed(right)):
        return
    # a witness may contain any item: all of them in short sequences
    every = {*words(LONGEST), *words(SHORT, EVERY)}
    parse, parse_other = parser(left), parser(right)
    members = [(parse(w) > 0, parse_other(w) > 0) for w in every]
    try:
        check_equivalent("here", [left, right])
    except qre.RateError as error:
        if written_length(error.witness) <= SHORT:
            assert any(x != y for x, y in members)
    else:
        assert all(x == y for x, y in members)
    try:
        check_contained("here", left, right)
    except qre.RateError as error:
        if written_length(error.witness) <= SHORT:
            assert any(x and not y for x, y in members)
    else:
        assert all(y or not x for x, y in members)


@given(regexes(3))
@settings(max_examples=EXAMPLES)
def test_the_automaton_of_a_rate_accepts_its_language(regex: Regex) -> None:
    nfa = automaton(regex)
    alphabet = {
        item: letter for letter in nfa.letters() for item in ITEMS if is_of(letter, item, regex)
    }
    parse = parser(regex)
    for word in words(3):
        if all(item in alphabet for item in word):
            assert nfa.accepts([alphabet[item] for item in word]) == (parse(word) > 0)


@given(regexes(3))
@settings(max_examples=EXAMPLES)
def test_match_accepts_exactly_the_unambiguous_expressions(regex: Regex) -> None:
    try:
        qre.match(regex)
    except qre.RateError:
        return  # the witness may be longer than the words tried, or an empty part under a star
    assert max(map(parser(regex), words(LONGEST))) < 2


def test_a_query_of_fifty_combinators_is_built_in_a_second() -> None:
    start = time.process_time()
    query = fifty()
    query.start()
    assert count(query.node) >= 50
    assert time.process_time() - start < 20  # a guard against exponential work, no measurement


def fifty() -> qre.Query:
    names = [qre.event(f"t{n}") for n in range(30)]
    query = qre.atom(names[0], lambda item: 1)
    for n in range(1, 24):
        if n % 4 == 0:
            query = qre.iterate(qre.split(query, qre.atom(names[n]), qre.left), 0, max)
        else:
            query = qre.split(query, qre.atom(names[n]), lambda x, y: x)
    return qre.iter_last(qre.split(query, qre.atom(qre.event("end")), qre.left))


def count(node: Node) -> int:
    return 1 + sum(map(count, node.parts))


def cutter(rates: list[Regex]) -> Callable[[tuple[Any, ...]], int]:
    """Return a function of sequences: in how many ways each is cut into parts of these rates."""
    parsers = list(map(parser, rates))

    def ways(word: tuple[Any, ...]) -> int:
        counts = {0: 1}
        for parse in parsers:
            after: dict[int, int] = {}
            for start, number in counts.items():
                for stop in range(start, len(word) + 1):
                    if parse(word[start:stop]):
                        after[stop] = after.get(stop, 0) + number
            counts = after
        return counts.get(len(word), 0)

    return ways


def written_length(witness: str) -> int:
    return 0 if witness == "()" else len(split_names(witness))


def split_names(witness: str) -> list[str]:
    names, depth, name = [], 0, ""
    for character in witness:
        depth += (character == "(") - (character == ")")
        if character == " " and depth == 0:
            names.append(name)
            name = ""
        else:
            name += character
    return [*names, name]


def is_typed(regex: Regex) -> bool:
    try:
        qre.match(regex)
    except qre.RateError:
        return False
    return True


def is_of(letter: Any, item: Any, regex: Regex) -> bool:
    from elsinore.quantitative.regex import ALWAYS
    from elsinore.quantitative.regex import predicates as leaves
    from oracles.streaming import holds

    return all(
        holds(leaf, item) == (leaf.condition in letter.true)
        for leaf in leaves(regex)
        if leaf.condition != ALWAYS
    )


@pytest.mark.parametrize(
    "join",
    [lambda a, b: a and b, lambda a, b: a or b, lambda a, _: not a, lambda a, b: a.star() or b],
)
def test_and_or_and_not_of_python_are_rejected(join: Callable[[object, object], object]) -> None:
    with pytest.raises(TypeError, match=r"Combine them by &, \| and ~"):
        join(qre.event("A"), qre.event("B"))


@pytest.mark.parametrize("name", [3, None, ["A"]])
def test_an_event_has_the_name_of_a_type(name: Any) -> None:
    with pytest.raises(TypeError, match="event takes the name of a type, not"):
        qre.event(name)


OWN = ("name", "condition", "tests", "symbol", "named", "star", "plus", "optional", "times")


@pytest.mark.parametrize("name", OWN)
def test_a_column_named_like_an_attribute_of_predicates_is_read_in_brackets(name: str) -> None:
    event = qre.event("M")
    assert {*OWN} == {own for own in dir(event) if not own.startswith("_")}
    query = qre.iterate1(qre.atom(event & (event[name] == "x"), lambda _: 1), qre.sum())
    stream = query.start()
    assert [stream.push({"type": "M", name: value}) for value in ("x", "x")] == [1, 2]
    for compared in (getattr(event, name) == "x", getattr(event, name) != "x"):
        with pytest.raises(QuerySemanticError, match=r'M\["name"\]'):
            event & compared
    with pytest.raises(TypeError):
        event & (event.speed == getattr(event, name))
    with pytest.raises(TypeError):
        event & (getattr(event, name) == event.speed)
