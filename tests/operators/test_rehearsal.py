"""Made-up events reach what only streams that are closed bit by bit do."""

import pytest

from elsinore.operators import OperatorOptions
from elsinore.operators.rehearsal import rehearse_closing
from elsinore.plan import Sharing
from elsinore.workload import Workload

OPTIONS = OperatorOptions(one_slot=False, ordered=True, sharing=Sharing.DYNAMIC, record=False)


@pytest.mark.parametrize("where", ["", "WHERE b[i].v >= b[i-1].v"])
def test_units_are_closed_bit_by_bit(where: str) -> None:
    text = f"QUERY q RETURN A.time, b[].v PATTERN SEQ(A, B+ b[]) {where} WITHIN 9 seconds;"
    (unit,) = Workload.parse(text).plan.units
    rehearse_closing(unit, OPTIONS)
