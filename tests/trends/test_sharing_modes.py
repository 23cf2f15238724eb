"""Sharing bursts changes no result: never, always and dynamic, against the reference engine."""

from __future__ import annotations

from collections.abc import Sequence as Several

from hypothesis import given
from hypothesis import strategies as st

from elsinore.model import (
    Attribute,
    Binary,
    Call,
    Disjunction,
    Event,
    Expression,
    Kleene,
    Literal,
    Negation,
    Operator,
    Pattern,
    Query,
    ReturnItem,
    Sequence,
    Window,
    Workload,
)
from elsinore.model.window import SECOND
from elsinore.operators import plan
from elsinore.plan import Sharing
from elsinore.trends.kind import operator_class
from oracles.reference import ReferenceEvent
from support.trends import ATTRIBUTES, table_of, trend_workloads
from support.units import unit_inputs
from trends.test_against_reference import check, often

MODES = list(Sharing)

# Workloads in which queries share B+


SHAPES = ("begun", "ended", "alone", "nested", "either", "both", "optional", "twice", "told")
GUARDED = ("after", "until", "between", "unless", "rounds", "gone", "around", "told until")


def _pattern(shape: str, first: str, end: str, forbidden: str = "C") -> Pattern:
    """Return a pattern in which B loops; those of GUARDED forbid events of a type somewhere."""
    one, many, last = Event(first, "x"), Kleene(Event("B", "b"), 1, None), Event(end, "z")
    never = Negation(Event(forbidden, "n"))
    match shape:
        case "begun":
            return Sequence((one, many))
        case "ended":
            return Sequence((one, many, last))
        case "alone":
            return many
        case "nested":
            return Kleene(Sequence((one, many)), 1, None)
        case "either":
            return Kleene(Disjunction((one, Event("B", "b"))), 1, None)
        case "both":
            return Sequence((Kleene(one, 1, None), many))
        case "optional":
            return Sequence((Kleene(one, 0, 1), many, Kleene(last, 0, None)))
        case "after":
            return Sequence((one, never, many))
        case "until":
            return Sequence((one, many, never))
        case "between":
            return Sequence((one, many, never, last))
        case "unless":
            return Sequence((never, many))
        case "rounds":
            return Kleene(Sequence((one, never, many)), 1, None)
        case "gone":
            return Kleene(Sequence((Event("B", "b"), never)), 1, None)
        case "told":
            return Sequence((one, Kleene(Event("B", "b"), 0, None), Event("B", "y")))
        case "told until":
            return Sequence((one, Kleene(Event("B", "b"), 0, None), Event("B", "y"), never))
        case "around":
            either = Disjunction((Event(forbidden, "n"), Event("D", "m")))
            return Sequence((Negation(Event("A", "l")), one, many, Negation(either)))
        case _:
            return Sequence((one, Kleene(Event("B", "b"), 2, None)))


@st.composite
def sharing_workloads(draw: st.DrawFn) -> Workload:
    """Draw queries that have B+ in common: other starts, ends, windows, predicates, aggregates."""
    shapes = draw(
        st.sampled_from(
            (
                ("begun",),
                ("begun", "ended"),
                SHAPES,
                GUARDED,
                ("begun", "after", "until", "between"),
                SHAPES + GUARDED,
            )
        )
    )
    seconds = st.sampled_from((2, 3, 5, 8, 20)).map(lambda n: n * SECOND)
    windows = draw(
        st.sampled_from(
            (
                (Window(20 * SECOND),),
                (Window(6 * SECOND, 1 * SECOND),),
                (None, Window(5 * SECOND)),
                (draw(st.builds(Window, seconds, st.none() | seconds)), Window(4 * SECOND)),
            )
        )
    )
    predicates = draw(st.sampled_from((0, 0, 1, 2)))
    group_by = draw(st.sampled_from(((), (), ("g",))))
    queries = []
    for number in range(draw(st.integers(1, 5))):
        shape = draw(st.sampled_from(shapes))
        where: tuple[Expression, ...] = ()
        if draw(st.integers(0, 2)) < predicates:
            compare = draw(st.sampled_from((Operator.GE, Operator.LT)))
            where = (Binary(compare, Attribute("b", "v"), Literal(draw(st.integers(0, 1)))),)
        if shape in GUARDED and draw(st.booleans()):
            where += (Binary(Operator.GE, Attribute("n", "v"), Literal(0)),)
        calls: list[Expression] = [
            Call("COUNT", ()),
            Call("COUNT", (Attribute("b", None),)),
            *(
                Call(function, (Attribute(name, attribute),))
                for function in ("SUM", "AVG", "MIN", "MAX")
                for name, attribute in (("b", "v"), ("b", "w"), ("x", "v"))
                if shape not in {"alone", "unless", "gone"} or name == "b"
            ),
        ]
        found = draw(st.lists(st.sampled_from(calls), min_size=1, max_size=3, unique=True))
        queries.append(
            Query(
                name=f"q{number}",
                returns=tuple(ReturnItem(call) for call in found),
                pattern=_pattern(
                    shape,
                    draw(st.sampled_from("ACD")),
                    draw(st.sampled_from("AC")),
                    draw(st.sampled_from("CCDAB")),
                ),
                where=where,
                group_by=group_by,
                window=draw(st.sampled_from(windows)),
            )
        )
    return Workload(tuple(queries))


@st.composite
def bursty_streams(draw: st.DrawFn) -> list[ReferenceEvent]:
    """Draw bursts of B's with an event or two between them."""
    events: list[ReferenceEvent] = []
    second = draw(st.integers(-3, 3))
    while len(events) < 11 and draw(st.integers(0, 5)):
        runs = (
            (draw(st.sampled_from("ACDBZ")), draw(st.integers(1, 2))),
            ("B", draw(st.integers(0, 5))),
        )
        for type_name, count in runs:
            for _ in range(count):
                second += draw(st.sampled_from((1, 1, 0, 0, 2)))
                attributes = draw(ATTRIBUTES)
                attributes["g"] = draw(st.sampled_from(("x", "x", "y")))
                events.append(ReferenceEvent(second * SECOND, type_name, attributes))
    return events[:12]


def check_modes(
    workload: Workload,
    events: Several[ReferenceEvent],
    data: st.DataObject,
) -> None:
    """Run every unit in every mode, in pieces, and compare with the reference."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(events)), max_size=3)))
    stops = data.draw(st.lists(st.booleans(), min_size=4, max_size=4))
    early = data.draw(st.booleans())
    one_slot = data.draw(st.booleans())
    for given_unit in unit_inputs(plan(workload), table_of(events), exact=False):
        batch = given_unit.by_key() if one_slot else given_unit.batch
        edges = [0, *(min(cut, len(batch)) for cut in cuts), len(batch)]
        for mode in MODES:
            operator = operator_class(given_unit.unit)(
                given_unit.unit, one_slot=one_slot, ordered=True, sharing=mode, record=True
            )
            totals = []
            for start, end, stop in zip(edges, edges[1:], stops, strict=False):
                totals.append(operator.process(batch.slice(start, end - start)))
                if stop:
                    operator = operator_class(given_unit.unit).load(
                        given_unit.unit, operator.save()
                    )
                if early and not one_slot and end < len(events):
                    totals.append(operator.close(events[end].time))
            totals.append(operator.close())
            results = given_unit.results(totals)
            for template in given_unit.unit.templates:
                name = template.query.name
                check(template.query, events, results[name], exact=False, unit=1, ordered=True)


@often
@given(sharing_workloads(), bursty_streams(), st.data())
def test_results_are_those_of_every_trend_built_in_every_mode(
    workload: Workload, events: list[ReferenceEvent], data: st.DataObject
) -> None:
    check_modes(workload, events, data)


@often
@given(trend_workloads(), bursty_streams(), st.data())
def test_any_workload_may_be_run_in_every_mode(
    workload: Workload, events: list[ReferenceEvent], data: st.DataObject
) -> None:
    check_modes(workload, events, data)
