"""Explaining a plan as text, JSON, Mermaid or SVG: the parts common to all kinds of query."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from elsinore.errors import escaped
from elsinore.language import render
from elsinore.model.computed import ComputedName
from elsinore.model.window import common_borders
from elsinore.operators.equality_keys import equality_keys
from elsinore.operators.kind import Kind, Sample
from elsinore.operators.panes import KEEPS_ALL, OVERLAP
from elsinore.operators.pictures import mermaid, svg
from elsinore.operators.registry import kind_for
from elsinore.plan import Plan, Sharing, Unit
from elsinore.plan.classes import Bit, Choices, Digit
from elsinore.plan.explain import MOST_NAMES, TemplateGraph
from elsinore.words import count, listed


class RowGroups(NamedTuple):
    """The numbers of row groups that a pass on Spark reads, and skips because of their statistics.

    `not_combined_because`: why events are not combined before the shuffle; None if they are.
    """

    read: int
    skipped: int
    not_combined_because: str | None = None


def explain_json(
    plan: Plan,
    sample: Sample | None = None,
    row_groups: Sequence[RowGroups] = (),
    sharing: Sharing = Sharing.DYNAMIC,
) -> str:
    """Return the plan as a JSON object: units, their queries and classes, and facts of kinds."""
    plan_facts = facts(plan, sample, sharing)
    if row_groups:
        plan_facts["row_groups"] = [
            row_groups_of_pass._asdict() for row_groups_of_pass in row_groups
        ]
    return json.dumps(plan_facts, indent=2) + "\n"


def explain_text(
    plan: Plan,
    sample: Sample | None = None,
    row_groups: Sequence[RowGroups] = (),
    sharing: Sharing = Sharing.DYNAMIC,
) -> str:
    """Return the plan as text, with statistics of a run over a sample of the events.

    `row_groups` are those of each pass, if the events are in files with row groups.
    """
    queries = count(len(plan.workload), "query", "queries")
    operators = count(len(plan.units), "operator", "operators")
    passes = count(len(plan.passes), "pass", "passes")
    exact = ", in exact integers" if plan.workload.exact else ""
    lines = [f"{queries}, run by {operators} in {passes} over the events{exact}."]
    sql_expressions = computed_by_sql(plan)
    if sql_expressions:
        by = "before the operators (Spark, or DuckDB in process)"
        lines.append(f"SQL computes for each event, {by}: {listed(sql_expressions, MOST_NAMES)}.")
    for number, unit in enumerate(plan.units, start=1):
        groups = f"by {listed(unit.group_by)}" if unit.group_by else "for the whole stream"
        lines += ["", f"Operator {number}: {_partitioned(unit)}; results {groups}."]
        if unit.required:
            lines.append(f"  Events with a null in [{', '.join(unit.required)}] match nothing.")
        lines += _equality_lines(plan, unit)
        lines += kind_for(unit).lines(unit, unit_facts(unit))
    for kind, units, kind_sample in _kinds(plan, sample):
        lines += kind.summary_lines(units, kind_sample, sharing)
    lines += _between_kinds(plan)
    lines += _not_live_lines(plan)
    if any(pass_groups.read + pass_groups.skipped > 1 for pass_groups in row_groups):
        lines.append("")
        for number, pass_groups in enumerate(row_groups, start=1):
            pass_text = f" of pass {number}" if len(row_groups) > 1 else ""
            total = count(pass_groups.read + pass_groups.skipped, "row group")
            lines.append(
                f"On Spark, tasks{pass_text} skip {pass_groups.skipped:,} of {total}: those whose "
                "statistics show that no query takes an event."
            )
    reasons: dict[str, list[str]] = {}
    for number, pass_groups in enumerate(row_groups, start=1):
        if pass_groups.not_combined_because is not None:
            reasons.setdefault(pass_groups.not_combined_because, []).append(str(number))
    for reason, numbers in reasons.items():
        where = f" in pass {listed(numbers)}" if len(numbers) < len(row_groups) else ""
        lines += [
            "",
            f"Events of these files are not combined before the shuffle{where}: {reason}.",
        ]
    return escaped("\n".join(lines)) + "\n"


def computed_by_sql(plan: Plan) -> list[str]:
    """Return the SQL expressions over single events in a plan."""
    names = dict.fromkeys(name for unit in plan.units for name in unit.attributes)
    return sorted(str(name) for name in names if isinstance(name, ComputedName))


def facts(
    plan: Plan, sample: Sample | None = None, sharing: Sharing = Sharing.DYNAMIC
) -> dict[str, Any]:
    """Return the facts about a plan, as plain data."""
    plan_facts: dict[str, Any] = {
        "exact": plan.workload.exact,
        "computed_by_sql": computed_by_sql(plan),
        "units": [unit_facts(unit) for unit in plan.units],
    }
    for kind, units, kind_sample in _kinds(plan, sample):
        plan_facts |= kind.summary(units, kind_sample, sharing)
    plan_facts["not_live_because"] = not_live(plan)
    return plan_facts


def unit_facts(unit: Unit) -> dict[str, Any]:
    """Return the facts about a unit of a plan, as plain data."""
    common = {
        "kind": kind_for(unit).name,
        "partitioned_by": list(unit.key),
        "grouped_by": list(unit.group_by),
        "equivalence": list(unit.required),
        "types": list(unit.types),
        "classes": unit.classes.size,
        "digits": {
            type_classes.type: [_digit(digit) for digit in type_classes.digits]
            for type_classes in unit.classes.types
            if type_classes.digits
        },
        "queries": [{"name": name} for name in unit.names],
    }
    all_facts = common | kind_for(unit).facts(unit)
    if "not_combined_because" in all_facts:
        if unit.keeps_all:
            all_facts["not_combined_because"] = all_facts["not_combined_because"] or KEEPS_ALL
        all_facts["not_spread_because"] = _not_spread(unit)
    return all_facts


def _not_spread(unit: Unit) -> str | None:
    """Return why a key's windows are processed in one Spark partition; None if in several."""
    windows = kind_for(unit).windows(unit)
    if isinstance(windows, str):
        return windows
    return OVERLAP if unit.equivalence and common_borders(windows) is None else None


def explain_mermaid(plan: Plan) -> str:
    """Return a Mermaid flowchart with a subgraph for each unit of the plan."""
    return escaped(mermaid(_graphs(plan)))


def explain_svg(plan: Plan) -> str:
    """Return an SVG with a row for each unit of the plan."""
    return escaped(svg(_graphs(plan)))


def _graphs(plan: Plan) -> list[tuple[str, TemplateGraph]]:
    graphs = ((unit, kind_for(unit).graph(unit)) for unit in plan.units)
    return [(_partitioned(unit), graph) for unit, graph in graphs if graph is not None]


def _equality_lines(plan: Plan, unit: Unit) -> list[str]:
    """Return lines about equality conditions that became keys."""
    queries: dict[str, list[str]] = {}
    for number, name in zip(unit.queries, unit.names, strict=True):
        for key, conditions in equality_keys(plan.workload.queries[number]).items():
            if key in unit.required:
                text = f"{' and '.join(map(render, conditions))}: the same as [{key}]"
                queries.setdefault(text, []).append(name)
    return [f"  {text} (in {listed(names, MOST_NAMES)})." for text, names in queries.items()]


def _partitioned(unit: Unit) -> str:
    return f"partitioned by {', '.join(unit.key)}" if unit.key else "not partitioned"


def _between_kinds(plan: Plan) -> list[str]:
    """Return lines about queries of different kinds, which share no computation."""
    names_by_kind: dict[str, list[str]] = {}
    for unit in plan.units:
        names_by_kind.setdefault(kind_for(unit).name, []).extend(unit.names)
    kinds = [f"{listed(names, MOST_NAMES)} ({kind})" for kind, names in names_by_kind.items()]
    lines = [
        f"  No sharing of {first} with {second}: queries of these kinds can share a pass over the "
        "events, but no computation."
        for first, second in itertools.combinations(kinds, 2)
    ]
    return ["", "Sharing between kinds of query", *lines] if lines else []


def not_live(plan: Plan) -> dict[str, str]:
    """Return the queries that cannot run over a live stream, each with the reason and a remedy."""
    reasons: dict[str, list[str]] = {}
    for unit in plan.units:
        for place, why in kind_for(unit).streams(unit):
            reasons.setdefault(unit.names[place], []).append(why)
    names = [query.name for query in plan.workload if query.name in reasons]
    return {name: " ".join(reasons[name]) for name in names}


def _not_live_lines(plan: Plan) -> list[str]:
    """Return lines on queries that cannot run over a live stream, one for each reason."""
    names: dict[str, list[str]] = {}
    for name, why in not_live(plan).items():
        names.setdefault(why, []).append(name)
    lines = [
        f"  {listed(queries, MOST_NAMES)} cannot run live: {why}" for why, queries in names.items()
    ]
    return ["", "Live streams", *lines] if lines else []


def _kinds(plan: Plan, sample: Sample | None) -> list[tuple[Kind, Sequence[Unit], Sample | None]]:
    """Return the kinds of a plan, each with its units and the sample's statistics of these."""
    kinds: list[tuple[Kind, Sequence[Unit], Sample | None]] = []
    for module in dict.fromkeys(unit.kind for unit in plan.units):
        units = [unit for unit in plan.units if unit.kind == module]
        kind_sample = None
        if sample is not None:
            statistics = zip(plan.units, sample.statistics, strict=True)
            kind_sample = Sample(
                sample.events,
                sample.total,
                tuple(counts for unit, counts in statistics if unit.kind == module),
            )
        kinds.append((kind_for(units[0]), units, kind_sample))
    return kinds


def _digit(digit: Digit) -> str:
    if isinstance(digit, Bit):
        return "a predicate"
    if isinstance(digit, Choices):
        return f"{digit.attribute} among {len(digit.values)} values"
    return f"{digit.attribute} between {len(digit.points)} cuts"
