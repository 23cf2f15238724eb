"""The strategies draw useful cases: with trends, and with all features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from elsinore.model import Conjunction, Negation, Query, Strategy, Workload
from elsinore.model import expression as ex
from elsinore.model import pattern as pt
from elsinore.operators import plan
from oracles.reference import ReferenceEvent, reference
from support.trends import NO_FEATURES, Feature, table_of, trend_cases

measured = settings(
    max_examples=40,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def features_of(query: Query) -> set[Feature]:
    """Return the features that a query has."""
    found = set()
    if isinstance(query.pattern, Conjunction):
        found.add(Feature.CONJUNCTION)
    if any(isinstance(node, Negation) for node in pt.walk(query.pattern)):
        found.add(Feature.NEGATION)
    if query.strategy is not Strategy.ANY:
        found.add(Feature.STRATEGIES)
    kleene = pt.kleene_variables(query.pattern)
    for predicate in query.where:
        read = {attribute.variable: attribute.reference for attribute in ex.attributes(predicate)}
        references = {attribute.reference for attribute in ex.attributes(predicate)}
        later = [name for name in read if name in kleene]
        anchored = len(read) == 2 and len(later) == 1 and ex.Reference.FIRST not in references
        if len(read) == 2 or ex.Reference.PREVIOUS in references:
            found.add(Feature.ANCHORED if anchored else Feature.ADJACENT)
    return found


@pytest.mark.parametrize(
    "features", [NO_FEATURES, *([one] for one in Feature), list(Feature)], ids=str
)
def test_most_cases_have_trends_and_only_the_features_asked_for(
    features: Collection[Feature],
) -> None:
    seen: Counter[str] = Counter()
    drawn: Counter[Feature] = Counter()

    @measured
    @given(trend_cases(features=features))
    def measure(case: tuple[Workload, list[ReferenceEvent]]) -> None:
        workload, events = case
        assert events == sorted(events, key=lambda event: event.time)
        assert table_of(events).num_rows == len(events) <= 9
        if not features:
            plan(workload)
        found = [bool(reference(query, events)) for query in workload]
        seen.update(cases=1, queries=len(found), any=any(found), answers=sum(found))
        for query in workload:
            drawn.update(features_of(query))

    measure()
    assert seen["any"] > 0.5 * seen["cases"], seen
    assert seen["answers"] > 0.35 * seen["queries"], seen
    anchors = {Feature.ADJACENT, Feature.ANCHORED}  # T against a later R is either, by its events
    allowed = set(features) | (anchors if anchors & set(features) else set())
    assert set(features) <= set(drawn) <= allowed
