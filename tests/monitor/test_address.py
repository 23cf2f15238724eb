from __future__ import annotations

import pytest

from elsinore.errors import InputError
from elsinore.monitor import Listening, listening_at


@pytest.mark.parametrize(
    ("text", "host", "port", "loopback"),
    [
        ("9100", "127.0.0.1", 9100, True),
        (":9100", "127.0.0.1", 9100, True),
        ("localhost:0", "localhost", 0, True),
        ("0.0.0.0:80", "0.0.0.0", 80, False),
        ("[::1]:80", "::1", 80, True),
        ("example.org:80", "example.org", 80, False),
    ],
)
def test_an_address_is_a_port_of_this_machine_unless_a_host_is_named(
    text: str, host: str, port: int, loopback: bool
) -> None:
    listening = listening_at(text)
    assert listening == Listening(host, port)
    assert listening.is_loopback is loopback


@pytest.mark.parametrize("text", ["", "http", "127.0.0.1", "1.5", "70000", "host:", "-1", "١٢"])
def test_what_is_no_address_is_rejected_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match="Write a port, such as 9100"):
        listening_at(text)


def test_a_port_that_is_taken_is_rejected() -> None:
    with listening_at("0").bind() as bound:
        taken = Listening("127.0.0.1", bound.getsockname()[1])
        with pytest.raises(InputError, match=r"Cannot listen at 127\.0\.0\.1:.*Name another port"):
            taken.bind()
