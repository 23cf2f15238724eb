"""Match queries that cannot be run are refused at their place, with what to do instead."""

import pytest

import elsinore as el

PATTERN = "PATTERN SEQ(A a, B+ b[], C c)"

CASES = [
    (f"RETURN a.v {PATTERN} WHERE b[i].v < c.v", "c.v", "'c' is not bound yet when b[i] is taken"),
    (f"RETURN a.v {PATTERN} WHERE b[x].v < 1", "x", "b[ ] holds i for the current event"),
    (
        "RETURN a.v PATTERN SEQ(A a, NOT SEQ(C x, C+ y), B b) WHERE y[i].v > MAX(y[1..i-1].v)",
        "y[1..i-1].v",
        "'y' stands under NOT: conditions there are about one event or neighbours",
    ),
    (
        "RETURN a.v PATTERN SEQ(A a, NOT SEQ(C+ x, D+ y), B b) WHERE x.v + y.v > a.v",
        "x.v + y.v > a.v",
        "'x' and 'y': both may stand for several events under NOT",
    ),
    (f"RETURN b.v {PATTERN}", "b.v", "say which is meant, as b[1].v or b[b.LEN].v"),
    (f"RETURN b[i].v {PATTERN}", "b[i].v", "'b' may be bound to several events"),
    (
        f"RETURN a.v, SUM(b.v) {PATTERN}",
        "a.v",
        "Compute them in two queries, or write SUM(b[].v) for",
    ),
    (
        f"RETURN COUNT(*), SUM(b[].v) {PATTERN}",
        "SUM(b[].v)",
        "one number for each group and window, beside COUNT(*); of each match it is SUM(b[].v), in",
    ),
    (
        "RETURN COUNT(*) PATTERN SEQ(A a, B+ b, C c) WHERE b[i].v > AVG(b[].v)",
        "b[].v",
        "It takes a match query, one that RETURNs values of single matches",
    ),
    (f"RETURN a.v {PATTERN} WHERE b[0].v < 1", "0", "b[ ] holds i for the current event"),
    (f"RETURN a[1].v, b[c.LEN].v {PATTERN}", "c.LEN", "b.LEN for the last"),
    (f"RETURN MATCH_NUMBER() + 1 {PATTERN}", "MATCH_NUMBER()", "nothing is computed with it"),
    (f"RETURN MATCH_NUMBER(b) {PATTERN}", "MATCH_NUMBER(b)", "takes no argument"),
    (f"RETURN EVENT_IDS(b.v) {PATTERN}", "EVENT_IDS(b.v)", "the name of an attribute"),
    (f"RETURN a.v {PATTERN} WHERE MATCH_NUMBER() < 3", "MATCH_NUMBER()", "use it in RETURN"),
    (f"RETURN DISTINCT COUNT(*) {PATTERN}", "RETURN DISTINCT COUNT(*)", "DISTINCT is for match"),
    (f"RETURN MEDIUM(b[].v) {PATTERN}", "MEDIUM(b[].v)", "no function 'MEDIUM'"),
    (f"RETURN a.v {PATTERN} WHERE b[].v > 1", "b[].v", "stands for several events"),
    (
        f"RETURN a.v {PATTERN} WHERE SUM(b[].v * a.v) > 1",
        "SUM(b[].v * a.v)",
        "one variable, not of a and b[]",
    ),
    (f"RETURN SUM(MAX(b[].v)) {PATTERN}", "SUM(MAX(b[].v))", "an aggregate of aggregates"),
    (f"RETURN a.v {PATTERN} WHERE MEDIUM(b[].v) > 1", "MEDIUM(b[].v)", "no function 'MEDIUM'"),
    ("RETURN a.v PATTERN A a AND B b", "A a AND B b", "a match is of one pattern"),
    (
        "RETURN a[].v PATTERN (SEQ(A a, B b))+ WHERE b[i].v > b[i-1].v",
        "b[i].v > b[i-1].v",
        "No event of a match is one that this condition is about",
    ),
    (f"RETURN a.v AS x, c.v AS x {PATTERN}", "c.v", "Two columns of the result are named 'x'"),
]


@pytest.mark.parametrize(("text", "marked", "message"), CASES)
def test_what_cannot_be_run_is_refused_at_its_place(text: str, marked: str, message: str) -> None:
    with pytest.raises(el.ElsinoreError) as caught:
        assert el.Workload.parse(text).plan
    shown = str(caught.value).split("\n")
    underline = next(line for line in shown if set(line.strip()) == {"^"})
    line = shown[shown.index(underline) - 1]
    assert line[underline.index("^") : underline.rindex("^") + 1] == marked
    assert message in str(caught.value)


def test_a_sum_beyond_64_bits_is_refused() -> None:
    events = [{"time": n, "type": "B", "v": 2**62} for n in range(3)]
    with pytest.raises(el.InputError, match="SUM of 'v' over a match goes beyond 64 bits"):
        el.Workload.parse("RETURN SUM(b[].v) PATTERN B{3} b;").run(events)
    with pytest.raises(el.InputError, match="a whole number in a condition goes beyond 64 bits"):
        el.Workload.parse("RETURN COUNT(b[]) PATTERN B{3} b WHERE SUM(b[].v) > 1;").run(events)


def test_computing_with_text_is_refused() -> None:
    events = [{"time": n, "type": "B", "v": "x"} for n in range(3)]
    with pytest.raises(el.ElsinoreError, match="number"):
        el.Workload.parse("RETURN AVG(b[].v) PATTERN B{3} b;").run(events)


def test_a_limit_of_any_size_is_taken() -> None:
    workload = el.Workload.parse(f"QUERY q RETURN A.v PATTERN A LIMIT {10**30}")
    assert workload.run([{"time": 1, "type": "A", "v": 3}])["q"].to_pylist() == [{"A.v": 3}]
