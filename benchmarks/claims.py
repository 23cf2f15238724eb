"""The claims of the papers about their figures, compared with the measured figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Rows = Sequence[Mapping[str, Any]]  # of a file, whose values are texts, or as measured
Measure = Callable[[Rows], list[float]]
TREND_KEYS = ("stream", "axis", "value")
BY_WINDOW = ("panel", "W", "θ")
INFINITE = float("inf")


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a paper about a figure: as text, and as a range of values.

    measure: returns the values found, one for each point; `unit` follows them in the table.
    bounds: the paper's least and greatest value, None if it has none; with `is_cost`, less is
    better.
    """

    about: str
    paper: str
    bounds: tuple[float, float] | None
    measure: Measure
    unit: str = "times"
    is_cost: bool = False

    def line(self, rows: Rows) -> str:
        """Return the claim's line of a table in Markdown."""
        values = self.measure(rows)
        if not values:
            return f"| {self.about} | {self.paper} | no figure | - |"
        low, high = _shown(min(values)), _shown(max(values))
        span = low if low == high else f"{low} to {high}"
        points = f" ({len(values)} points)" if len(values) > 1 else ""
        return (
            f"| {self.about} | {self.paper} | {span} {self.unit}{points} | {self.verdict(values)} |"
        )

    def verdict(self, values: Sequence[float]) -> str:
        """Return how measured values compare with the paper's.

        >>> claim = Claim("speed", "10 to 100 times", (10, 100), lambda rows: [])
        >>> claim.verdict([200, 300]), claim.verdict([20, 300]), claim.verdict([5, 30])
        ('exceeded', 'confirmed', 'at some points')
        >>> claim.verdict([1, 2])
        'not confirmed'
        >>> Claim("latency", "25 ms", (25, 25), lambda rows: [], is_cost=True).verdict([2, 30])
        'at some points'
        """
        if self.bounds is None:
            return "-"
        least, greatest = self.bounds
        if self.is_cost:
            values, least, greatest = [-value for value in values], -greatest, -least
        if min(values) > greatest:
            return "exceeded"
        if min(values) >= least:
            return "confirmed"
        return "at some points" if max(values) >= least else "not confirmed"


def _shown(value: float) -> str:
    """Return a number with three digits.

    >>> _shown(0.01234), _shown(12.34), _shown(123456.0)
    ('0.0123', '12.3', '123,000')
    """
    if value == 0 or abs(value) < 1000:
        return f"{value:.3g}"
    digits = len(str(int(abs(value)))) - 3
    return f"{round(value, -digits):,.0f}"


def beside(
    column: str, system: str, other: str, keys: Sequence[str], *, more: bool, panel: str = ""
) -> Callable[[Rows], list[float]]:
    """Return what measures how many times as good one system is as another, at each point.

    A point has values of `keys`; `more` of the column is better, or less. `panel` selects rows by
    how their column `panel`, `stream` or `query` begins.
    """

    def measure(rows: Rows) -> list[float]:
        chosen = [row for row in rows if _panel(row).startswith(panel)]
        base = {tuple(row[key] for key in keys): row[column]
                for row in chosen if row["system"] == other and row[column]}  # fmt: skip
        ratios = []
        for row in chosen:
            place = tuple(row[key] for key in keys)
            if row["system"] == system and row[column] and place in base:
                ours, theirs = float(row[column]), float(base[place])
                if ours > 0 and theirs > 0:
                    ratios.append(ours / theirs if more else theirs / ours)
        return ratios

    return measure


def values_of(column: str, **fixed: str) -> Callable[[Rows], list[float]]:
    """Return what measures the values of a column in the rows with some values."""

    def measure(rows: Rows) -> list[float]:
        return [
            float(row[column])
            for row in rows
            if row.get(column) and all(row[name].startswith(value) for name, value in fixed.items())
        ]

    return measure


def _panel(row: Mapping[str, Any]) -> str:
    panel: str = row.get("panel") or row.get("stream") or row.get("query") or ""
    return panel


def over_static(rows: Rows) -> list[float]:
    """Return the throughput of dynamic decisions over that of the better static ones."""
    ratios = []
    for row in rows:
        if row["system"] == "Elsinore" and row["events/s"]:
            static = [
                float(other["events/s"])
                for other in rows
                if other["system"] in {"always", "never"}
                and other["events/s"]
                and all(other[key] == row[key] for key in TREND_KEYS)
            ]
            ratios += [float(row["events/s"]) / max(static)] if static else []
    return ratios


def _by_duplicates(rows: Rows) -> list[float]:
    """Return the throughput over equal queries divided by that over as many different ones."""
    speeds = {
        (row["stream"], row["value"]): float(row["events/s"])
        for row in rows
        if row["system"] == "Elsinore" and row["axis"] == "queries" and row["events/s"]
    }
    return [
        speed / speeds["Smart homes", value]
        for (stream, value), speed in speeds.items()
        if stream != "Smart homes" and ("Smart homes", value) in speeds
    ]


def _shared(rows: Rows) -> list[float]:
    """Return the per cent of bursts that were shared of those that could be, in all points."""
    pairs = [row["shared"].split(" of ") for row in rows
             if row["system"] == "Elsinore" and row["shared"]]  # fmt: skip
    bursts = sum(int(of) for _, of in pairs)
    return [100 * sum(int(shared) for shared, _ in pairs) / bursts] if bursts else []


def _widest(system: str) -> Callable[[Rows], list[float]]:
    """Return what measures the widest window that a system did in time, in Figure 6 (a)."""

    def measure(rows: Rows) -> list[float]:
        widths = values_of("W", panel="thresholds", system=system)
        done = widths([row for row in rows if row["events/s"] and row["system"] == system])
        return [max(done)] if done else []

    return measure


def _share(panel: str) -> Callable[[Rows], list[float]]:
    """Return what measures the per cent of the time that confidences take, in Figure 6."""

    def measure(rows: Rows) -> list[float]:
        mine = [row for row in rows if row["panel"] == panel and row["ms"]]
        total = {row["W"]: float(row["ms"]) for row in mine if row["system"] == "total"}
        return [
            100 * float(row["ms"]) / total[row["W"]]
            for row in mine
            if row["system"] == "confidence" and row["W"] in total
        ]

    return measure


def _smaller(rows: Rows) -> list[float]:
    """Return how many times smaller approximate states are than exact ones."""
    return [float(row["exact KB"]) / float(row["approx. KB"]) for row in rows]


def _trend(
    about: str,
    paper: str,
    bounds: tuple[float, float] | None,
    other: str,
    column: str = "events/s",
) -> Claim:
    """Return a claim of how many times as good Elsinore is as another system of HAMLET."""
    more = column == "events/s"
    return Claim(about, paper, bounds, beside(column, "Elsinore", other, TREND_KEYS, more=more))


def _latency(system: str, paper: str, bounds: tuple[float, float] | None) -> Claim:
    measure = values_of("latency, ms", system=system)
    return Claim(f"latency of {system}", paper, bounds, measure, "ms", is_cost=True)


def _query(system: str, paper: str, bounds: tuple[float, float] | None) -> Claim:
    """Return a claim of StreamQRE's Figure 6."""
    measure = beside("M items/s", "Elsinore", system, ("query",), more=True)
    return Claim(f"throughput over {system}", paper, bounds, measure)


def _match(
    about: str,
    paper: str,
    bounds: tuple[float, float] | None,
    systems: tuple[str, str],
    keys: Sequence[str] = BY_WINDOW,
    panel: str = "",
) -> Claim:
    """Return a claim of the throughput of one system over another in SASE++'s figures."""
    measure = beside("events/s", *systems, keys, more=True, panel=panel)
    return Claim(about, paper, bounds, measure)


NOT_THERE = "not measured"
RUNNING_SUMS = _trend("throughput over running sums", NOT_THERE, None, "running sums")
CLAIMS: Mapping[str, Sequence[Claim]] = {
    "hamlet-fig9": (
        _trend("throughput over GRETA", "10 to 100 times", (10, 100), "GRETA"),
        _trend("throughput over SHARON", "1,000 to 100,000 times", (1e3, 1e5), "SHARON"),
        _trend("throughput over MCEP", "7 to 76 times", (7, 76), "MCEP"),
        _latency("Elsinore", "25 ms", (25, 25)),
        _latency("GRETA", "up to 3,000 ms", None),
        RUNNING_SUMS,
        _trend("throughput over HAMLET as written", NOT_THERE, None, "HAMLET as written"),
        _trend("throughput over static sharing", NOT_THERE, None, "decided once"),
    ),
    "hamlet-fig10": (
        _trend("less memory than GRETA", "about the same", (0.5, 2), "GRETA", "memory, MB"),
        _trend("less memory than SHARON", "100 to 1,000 times", (1e2, 1e3), "SHARON", "memory, MB"),
    ),
    "hamlet-fig11": (
        _trend("throughput over GRETA", "1,000 to 100,000 times", (1e3, 1e5), "GRETA"),
        _trend("latency below GRETA", "1,000 to 100,000 times", (1e3, 1e5), "GRETA", "latency, ms"),
        _latency("Elsinore", "up to 500 ms", (500, 500)),
        Claim("gain by leaving out duplicates", NOT_THERE, None, _by_duplicates),
        RUNNING_SUMS,
    ),
    "hamlet-fig12": (
        Claim(
            "throughput of dynamic decisions over the better static ones",
            "1.27 to 1.52 times",
            (1.27, 1.52),
            over_static,
        ),
        _trend("throughput over sharing always", "1.27 to 1.52 times", (1.27, 1.52), "always"),
        _trend("throughput over sharing never", NOT_THERE, None, "never"),
        Claim("bursts that were shared", "about 90 %", (80, 100), _shared, "%"),
        Claim(
            "decisions, of the processor time",
            "below 0.2 %",
            (0.2, 0.2),
            values_of("deciding, %", system="Elsinore"),
            "%",
            is_cost=True,
        ),
        Claim(
            "analysis of the workload",
            "81 ms",
            (81, 81),
            values_of("analysis, ms", system="Elsinore"),
            "ms",
            is_cost=True,
        ),
        RUNNING_SUMS,
    ),
    "hamlet-fig13": (
        _trend("less memory than sharing always", "1.33 times", (1.33, 2), "always", "memory, MB"),
    ),
    "qre-fig6": (
        _query("RxJava", "2 to 4 times", (2, 4)),
        _query("Esper", "6 to 75 times", (6, 75)),
        _query("Flink", "10 to 140 times", (10, 140)),
        *(_query(name, NOT_THERE, None) for name in ("RxPY", "plain loop", "polars", "Numba")),
    ),
    "qre-table1": (
        Claim("exact states over approximate ones", "15 to 6,170 times", (15, 6170), _smaller),
    ),
    "sase-fig5": (
        _match("postponing over SASE+", "up to 383 times", (1, 383), ("postponing", "SASE+")),
        _match("on-the-fly over SASE+", "up to 383 times", (1, 383), ("on-the-fly", "SASE+")),
        _match("Elsinore over SASE+", NOT_THERE, None, ("Elsinore", "SASE+")),
        _match(
            "on-the-fly over postponing, true-value consistent",
            "about the same",
            (0.7, 1.4),
            ("on-the-fly", "postponing"),
            panel="W, true",
        ),
        _match(
            "on-the-fly over postponing, false-value consistent",
            "better",
            (1, INFINITE),
            ("on-the-fly", "postponing"),
            panel="W, false",
        ),
    ),
    "sase-fig6": (
        Claim("widest window, naive confidences", "3,000", None, _widest("naive"), "events"),
        Claim("widest window, threshold 0.999", "over 30,000", None, _widest("DP 0.999"), "events"),
        Claim("share of confidences, naive", "dominant", (50, 100), _share("naive"), "%"),
        Claim("share of confidences, 0.999", "dominant", (50, 100), _share("DP 0.999"), "%"),
        *(
            _match(
                f"Elsinore over XSeq's kind, {name}",
                "10,000 times and more",
                (1e4, INFINITE),
                ("Elsinore", "XSeq-like"),
                ("input",),
                f"input, {name}",
            )
            for name in ("sequence", "Kleene")
        ),
    ),
    "sase-fig7": (
        Claim(
            "(e) throughput of Q1 to Q6",
            "300,000 to 7,000,000 events/s",
            (3e5, 7e6),
            values_of("events/s", panel="(e)"),
            "events/s",
        ),
        _match(
            "(f) on-the-fly over postponing, exact times",
            "faster",
            (1, INFINITE),
            ("on-the-fly", "postponing"),
            ("query",),
            "(f) exact",
        ),
        _match(
            "(f) a threshold of 0.999 over none, uncertain times",
            "faster",
            (1, INFINITE),
            ("DP 0.999", "DP"),
            ("query",),
            "(f) uncertain",
        ),
    ),
}
