"""The rules, on a few events each: what alerts, and what does not."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

import elsinore as el

RULES = Path(__file__).parents[1] / "rules"
START = datetime(2024, 1, 1, 8)


def alerts(rules: str, events: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return the rows of a file of rules with one query."""
    (table,) = el.Workload.parse((RULES / rules).read_text()).run(events).values()
    return table.to_pylist()


def logins(*steps: tuple[int, str], user: str = "ann") -> list[dict[str, object]]:
    """Return events of a user, given as seconds after the start and types."""
    return [
        {"time": START + timedelta(seconds=seconds), "type": kind, "user": user}
        for seconds, kind in steps
    ]


def test_three_failures_and_a_success_alert_once() -> None:
    failures = [(0, "failure"), (20, "failure"), (40, "failure"), (45, "failure")]
    (alert,) = alerts("logins.cep", logins(*failures, (50, "success"), (60, "success")))
    assert alert["user"] == "ann"
    assert alert["at"] == START + timedelta(seconds=50)


@pytest.mark.parametrize(
    "steps",
    [
        [(0, "failure"), (20, "failure"), (30, "success")],
        [(0, "failure"), (20, "failure"), (200, "failure"), (210, "success")],
        [(0, "failure"), (20, "failure"), (40, "failure"), (300, "success")],
    ],
)
def test_few_or_slow_failures_do_not_alert(steps: list[tuple[int, str]]) -> None:
    assert alerts("logins.cep", logins(*steps)) == []


def test_failures_of_several_users_do_not_add_up() -> None:
    events = logins((0, "failure"), (20, "failure"))
    events += logins((30, "failure"), (40, "success"), user="bob")
    assert alerts("logins.cep", events) == []


def test_an_order_that_is_not_shipped_in_time_alerts() -> None:
    events = [
        {"time": START, "type": "paid", "order_id": 1},
        {"time": START, "type": "paid", "order_id": 2},
        {"time": START + timedelta(days=1), "type": "shipped", "order_id": 1},
        {"time": START + timedelta(days=3), "type": "shipped", "order_id": 2},
    ]
    assert alerts("payments.cep", events) == [{"order_id": 2, "paid": START}]


def test_no_events_give_no_alerts() -> None:
    for rules in RULES.glob("*.cep"):
        for table in el.Workload.parse(rules.read_text()).run([]).values():
            assert table.num_rows == 0
