"""What is run to compile the kernels of match queries does reach them: it finds matches."""

import pytest

from elsinore.matches.rehearsals import REHEARSALS
from elsinore.operators import Rehearsal
from elsinore.workload import Workload


@pytest.mark.parametrize("rehearsal", REHEARSALS)
def test_every_rehearsed_query_finds_matches(rehearsal: Rehearsal) -> None:
    results = Workload.parse(rehearsal.queries).run(list(rehearsal.events), **rehearsal.options)
    assert all(result.num_rows > 0 for result in results.values())
