"""The addresses that metrics and the page are served at: [HOST:]PORT, loopback by default."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from elsinore.errors import InputError

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Listening:
    """A host and a port to listen at; port 0 means any free port."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def bind(self) -> socket.socket:
        """Return a socket that is bound to the address. Raise InputError if it cannot be."""
        try:
            family = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)[0][0]
            return socket.create_server((self.host, self.port), family=family)
        except OSError as error:
            raise cannot_listen(self, error) from None

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def listening_at(text: str) -> Listening:
    """Return the address that [HOST:]PORT means. Raise InputError if it is not one.

    >>> listening_at("9100"), str(listening_at("[::1]:9100"))
    (Listening(host='127.0.0.1', port=9100), '[::1]:9100')
    """
    host, _, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise InputError(
            f"'{text}' is not an address to listen at. Write a port, such as 9100, or "
            "HOST:PORT, such as 127.0.0.1:9100."
        )
    return Listening(host or LOOPBACK, int(port))


def cannot_listen(listening: Listening, error: OSError) -> InputError:
    """Return the error for an address that is in use or does not belong to this machine."""
    return InputError(
        f"Cannot listen at {listening}: {error.strerror or error}. Name another port, or 0 for any "
        "that is free."
    )
