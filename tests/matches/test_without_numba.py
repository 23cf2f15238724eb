"""Match queries need no compiler when they run: neither Numba nor llvmlite is imported."""

import subprocess
import sys

import pytest

# importing a module that is None in `sys.modules` fails
SCRIPT = """
import sys
sys.modules["numba"] = sys.modules["llvmlite"] = None
import elsinore as el
text, times = sys.argv[1], sys.argv[2] or None
kinds, count = "ABBDCABCEB", 4_000
events = [
    {"time": n, "latest": n + n % 3, "type": kinds[n % 10], "k": n % 4, "v": float(n * 7 % 5)}
    for n in range(count)
]
options = {"time_interval": ("time", "latest")} if times else {}
results = el.Workload.parse(text).run(events, **options)
print(*(table.num_rows for table in results.values()))
"""
EVERY = {
    "any": "QUERY q RETURN a.v, AVG(b[].v), b[].v PATTERN SEQ(A a, B+ b, C c) WHERE [k] "
    "AND b[i].v > MAX(b[1..i-1].v) AND c.v < AVG(b[].v) WITHIN 40;",
    "next": "QUERY q RETURN a.v, COUNT(b[]) AS n PATTERN SEQ(A a, B+ b, C c) "
    "WHERE b[i].v >= b[i-1].v STRATEGY SKIP TILL NEXT MATCH WITHIN 20;",
    "contiguous": "QUERY q RETURN a.v, c.v PATTERN SEQ(A a, B+ b, D d, C c) "
    "STRATEGY CONTIGUOUS WITHIN 20 SLIDE 10;",
    "not": "QUERY q RETURN a.v PATTERN SEQ(A a, NOT SEQ(D d, E e), B b) WHERE [k] WITHIN 20;",
    "related not": "QUERY q RETURN a.v PATTERN SEQ(A a, B b, NOT C c) WHERE c.v = a.v WITHIN 9;",
    "not in not": "QUERY q RETURN a.v PATTERN SEQ(A a, NOT SEQ(D d, NOT E e), C c) WITHIN 9;",
    "positions": "QUERY q RETURN b[2].v, b[b.LEN-1].v PATTERN SEQ(A a, B+ b, C c) WITHIN 9;",
    "or": "QUERY q RETURN a.v PATTERN SEQ(A a, (B b OR C c)+, D? d) WITHIN 6 LIMIT 7;",
    "after match": "QUERY q RETURN a.v, COUNT(b[]) AS n PATTERN SEQ(A a, B+ b) "
    "STRATEGY SKIP TILL NEXT MATCH WITHIN 20 AFTER MATCH SKIP PAST LAST EVENT;",
    "suppress": "QUERY q RETURN a.v PATTERN SEQ(A a, B b) "
    "STRATEGY SKIP TILL NEXT MATCH WITHIN 20 SUPPRESS 30;",
    "collapsed": "QUERY q RETURN a.v, b[].v PATTERN SEQ(A a, B+ b, C c) "
    "WHERE b[i].v > a.v WITHIN 20 COLLAPSED;",
    "collapsed next": "QUERY q RETURN a.v, b[].v PATTERN SEQ(A a, B+ b, C c) "
    "STRATEGY SKIP TILL NEXT MATCH WITHIN 20 COLLAPSED;",
    "together": "".join(
        f"QUERY q{n} RETURN a.v, COUNT(b[]) AS n PATTERN SEQ({kind} a, B+ b, C c) WHERE [k] "
        "STRATEGY SKIP TILL NEXT MATCH WITHIN 40;"
        for n, kind in enumerate("ADE")
    ),
}
UNCERTAIN = {
    "uncertain": "QUERY q RETURN a.v, CONFIDENCE() AS p PATTERN SEQ(A a, B+ b, C c) "
    "WHERE b[i].v >= b[i-1].v WITHIN 9 CONFIDENCE >= 0.2;",
    "uncertain not": "QUERY q RETURN a.v, CONFIDENCE() AS p PATTERN SEQ(A a, NOT D d, B b) "
    "WITHIN 9;",
    "uncertain chains": "QUERY q RETURN a.v, CONFIDENCE() AS p "
    "PATTERN SEQ(A a, NOT SEQ(D d, C c), E e) WITHIN 9;",
    "uncertain collapsed": "QUERY q RETURN a.v, b[].v PATTERN SEQ(A a, B+ b) WITHIN 5 "
    "CONFIDENCE >= 0.5 COLLAPSED;",
}


@pytest.mark.parametrize("kind", [*EVERY, *UNCERTAIN])
def test_no_compiler_is_imported(kind: str) -> None:
    text = EVERY.get(kind) or UNCERTAIN[kind]
    times = "uncertain" if kind in UNCERTAIN else ""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, text, times], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert all(int(count) > 0 for count in done.stdout.split())
