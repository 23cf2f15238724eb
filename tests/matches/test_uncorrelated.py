"""Uncorrelated Kleene where times are uncertain: sets are as probable as their worlds."""

import itertools
import math
import os

import pytest
from hypothesis import HealthCheck, given, settings

import elsinore as el
from elsinore.matches.spec import spec_of
from elsinore.plan.modes import HIGH, LAW, Uncertainty
from oracles.matches import Happening, brute_force
from oracles.worlds import worlds
from support.drawn import CASES, Drawn
from support.matches import engine_rows, parsed, units_of

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "25"))
SECOND = 1_000_000
FAR = 10**9
# pattern -> its parts: variable, type, fewest and most events
PATTERNS = {
    "SEQ(A a, B+ b, C c)": (("a", "A", 1, 1), ("b", "B", 1, 9), ("c", "C", 1, 1)),
    "SEQ(A a, B* b, C c)": (("a", "A", 1, 1), ("b", "B", 0, 9), ("c", "C", 1, 1)),
    "SEQ(A a, B{2} b)": (("a", "A", 1, 1), ("b", "B", 2, 2)),
    "SEQ(B+ b, C+ c)": (("b", "B", 1, 9), ("c", "C", 1, 9)),
    "SEQ(B{1,2} b, A? a, B+ d)": (("b", "B", 1, 2), ("a", "A", 0, 1), ("d", "B", 1, 9)),
    "B+ b": (("b", "B", 1, 9),),
}
# with NOT -> without it, and types in a row that are forbidden before a part, or after the last
FORBIDDING = {
    "SEQ(A a, NOT C x, B+ b)": ("SEQ(A a, B+ b)", {1: ("C",)}),
    "SEQ(A a, B+ b, NOT SEQ(C x, A y), C c)": ("SEQ(A a, B+ b, C c)", {2: ("C", "A")}),
    "SEQ(NOT A x, B+ b, NOT C y)": ("B+ b", {0: ("A",), 1: ("C",)}),
    "SEQ(B+ b, NOT A x, C+ c, NOT SEQ(B y, B z))": (
        "SEQ(B+ b, C+ c)",
        {1: ("A",), 2: ("B", "B")},
    ),
}
PATTERNS["SEQ(A a, B+ b)"] = (("a", "A", 1, 1), ("b", "B", 1, 9))
CONDITIONS = ("", "", "b.v < 3", "AVG(b[].v) >= 1", "COUNT(b[]) < 3", "b[i].v <= AVG(b[].v)")


def times_of(event: Happening) -> list[tuple[int, float]]:
    first, last, law = event.time, event.attributes[HIGH], event.attributes[LAW]
    count = (last - first) // SECOND + 1
    if law is None or count == 1:
        return [(first + n * SECOND, 1 / count) for n in range(count)]
    apart = (last - first) // max(len(law) - 1, 1)
    return [(first + n * apart, odds) for n, odds in enumerate(law)]


def sets_of(parts, events):
    """Yield every way to take sets of different events, in the order of the parts."""
    if not parts:
        yield ()
        return
    (name, kind, least, most), *rest = parts
    mine = [number for number, event in enumerate(events) if event.type == kind]
    for count in range(least, min(most, len(mine)) + 1):
        for chosen in itertools.combinations(mine, count):
            for others in sets_of(rest, events):
                taken = {number for _, numbers in others for number in numbers}
                if not taken.intersection(chosen):
                    yield ((name, chosen), *others)


def confidence(sets, events, within, window, forbidden) -> float:
    """Return how probable it is that each set is later than the one before, in the window.

    `forbidden` are types of events that must not lie in a row before a set, or after the last one.
    """
    stages = [chosen for _, chosen in sets if chosen]
    total = []
    for world, odds in worlds([times_of(event) for event in events]):
        spans = [(min(world[n] for n in s), max(world[n] for n in s)) for s in stages]
        first, last = spans[0][0], spans[-1][1]
        low, high = window or (0, FAR)
        if within is not None:
            low, high = last - within, first + within + 1
        edges = [low - 1, *(last for _, last in spans)], [*(first for first, _ in spans), high]
        gaps = list(zip(*edges, strict=True))
        if (
            all(after < before for after, before in gaps[1:-1])
            and low <= first
            and last < high
            and not any(
                has_row(types, gaps[gap], world, events) for gap, types in forbidden.items()
            )
        ):
            total.append(odds)
    return math.fsum(total)


def has_row(types, gap, world, events) -> bool:
    """Return whether events of some types lie in a row between two times."""
    after, before = gap
    for kind in types:
        later = [t for t, e in zip(world, events, strict=True) if e.type == kind and t > after]
        after = min(later, default=before)
    return after < before


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(CASES)
def test_sets_are_as_probable_as_their_worlds(drawn: Drawn) -> None:
    pattern = drawn.one(sorted(PATTERNS) + sorted(FORBIDDING))
    simple, forbidden = FORBIDDING.get(pattern, (pattern, {}))
    condition = drawn.one(CONDITIONS)
    window = drawn.one(["", "WITHIN 4", "WITHIN 2", "WITHIN 4 SLIDE 2"])
    least = drawn.one([0.0, 0.31, 0.72])
    events = [
        Happening(
            low * SECOND,
            drawn.one("ABBBC"),
            {
                HIGH: (low + drawn.number(0, 2)) * SECOND,
                LAW: drawn.one([None, (0.5, 0.5), (0.0, 0.7, 0.3)]),
                "v": float(drawn.number(0, 3)),
                "n": number,
            },
        )
        for number, low in enumerate(sorted(drawn.number(0, 5) for _ in range(drawn.number(3, 5))))
    ]
    where = f"WHERE {condition}" if condition else ""
    body = f"PATTERN {{}} {where}"
    threshold = f"CONFIDENCE >= {least}" if least else ""
    text = f"RETURN EVENT_IDS(n) AS ids, CONFIDENCE() AS p {body} {window} {threshold};"
    uncertainty = Uncertainty(step=SECOND, by_event=True, sets=True)
    (unit,) = units_of(parsed(text.format(pattern)), uncertainty)
    (template,) = spec_of(unit).templates
    assert set(template.sets) >= {"b"}
    plain = parsed(f"RETURN EVENT_IDS(n) AS ids {body.format(simple)};").queries[0]
    bounds = [None]
    if "SLIDE" in window:
        bounds = [(n * SECOND, (n + 4) * SECOND) for n in range(-4, 10, 2)]
    within = int(window.split()[1]) * SECOND if window and "SLIDE" not in window else None
    expected = {}
    for sets in sets_of(PATTERNS[simple], events):
        order = [number for _, chosen in sets for number in chosen]
        steps = tuple((place, name) for place, name in enumerate(n for n, c in sets for _ in c))
        moved = [Happening(at, events[n].type, events[n].attributes) for at, n in enumerate(order)]
        if steps not in {match.steps for match in brute_force(plain, moved)}:
            continue
        for bound in bounds:
            found = confidence(sets, events, within, bound, forbidden)
            if found > 0.0 and found >= least:
                names = [name for name, chosen in sets for _ in chosen]
                expected.setdefault((bound, tuple(order)), {})[tuple(names)] = found
    saves, cuts = drawn.whether(), drawn.cuts(len(events), 2)
    (rows,) = engine_rows(unit, events, cuts=cuts, saves=saves, exact=True)
    given_out = {}
    for (_, bound, (ids, odds)), count in rows.items():
        given_out.setdefault((bound, ids), []).extend([odds] * count)
    assert given_out.keys() == expected.keys()
    for key, found in expected.items():
        assert sorted(given_out[key]) == pytest.approx(sorted(found.values()), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    "condition", ["b[i].v > b[i-1].v", "b[1].v > 0", "b.v < c.v", "b[b.LEN].v > 0"]
)
def test_where_order_is_asked_for_there_is_no_set(condition: str) -> None:
    text = f"RETURN b[].v PATTERN SEQ(A a, B+ b, C c) WHERE {condition};"
    (unit,) = units_of(parsed(text), Uncertainty(step=SECOND, sets=True))
    assert spec_of(unit).templates[0].sets == ()


EVENTS = [
    {"lo": 0, "hi": 2, "type": "A", "v": 1},
    {"lo": 1, "hi": 3, "type": "B", "v": 9},
    {"lo": 2, "hi": 4, "type": "B", "v": 2},
    {"lo": 4, "hi": 5, "type": "C", "v": 2},
]


def test_two_orders_of_a_set_are_one_match() -> None:
    workload = el.Workload.parse("RETURN b[].v AS b PATTERN SEQ(A a, B+ b, C c);")
    told = {"time_interval": ("lo", "hi")}
    (table,) = workload.run(EVENTS, **told).values()
    assert sorted(table["b"].to_pylist()) == [[2], [2, 9], [9], [9, 2]]
    (table,) = workload.run(EVENTS, time_sets=True, **told).values()
    assert sorted(table["b"].to_pylist()) == [[2], [9], [9, 2]]
