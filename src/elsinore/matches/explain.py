"""What `explain` says about match queries: automaton, conditions and their classes, windows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from elsinore.language import render
from elsinore.matches.consistency import consistency, lookup_of
from elsinore.matches.dependence import postponed
from elsinore.matches.registers import COMPUTED, Register, RegisterKind
from elsinore.matches.returns import is_windowed
from elsinore.matches.template import MatchTemplate
from elsinore.model.kinds import AfterMatch
from elsinore.model.query import Query
from elsinore.model.window import length_in_words
from elsinore.plan.between import is_local
from elsinore.words import listed


def template_facts(template: MatchTemplate) -> dict[str, Any]:
    """Return the facts about a match query, as plain data."""
    query = template.query
    users = {r.aggregate.name: r.aggregate for r in template.registers if r.aggregate is not None}
    begins = {template.states[edge.target].variable for edge in template.edges if edge.source < 0}
    ends = {template.states[end.state].variable for end in template.ends}
    under_not = {number for reads in template.listed.values() for number in reads}
    remembered = [r for n, r in enumerate(template.registers) if n not in under_not]
    return {
        "name": query.name,
        "strategy": query.strategy.value,
        "states": len(template.states),
        "begins_with": sorted(begins),
        "ends_with": sorted(ends),
        "sets": list(template.sets),
        "registers": [_remembered(register) for register in remembered],
        "aggregates": dict(_stepped(r) for r in template.registers if r.aggregate is not None),
        "conditions": [
            {"text": render(p), "class": consistency(p, users).value, "when": _when(template, p)}
            for p in query.where
        ],
        "windows": _windows(query),
        "given_out": _given_out(template),
        "limit": query.limit,
        "warnings": [*window_warnings(query), *template.warnings],
    }


def _remembered(register: Register) -> str:
    """Return the name of a register in a list."""
    called = register.kind.name if register.aggregate is None else register.aggregate.name
    of = ", ".join(register.variables)
    if register.kind is RegisterKind.NTH:
        return f"event {register.position} of {of}"
    if register.kind is RegisterKind.LAG:
        return f"the event {register.position} before the latest {of}"
    until = "" if register.nearest == 1 else f" but the latest {register.nearest - 1}"
    recent = f", of the latest {register.position}{until}" if register.nearest else ""
    read = [name.removeprefix(COMPUTED) for name in register.attributes]
    if any(name.startswith(COMPUTED) for name in register.attributes):
        return f"{called.lower()} of {', '.join(read)}, e any of {of}{recent}"
    return f"{called.lower()} {of}{'.' if read else ''}{', '.join(read)}{recent}"


def _stepped(register: Register) -> tuple[str, str]:
    """Return the name of a user's aggregate, and whether it is compiled or why not."""
    from elsinore.matches.stepping import stepper  # noqa: PLC0415 - the compiler, where needed

    assert register.aggregate is not None
    why_not = stepper(register.aggregate, len(register.arguments)).why_not
    return register.aggregate.name, "compiled" if why_not is None else f"in Python: {why_not}"


def template_lines(facts: dict[str, Any]) -> list[str]:
    """Return the facts as lines of text."""
    lines = [
        "",
        f"  {facts['name']}: matches, {facts['strategy']}; {facts['states']} states",
        f"    begins with {listed(facts['begins_with'])}, ends with {listed(facts['ends_with'])}",
    ]
    lines += [f"    {c['text']}: {c['class']}; {c['when']}" for c in facts["conditions"]]
    if facts["sets"]:
        lines.append(
            f"    sets, whose events nothing relates to one another: {listed(facts['sets'])}"
        )
    if facts["registers"]:
        lines.append(f"    a partial match remembers: {'; '.join(facts['registers'])}")
    lines += [f"    {name} runs {how}" for name, how in facts["aggregates"].items()]
    lines += [f"    {facts['windows']}", f"    {facts['given_out']}"]
    if facts["limit"] is not None:
        lines.append(f"    at most {facts['limit']} matches")
    lines += [f"    warning: {warning}" for warning in facts["warnings"]]
    return lines


def window_warnings(query: Query) -> Iterator[str]:
    """Yield possible mistakes in a query's windows."""
    window = query.window
    if window is not None and window.slide is not None and window.slide > window.within:
        yield "SLIDE is longer than WITHIN: events between two windows are in none of them."


def _when(template: MatchTemplate, predicate: Any) -> str:
    if is_local(predicate):
        return "tested before the search"
    numbers = {n for n, c in enumerate(template.conditions) if c.source == predicate}
    if not numbers:
        return "tested for the pattern under NOT"
    is_collapsed = template.query.collapsed and not template.gathers
    if is_collapsed and numbers & postponed(template):
        return "left to whoever expands a row"
    if numbers & set(template.final) or any(numbers & set(e.late) for e in template.edges):
        return "tested when the match is complete"
    under_not = {number for reads in template.listed.values() for number in reads}
    if any(under_not.intersection(template.conditions[n].bound) for n in numbers):
        return "tested for the matches of the pattern under NOT, which are listed before the search"
    lookups = {lookup_of(template.conditions[n]) for n in numbers}
    if len(lookups) == 1 and (lookup := next(iter(lookups))) is not None:
        return lookup.value
    if all(template.conditions[n].reads_neighbours_only for n in numbers):
        return "before the search, rules out what cannot be completed"
    return (
        "tested for each event of the window that may be selected; an equality of attributes or a "
        "time limit beside it would be looked up"
    )


def _windows(query: Query) -> str:
    window = query.window
    if window is None:
        return "one window: the whole stream"
    window = window.original or window
    within = length_in_words(window, window.within)
    if is_windowed(query):
        return f"windows of {within}, every {length_in_words(window, window.step)}"
    return f"windows of {within} that begin with the match"


def _given_out(template: MatchTemplate) -> str:
    """Return when a match is returned, and which matches are."""
    query, which = template.query, ""
    if query.after_match is not None:
        which = "; of those that begin with one event, the longest"
        if query.after_match is AfterMatch.LAST_EVENT:
            which += ", and no other that begins before its last event has passed"
    if query.suppress is not None:
        length = length_in_words(query.suppress, query.suppress.within)
        which += f"; for {length} after a match, no other of its key"
    return _returned_when(template) + which


def _returned_when(template: MatchTemplate) -> str:
    if template.query.collapsed:
        made = "; the matches are made first" if template.gathers else ""
        return f"one row for all matches that begin with an event, when its window has passed{made}"
    if template.is_unsure:
        return "a match is returned when its window has passed: NOT may make it less probable"
    if template.decides_early:
        return (
            "a match is returned when the limits of time of the NOT at its end, or its window, "
            "have passed"
        )
    if template.ends_with_not:
        return "a match is returned when its window has passed: it ends with NOT"
    if template.query.after_match is not None:
        return "a match is returned when its window has passed: until then it may become longer"
    if template.waits:
        return "a match is returned when its window has passed: NOT inside NOT depends on all of it"
    return "a match is returned with its last event"
