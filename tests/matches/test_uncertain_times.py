"""Events with uncertain times: matches and confidences are those of all possible worlds."""

import json
import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from typer.testing import CliRunner

import elsinore as el
from elsinore.cli.app import app
from elsinore.errors import ElsinoreError
from elsinore.plan.modes import HIGH, LAW, Uncertainty
from oracles.matches import Happening, TooMany
from oracles.worlds import matches_of_worlds
from support.drawn import CASES, Drawn
from support.matches import KLEENE, LOCAL, PAIRS, USERS, engine_rows, oracle_rows, parsed, units_of
from support.small_arrays import with_small_arrays

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "25"))
SECOND = 1_000_000
MOTIFS = ("ABBC", "ABC", "ACB", "AB", "BCB", "ACBC")  # of types: those that patterns ask for
PATTERNS = (
    "SEQ(A a, B+ b)",
    "SEQ(A a, B+ b, C c)",
    "SEQ(A a, B* b, C c)",
    "B+ b",
    "SEQ(A a, B b, C c)",
    "SEQ(B{2} b, C c)",
    "(SEQ(A a, B b))+",
    "SEQ(A a, (B b OR C c)+)",
    "SEQ(A a, B b) OR SEQ(A a, C c)",
    "(A a OR A a)",
    "SEQ(A a, NOT C x, B+ b)",
    "SEQ(NOT C x, A a, B b)",
    "SEQ(NOT C x, A a, NOT C y, B+ b)",
    "SEQ(A a, B+ b, NOT C x)",
    "(SEQ(A a, NOT C x, B b))+",
    "SEQ(A a, (SEQ(NOT C x, B b))+)",
    "SEQ(A a, NOT C x, B b, NOT B y)",
    "SEQ(NOT A x, B b, NOT (C y OR A z), B d)",
    "SEQ(A a, NOT SEQ(C x, B y), B+ b)",
    "SEQ(NOT SEQ(C x, B y), A a, B b)",
    "SEQ(A a, B b, NOT SEQ(B x, C+ y))",
    "SEQ(A a, NOT (SEQ(B x, C y) OR C z), B b)",
    "SEQ(A a, NOT C+ x, B b)",
    "(SEQ(A a, NOT SEQ(B x, C y), B b))+",
    "SEQ(A a, (SEQ(NOT C x, B b))?, C c)",
    "SEQ(A a, NOT B b, C c) OR SEQ(A a, NOT SEQ(B d, B e), C c)",
    "SEQ(A a, NOT (SEQ(B x, C y))+, B b, NOT A z)",
)
UNDER_NOT = ("y.v > x.v", "x.v + y.v > 2", "x.v > 0", "y[i].v > y[i-1].v")
WEIGHTS = ((), (), (0.5, 0.5), (0.25, 0.5, 0.25), (1.0,), (0.0, 0.7, 0.3))


def queries(drawn: Drawn) -> str:
    """Draw a query of uncertain times."""
    pattern = drawn.one(PATTERNS)
    conditions = []
    if "B+ b" in pattern:
        pool = LOCAL + KLEENE + (PAIRS if "A a" in pattern else ())
        conditions = drawn.some(pool, 2, least=1)
    if "SEQ(C x, B y)" in pattern or "SEQ(B x, C y)" in pattern:
        conditions += drawn.some(UNDER_NOT[:3], 1)
    keys = drawn.one(["", "", "[k]"])
    where = [keys] * bool(keys) + [f"({c})" for c in conditions]
    group = drawn.one(["", "", "GROUP BY g"])
    window = drawn.one(["", "", "WITHIN 4", "WITHIN 3", "WITHIN 4 SLIDE 2", "WITHIN 3 SLIDE 5"])
    confidence = drawn.one(["", "CONFIDENCE >= 0.1", "CONFIDENCE >= 0.3", "CONFIDENCE >= 0.72"])
    return (
        f"QUERY q RETURN EVENT_IDS(n) AS ids, CONFIDENCE() AS p PATTERN {pattern} "
        f"{'WHERE ' + ' AND '.join(where) if where else ''} {group} {window} {confidence};"
    )


def streams(drawn: Drawn) -> list[Happening]:
    """Draw events, their first and last possible times; `n` tells them apart."""
    begins = [drawn.number(0, 5) for _ in range(drawn.number(3, 5))]
    motif, random = drawn.one(MOTIFS), (0, 0, 0, 1)
    return [
        Happening(
            low * SECOND,
            drawn.one("ABBC") if drawn.one(random) else motif[number % len(motif)],
            {
                HIGH: (low + drawn.number(0, 2)) * SECOND,
                LAW: drawn.one([*WEIGHTS[2:], None]),
                "v": drawn.one([0.0, 1.0, 2.0, 3.0, None]),
                "n": number,
                "s": drawn.one(["x", "y"]),
                "g": drawn.one("pppppo"),
                "k": drawn.one([1, 1, 1, 1, 1, 2]),
            },
        )
        for number, low in enumerate(sorted(begins))
    ]


@settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(CASES)
def test_matches_are_as_probable_as_their_worlds(drawn):
    events, text, weights = streams(drawn), queries(drawn), drawn.one(WEIGHTS)
    workload = parsed(text)
    query = workload.queries[0]
    by_type = tuple((kind, drawn.one(WEIGHTS[2:])) for kind in drawn.some("ABC", 2))
    by_event = drawn.whether()
    uncertainty = Uncertainty(step=SECOND, weights=weights, by_type=by_type, by_event=by_event)
    try:
        (unit,) = units_of(workload, uncertainty)
    except ElsinoreError:
        assume(False)
    low, high = (
        np.array([event.time for event in events]),
        np.array([event.attributes[HIGH] for event in events]),
    )
    times = []
    for event, first, last in zip(events, low.tolist(), high.tolist(), strict=True):
        law = event.attributes[LAW] if by_event else dict(by_type).get(event.type, weights)
        count = len(law) if law else (last - first) // SECOND + 1
        count = count if last > first else 1
        apart = (last - first) // max(count - 1, 1)
        odds = law if law and count > 1 else [1 / count] * count
        times.append([(first + n * apart, odds[n]) for n in range(count)])
    plain = parsed(text.replace(", CONFIDENCE() AS p", "").split("CONFIDENCE")[0])
    try:
        found = matches_of_worlds(plain.queries[0], events, times, USERS)
    except TooMany:
        assume(False)
    least = query.confidence or 0.0
    assume(all(abs(match.confidence - least) > 1e-9 for match in found))
    expected = defaultdict(list)
    for match in found:
        if match.confidence >= least:
            (row,) = oracle_rows([match])
            expected[row].append(match.confidence)
    saves, cuts = drawn.whether(), drawn.cuts(len(events), 2)
    with pytest.MonkeyPatch.context() as patch:
        if drawn.whether():
            with_small_arrays(patch, drawn)
        (rows,) = engine_rows(unit, events, cuts=cuts, saves=saves, exact=True)
    given_out = defaultdict(list)
    for (group, window, (ids, confidence)), count in rows.items():
        given_out[group, window, (ids,)] += [confidence] * count
    assert given_out.keys() == expected.keys()
    for row, confidences in expected.items():
        assert sorted(given_out[row]) == pytest.approx(sorted(confidences), rel=1e-12, abs=1e-12)


@settings(max_examples=EXAMPLES // 2, suppress_health_check=list(HealthCheck))
@given(CASES)
def test_collapsed_rows_hold_the_matches_that_are_probable_enough(drawn):
    events, pattern = streams(drawn), drawn.one(PATTERNS[:8])
    for number, event in enumerate(events):
        dict.update(event.attributes, g=str(number))
    window = drawn.one(["", "WITHIN 4", "WITHIN 2", "WITHIN 4 SLIDE 2"])
    least = drawn.one([0.0, 0.31, 0.72])
    names = [name for name in "abc" if f" {name}" in pattern]
    lists = ", ".join(f"{name}[].g AS {name}list" for name in names)
    where = f"WHERE {drawn.one(KLEENE[:2])}" if "B+ b" in pattern else ""
    text = f"RETURN {lists} PATTERN {pattern} {where} {window}"
    uncertainty = Uncertainty(step=SECOND)
    confidence = f"CONFIDENCE >= {least}" if least else ""
    (unit,) = units_of(parsed(f"{text} {confidence} COLLAPSED;"), uncertainty)
    found = matches_of_worlds(parsed(f"{text};").queries[0], events, times_of(events))
    bound = defaultdict(set)
    for match in found:
        if match.confidence >= least:
            bound[match.window, match.steps[0]].update(match.steps)
    saves, cuts = drawn.whether(), drawn.cuts(len(events), 2)
    (rows,) = engine_rows(unit, events, cuts=cuts, saves=saves)
    given_out = [
        (bounds, sorted((int(n), v) for v, s in zip(names, sets, strict=True) for n in s))
        for (_, bounds, sets), count in rows.items()
        for _ in range(count)
    ]
    expected = [(bounds, sorted(steps)) for (bounds, _), steps in bound.items()]
    assert sorted(given_out, key=repr) == sorted(expected, key=repr)


def times_of(events: list[Happening]) -> list[list[tuple[int, float]]]:
    """Return each event's possible times, a second apart and equally probable."""
    counts = [(event.attributes[HIGH] - event.time) // SECOND + 1 for event in events]
    return [
        [(event.time + n * SECOND, 1 / count) for n in range(count)]
        for event, count in zip(events, counts, strict=True)
    ]


EVENTS = [
    {"lo": 0, "hi": 2, "type": "A", "v": 1},
    {"lo": 1, "hi": 3, "type": "B", "v": 2},
    {"lo": 2, "hi": 4, "type": "B", "v": 3},
    {"lo": 3, "hi": 6, "type": "C", "v": 4},
]
PATTERN = "QUERY q RETURN a.v, CONFIDENCE() AS p PATTERN SEQ(A a, B+ b[], C c) {};"


def test_an_interval_without_length_is_an_exact_time() -> None:
    exact = [row | {"hi": row["lo"]} for row in EVENTS]
    uncertain = el.Workload.parse(PATTERN.format("")).run(exact, time_interval=("lo", "hi"))["q"]
    assert uncertain["p"].to_pylist() == [1.0, 1.0, 1.0]
    assert (
        el.Workload.parse(PATTERN.replace(", CONFIDENCE() AS p", "").format(""))
        .run(exact, time="lo")["q"]
        .num_rows
        == 3
    )


def test_a_higher_threshold_keeps_the_same_matches_that_are_as_probable() -> None:
    def kept(threshold: str) -> list[float]:
        workload = el.Workload.parse(PATTERN.format(threshold))
        return sorted(workload.run(EVENTS, time_interval=("lo", "hi"))["q"]["p"].to_pylist())

    everything = kept("")
    for threshold in (0.05, 0.2, 0.5):
        wanted = [p for p in everything if p >= threshold]
        assert kept(f"CONFIDENCE >= {threshold}") == wanted


@pytest.mark.parametrize("pattern", ["SEQ(A a, B+ b)", "SEQ(A a, NOT C x, B+ b)"])
@pytest.mark.parametrize("within", ["", "WITHIN 3", "WITHIN 4 SLIDE 2"])
def test_matches_are_numbered_alike_wherever_batches_are_cut(pattern: str, within: str) -> None:
    text = f"RETURN EVENT_IDS(n) AS ids, MATCH_NUMBER() PATTERN {pattern} {within};"
    (unit,) = units_of(parsed(text), Uncertainty(step=SECOND))
    events = [
        Happening(low * SECOND, kind, {HIGH: (low + 3) * SECOND, "n": n})
        for n, (low, kind) in enumerate(zip([0, 1, 1, 2, 4, 5, 6, 9], "ABABCBBA", strict=True))
    ]
    (whole,) = engine_rows(unit, events)
    assert len(whole) > 10
    assert engine_rows(unit, events, cuts=[2, 4, 6], saves=True) == [whole]


def test_a_distribution_is_given_by_type() -> None:
    events = [
        {"lo": 0, "hi": 2, "type": "A", "v": 1},
        {"lo": 1, "hi": 2, "type": "B", "v": 1},
        {"lo": 2, "hi": 9, "type": "C", "v": 1},
    ]
    text = "RETURN CONFIDENCE() AS p PATTERN SEQ(A a, B b);"
    given = {"A": [0.5, 0.3, 0.2], "C": [1.0]}
    (table,) = (
        el.Workload.parse(text)
        .run(events, time_interval=("lo", "hi"), time_distribution=given)
        .values()
    )
    assert table["p"].to_pylist() == [pytest.approx(0.5 * 1.0 + 0.3 * 0.5)]


def test_a_distribution_is_given_by_event() -> None:
    events = [
        {"lo": 0, "hi": 2, "type": "A", "law": [0.5, 0.3, 0.2]},
        {"lo": 1, "hi": 2, "type": "B", "law": None},  # equally probable
    ]
    workload = el.Workload.parse("RETURN CONFIDENCE() AS p PATTERN SEQ(A a, B b);")
    told = {"time_interval": ("lo", "hi"), "time_distribution": "law"}
    for rows in (events, [row | {"law": str(row["law"] or "")[1:-1] or None} for row in events]):
        (table,) = workload.run(rows, **told).values()
        assert table["p"].to_pylist() == [pytest.approx(0.5 * 1.0 + 0.3 * 0.5)]


@pytest.mark.parametrize("law", [[0.5, 0.3, 0.3], [1.5, -0.5], [], [0.5, None], "0.5", "half"])
def test_an_event_whose_probabilities_do_not_add_up_to_1_is_set_aside(law: object) -> None:
    row = {"lo": 0, "hi": 2, "type": "A", "v": 1}
    usual = "1" if isinstance(law, str) else [1.0]
    rows = [row | {"law": law}, row | {"law": usual}]
    workload = el.Workload.parse("QUERY q RETURN CONFIDENCE() AS p PATTERN A a;")
    told = {"time_interval": ("lo", "hi"), "time_distribution": "law"}
    with pytest.raises(el.InputError, match="probabilities of its time that do not add up to 1"):
        workload.run(rows, **told)
    results = workload.run(rows, rejects=True, **told)
    assert results["q"].num_rows == results.rejected.num_rows == 1


def test_granularity_is_given_by_type() -> None:
    events = [
        {"t": 1, "type": "A", "v": 1},
        {"t": 15, "type": "B", "v": 1},
        {"t": 16, "type": "C", "v": 1},
    ]
    text = "RETURN CONFIDENCE() AS p PATTERN SEQ(A a, B b, C c);"
    (table,) = (
        el.Workload.parse(text).run(events, time="t", time_granularity={"B": "15 seconds"}).values()
    )
    assert table["p"].to_pylist() == [pytest.approx(14 / 15)]  # from 1 to 15, and after 1


def test_no_confidence_is_above_one() -> None:
    events = [
        {"lo": 10 * n - 5, "hi": 10 * n + 5, "type": kind} for n, kind in enumerate("AAXBX")
    ]  # 121 products of 1/11 add up to 1.0000000000000002
    for pattern in ("SEQ(A a, B b)", "SEQ(A a, NOT C c, B b)"):
        workload = el.Workload.parse(f"RETURN CONFIDENCE() AS p PATTERN {pattern} WITHIN 100")
        (table,) = workload.run(events, time_interval=("lo", "hi")).values()
        assert table["p"].to_pylist() == pytest.approx([1.0, 1.0])
        assert max(table["p"].to_pylist()) <= 1.0


@pytest.mark.parametrize(
    "options",
    [
        {"time_granularity": {"Laod": "2 seconds"}},
        {"time_granularity": "1 second", "time_distribution": {"Laod": [0.5, 0.5]}},
    ],
)
def test_a_misspelt_type_of_uncertain_times_is_refused(options: dict[str, object]) -> None:
    events = [{"time": 1, "type": "Start"}, {"time": 2, "type": "Load"}]
    workload = el.Workload.parse("RETURN CONFIDENCE() AS p PATTERN SEQ(Start a, Load b)")
    with pytest.raises(el.InputError, match=r"no query names the type 'Laod'. Did you mean 'Load'"):
        workload.run(events, **options)


def test_uncertain_times_of_a_type_of_other_queries_have_no_effect() -> None:
    events = [{"time": 1, "type": "Start"}, {"time": 2, "type": "Load"}]
    workload = el.Workload.parse("RETURN CONFIDENCE() AS p PATTERN SEQ(Start a, Load b)")
    granularity = {"Temperature": "2 seconds", "Load": "1 second", "Loads": "1 second"}
    (table,) = workload.run(events, time_granularity=granularity).values()
    assert table["p"].to_pylist() == [1.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time_distribution": [0.5, 0.4]}, "add up to 0.9, not to 1"),
        ({"time_distribution": [1.5, -0.5]}, "each from 0 to 1"),
        ({"time_distribution": {"A": [0.5, 0.4]}}, "add up to 0.9, not to 1"),
        ({"time_distribution": "v"}, "names a column of int64: give it lists"),
        ({"time_distribution": "w"}, "no column 'w'"),
        ({"time_step": "often"}, "takes a length of time"),
        ({"time_step": "1 ns"}, "the precision of times is a microsecond"),
        ({"time_step": "1 us", "time_interval": ("lo", "lo + 10")}, "10,000,001 possible times"),
        ({"time_granularity": "15 s"}, "Give one of them"),
        ({"order_by": "v"}, "their times are uncertain"),
        ({"time_interval": ("lo",)}, "the first and the last possible time"),
        ({"time_interval": None, "time_step": "1 s", "time": "lo"}, "about uncertain times"),
    ],
)
def test_what_is_said_of_uncertain_times_must_make_sense(options, message) -> None:
    workload = el.Workload.parse(PATTERN.replace(", CONFIDENCE() AS p", "").format(""))
    with pytest.raises(el.InputError, match=message):
        workload.run(EVENTS, **({"time_interval": ("lo", "hi")} | options))


def test_an_interval_that_ends_before_it_begins_is_set_aside() -> None:
    events = [
        *EVENTS,
        {"lo": 4, "hi": 1, "type": "B", "v": 0},
        {"lo": 4, "hi": None, "type": "B", "v": 0},
    ]
    workload = el.Workload.parse(PATTERN.format(""))
    with pytest.raises(el.InputError, match="2 events of 6 cannot be used"):
        workload.run(events, time_interval=("lo", "hi"))
    results = workload.run(events, time_interval=("lo", "hi"), rejects=True)
    assert results.rejected["reject_reason"].to_pylist() == [
        "time that ends before it begins",
        "unusable end of its time",
    ]
    expected = workload.run(EVENTS, time_interval=("lo", "hi"))["q"].to_pylist()
    assert results["q"].to_pylist() == expected


@pytest.mark.parametrize(
    ("text", "options", "marked", "message"),
    [
        (PATTERN.format(""), {"time": "lo"}, "CONFIDENCE()", "with time_interval="),
        (
            "RETURN a.v PATTERN A a CONFIDENCE >= 0.5;",
            {"time": "lo"},
            "CONFIDENCE >= 0.5",
            "with time_interval=",
        ),
        ("RETURN COUNT(*) PATTERN A+;", {}, "COUNT(*)", "This query needs exact times"),
        (
            "RETURN a.v PATTERN SEQ(A a, NOT SEQ(B b, NOT A x, B d), C c);",
            {},
            "NOT A x",
            "NOT inside of NOT is not supported where times are uncertain",
        ),
        (
            "RETURN a.v PATTERN SEQ(A a, C c) STRATEGY CONTIGUOUS;",
            {},
            "STRATEGY CONTIGUOUS",
            "has no meaning there",
        ),
    ],
)
def test_queries_that_do_not_go_with_their_times_are_refused(text, options, marked, message):
    with pytest.raises(el.ElsinoreError) as caught:
        el.Workload.parse(text).run(EVENTS, **(options or {"time_interval": ("lo", "hi")}))
    shown = str(caught.value).split("\n")
    underline = next(line for line in shown if set(line.strip()) == {"^"})
    line = shown[shown.index(underline) - 1]
    assert line[underline.index("^") : underline.rindex("^") + 1] == marked
    assert message in str(caught.value)


def forbidden(count: int) -> list[dict[str, object]]:
    """Return an A, then C's and D's whose times are quite uncertain, then a B."""
    inner = [{"lo": 1, "hi": 9, "type": kind, "v": n} for n in range(count) for kind in "CD"]
    rows = [{"lo": 0, "hi": 0, "type": "A", "v": 0}, *inner]
    return [*rows, {"lo": 10, "hi": 10, "type": "B", "v": 0}]


def test_many_events_may_be_forbidden_in_a_row() -> None:
    workload = el.Workload.parse(
        "RETURN CONFIDENCE() AS p PATTERN SEQ(A a, NOT SEQ(C c, D d), B b);"
    )
    (table,) = workload.run(forbidden(8), time_interval=("lo", "hi")).values()
    # no D is later than the first C, which is later than `t - 1` and not later than `t`
    first = [((10 - t) / 9) ** 8 - ((9 - t) / 9) ** 8 for t in range(1, 10)]
    expected = sum(odds * (t / 9) ** 8 for t, odds in enumerate(first, start=1))
    assert table["p"].to_pylist() == [pytest.approx(expected, rel=1e-12)]


def test_very_many_events_may_break_a_match_in_several_places() -> None:
    text = "RETURN CONFIDENCE() AS p PATTERN SEQ(NOT C c, A a, NOT C d, B b);"
    events = [{"lo": 0, "hi": 20, "type": "C"}] * 40
    events += [{"lo": 1, "hi": 3, "type": "A"}, {"lo": 6, "hi": 6, "type": "B"}]
    (table,) = el.Workload.parse(text).run(events, time_interval=("lo", "hi")).values()
    # each C is at the time of A, or from that of B on
    assert table["p"].to_pylist() == [pytest.approx((16 / 21) ** 40, rel=1e-12)]


def test_more_cases_than_can_be_looked_at_are_refused() -> None:
    text = "RETURN a.v PATTERN SEQ(A a, NOT SEQ(C c, D d), B b) WHERE (7 * c.v + 5 * d.v) % 12 < 6;"
    with pytest.raises(el.InputError, match=r"(?s)14 events could break .* more than 200,000"):
        el.Workload.parse(text).run(forbidden(7), time_interval=("lo", "hi"))


def test_the_command_line_reads_intervals(tmp_path: Path) -> None:
    events = tmp_path / "events.csv"
    rows = [f"{row['lo']},{row['hi']},{row['type']},{row['v']}" for row in EVENTS]
    events.write_text("\n".join(["lo,hi,type,v", *rows, "9,1,B,0", ""]))
    query = "RETURN b[].v AS b, CONFIDENCE() AS p PATTERN SEQ(A a, B+ b, C c) CONFIDENCE >= 0.5"
    given = ["run", "-q", query, "--events", str(events), "--engine", "local", "--format", "json"]
    given += ["--rejects", str(tmp_path / "bad.csv"), "--time-interval", "lo,hi"]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["b"] for row in found] == [[2], [3]]
    assert [row["p"] for row in found] == pytest.approx([21 / 36, 23 / 36])
    assert "time that ends before it begins" in (tmp_path / "bad.csv").read_text()
    wrong = CliRunner().invoke(app, [*given[:-1], "lo"])
    assert wrong.exit_code == 2
    assert "takes two columns" in wrong.stderr


def test_a_match_that_waits_keeps_events_that_may_begin_before_its_first() -> None:
    events = [
        {"lo": 0, "hi": 3, "type": "B", "v": 1},
        {"lo": 2, "hi": 5, "type": "A", "v": 2},  # a match may begin at 5: it waits until 9
        {"lo": 9, "hi": 9, "type": "Z", "v": 3},
        {"lo": 10, "hi": 10, "type": "Z", "v": 4},
    ]
    workload = el.Workload.parse(
        "QUERY q RETURN CONFIDENCE() AS p PATTERN SEQ(A a, B b, NOT C c) WITHIN 4;"
    )
    live = workload.live(events, time_interval=("lo", "hi"))
    rows = [row for event in events for row in live.push([event])] + live.end()
    assert [table["p"].to_pylist() for _, table in rows] == [[1 / 16]]
