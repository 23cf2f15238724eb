"""Reading live events from Kafka topics, and writing results to them.

Parsing an address needs no client library; the rest needs the extra `elsinore[kafka]`, and raises
SetupError if it is not installed.
"""

from typing import TYPE_CHECKING, Any

from elsinore.connectors.kafka.address import KafkaAddress, is_kafka

if TYPE_CHECKING:
    from elsinore.connectors.kafka.reading import KafkaReader, KafkaSplit
    from elsinore.connectors.kafka.sampling import sample_messages
    from elsinore.connectors.kafka.sink import KafkaSink
    from elsinore.connectors.kafka.source import KafkaSource

__all__ = [
    "KafkaAddress",
    "KafkaReader",
    "KafkaSink",
    "KafkaSource",
    "KafkaSplit",
    "is_kafka",
    "sample_messages",
]
_MODULES = {
    "KafkaReader": "reading",
    "KafkaSplit": "reading",
    "KafkaSink": "sink",
    "KafkaSource": "source",
    "sample_messages": "sampling",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - the client takes time to load

    import_module(f"{__name__}.client")  # raises SetupError with the remedy
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
