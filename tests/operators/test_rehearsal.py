"""Made-up events reach what only streams that are closed bit by bit do."""

from unittest import mock

from elsinore.kernels import enter
from elsinore.operators import OperatorOptions
from elsinore.operators.rehearsal import rehearse_closing
from elsinore.plan import Sharing
from elsinore.trends.index import closing
from elsinore.trends.index.close_windows import close_windows
from elsinore.trends.rehearsals import REHEARSALS
from elsinore.workload import Workload

OPTIONS = OperatorOptions(one_slot=False, ordered=True, sharing=Sharing.DYNAMIC, record=False)


def test_all_units_are_closed_bit_by_bit_and_one_by_the_index_that_is_there() -> None:
    with mock.patch.object(closing, "enter", side_effect=enter) as entered:
        for rehearsal in REHEARSALS:
            for unit in Workload.parse(rehearsal.queries).plan.units:
                rehearse_closing(unit, OPTIONS)
    assert close_windows in [call.args[0] for call in entered.call_args_list]
