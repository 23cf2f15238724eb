"""Parsing `kafka:TOPIC@HOST:PORT` and the client's options; messages hide options' values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from elsinore.errors import InputError, did_you_mean, printable

SCHEME = "kafka:"
DEFAULT_PORT = 9092
LONGEST_TOPIC = 249  # characters, the brokers' limit
_TOPIC = re.compile(r"[A-Za-z0-9._-]+")
_HOST = re.compile(r"\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+")
_FORM = "kafka:TOPIC@HOST:PORT, or kafka:TOPIC@HOST:PORT,HOST:PORT with several brokers"

_SECRET_WORDS = ("password", "secret", "token", "key", "config", "username")

# Options that exactly-once reading in order depends on; users must not set them.
OURS = {
    "bootstrap.servers": "name the brokers in kafka:TOPIC@HOST:PORT",
    "metadata.broker.list": "name the brokers in kafka:TOPIC@HOST:PORT",
    "enable.auto.commit": "offsets are kept in the checkpoint",
    "enable.auto.offset.store": "offsets are kept in the checkpoint",
    "enable.partition.eof": "readers need it",
    "auto.offset.reset": "offsets are kept in the checkpoint",
    "enable.idempotence": "the sink needs it",
    "acks": "the sink needs the answer of all replicas",
    "request.required.acks": "the sink needs the answer of all replicas",
}


class Options(dict[str, str]):
    """Options of the Kafka client; printed without their values, which may be credentials.

    >>> Options({"sasl.password": "secret"})
    Options(sasl.password=...)
    """

    def __repr__(self) -> str:
        return f"Options({', '.join(f'{name}=...' for name in self)})"

    __str__ = __repr__

    def redacted(self, text: str) -> str:
        """Return a text without the values of options that are longer than a few characters.

        >>> Options({"sasl.password": "secret!"}).redacted("wrong password 'secret!'")
        "wrong password '...'"
        """
        for name, value in self.items():
            if _is_secret(name) and value:
                text = text.replace(value, "...")
        return text


@dataclass(frozen=True, slots=True)
class KafkaAddress:
    """A topic and its bootstrap brokers.

    >>> KafkaAddress.parse("kafka:trips@localhost")
    KafkaAddress(topic='trips', servers=('localhost:9092',))
    """

    topic: str
    servers: tuple[str, ...]
    options: Options = field(default_factory=Options, repr=False)

    @classmethod
    def parse(cls, text: str, options: Sequence[str] | Mapping[str, str] = ()) -> KafkaAddress:
        """Parse `kafka:TOPIC@HOST:PORT`; the default port is 9092.

        `options` are those of `parse_options`. Raise InputError for any other text.
        """
        remainder = text.removeprefix(SCHEME)
        topic, at, hosts = remainder.rpartition("@")
        if not is_kafka(text) or not at:
            raise InputError(
                f"'{_without_secrets(text)}' is not the address of a Kafka topic: {_FORM}."
            )
        if not _TOPIC.fullmatch(topic) or topic in {".", ".."} or len(topic) > LONGEST_TOPIC:
            raise InputError(
                f"'{_without_secrets(text)}' does not name a Kafka topic: before the @ stand up to "
                f"{LONGEST_TOPIC} letters, digits, '.', '_' and '-'. The form is {_FORM}."
            )
        servers = tuple(_server(host.strip()) for host in hosts.split(","))
        return cls(topic, servers, parse_options(options))

    def __str__(self) -> str:
        return f"{SCHEME}{self.topic}@{','.join(self.servers)}"

    @property
    def bootstrap(self) -> str:
        """The brokers in the form of the client's option `bootstrap.servers`."""
        return ",".join(self.servers)


def is_kafka(text: str) -> bool:
    """Return whether a source or sink is named as a Kafka topic.

    >>> is_kafka("kafka:trips@localhost:9092"), is_kafka("trips")
    (True, False)
    """
    return text.startswith(SCHEME)


def parse_options(options: Sequence[str] | Mapping[str, str]) -> Options:
    """Parse the client's options from texts `name=value`, or `@FILE` with one such line each.

    Names are those of librdkafka, such as security.protocol. A file hides passwords from the list
    of processes; empty lines and those that begin with # are ignored. Raise InputError for text of
    another form, duplicate names, and options that exactly-once reading depends on.

    >>> parse_options(["security.protocol=SSL"])["security.protocol"]
    'SSL'
    """
    texts = (
        ((name, value, "") for name, value in options.items())
        if isinstance(options, Mapping)
        else _pairs(options)
    )
    client_options = Options()
    for name, value, place in texts:
        if name in OURS:
            raise InputError(f"The Kafka option '{name}'{place} cannot be set: {OURS[name]}.")
        if name in client_options:
            raise InputError(f"The Kafka option '{name}' is given twice{place}. Give it once.")
        client_options[name] = value
    return client_options


def _pairs(options: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield name, value, and the place of each option (for messages)."""
    for text in options:
        if text.startswith("@"):
            yield from _file_pairs(Path(text[1:]))
            continue
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            # the text may be a password: do not repeat it
            raise InputError(
                "A Kafka option has the form name=value, such as security.protocol=SSL, or @FILE "
                "for a file of such lines."
            )
        yield name.strip(), value.strip(), ""


def _file_pairs(path: Path) -> Iterator[tuple[str, str, str]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"The Kafka options in '{path}' cannot be read: {why}.") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise InputError(f"'{path}', line {number}: name=value is expected.")
        yield name.strip(), value.strip(), f" in '{path}', line {number},"


def _server(text: str) -> str:
    host, port = text, str(DEFAULT_PORT)
    match = re.fullmatch(r"(\[[^\]]*\]|[^:]*)(?::(.*))?", text)
    if match:
        host = match[1]
        port = str(DEFAULT_PORT) if match[2] is None else match[2]
    if not match or not _HOST.fullmatch(host):
        hint = " Write an IPv6 address in brackets: [::1]:9092." if text.count(":") > 1 else ""
        raise InputError(
            f"'{_without_secrets(text)}' is not a broker: HOST:PORT is expected.{hint}"
        )
    if not port.isascii() or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise InputError(
            f"'{_without_secrets(port)}' in '{_without_secrets(text)}' is not a port: a number "
            "from 1 to 65535."
        )
    return f"{host}:{port}"


def _without_secrets(text: str) -> str:
    """Return a text for messages, without a possible password before an @."""
    name, at, remainder = text.rpartition("@")
    if at and (":" in name.removeprefix(SCHEME) or "/" in name):
        name = f"{SCHEME if name.startswith(SCHEME) else ''}..."
    return printable(f"{name}{at}{remainder}")


def unknown_option(name: str, known: Sequence[str]) -> str:
    """Return the error message for an unknown option of the Kafka client.

    >>> unknown_option("sasl.pasword", ["sasl.password"])
    "The Kafka client has no option 'sasl.pasword'. Did you mean 'sasl.password'?"
    """
    return f"The Kafka client has no option '{name}'.{did_you_mean(name, known)}"


def _is_secret(name: str) -> bool:
    return any(word in name for word in _SECRET_WORDS)
