"""What tests of Kafka share."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.broker import Broker
    from support.topics import Topics


@pytest.fixture(scope="session")
def topics(kafka: "Broker") -> "Iterator[Topics]":
    """Give what makes topics of the test run's broker."""
    from support.topics import Topics

    made = Topics(kafka)
    yield made
    made.close()
