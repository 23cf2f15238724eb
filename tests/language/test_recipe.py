"""Clauses of one form are read by one recipe, each with its own names and places."""

from elsinore.language import parse_workload
from elsinore.language.clauses import parse_tokens
from elsinore.language.tokens import tokenize
from elsinore.model import Event, Kleene, Sequence


def pattern(text):
    return parse_tokens("alternation", tokenize(text))


def test_texts_of_one_form_become_their_own_nodes():
    assert pattern("SEQ(A a, B b+)") == Sequence(
        (Event("A", "a"), Kleene(Event("B", "b"), 1, None))
    )
    assert pattern("SEQ(C c, D d+)") == Sequence(
        (Event("C", "c"), Kleene(Event("D", "d"), 1, None))
    )


def test_texts_of_one_form_keep_their_own_places():
    short, long = pattern("SEQ(A a, B b)"), pattern("SEQ( Request   rider, Travel way )")
    assert [(part.span.start, part.span.stop) for part in short.parts] == [(4, 7), (9, 12)]
    assert [(part.span.start, part.span.stop) for part in long.parts] == [(5, 20), (22, 32)]


def test_brackets_belong_to_the_place_of_what_they_enclose():
    [conjunct] = parse_workload("RETURN COUNT(*) PATTERN A a WHERE (a.x > 1)", "<query>")[
        "query"
    ].where
    assert conjunct.span.stop - conjunct.span.start == len("(a.x > 1)")
