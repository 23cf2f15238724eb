"""Clients of a Kafka cluster, and converting their errors to messages with a remedy."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from elsinore.connectors.kafka.address import KafkaAddress
from elsinore.errors import ElsinoreError, InputError, SetupError, did_you_mean

try:
    import confluent_kafka as ck
    from confluent_kafka import admin as ck_admin
except ImportError as missing:
    raise SetupError(
        "Kafka topics need the package confluent-kafka. Install it with: "
        "pip install 'elsinore[kafka]'"
    ) from missing

Result = TypeVar("Result")
TIMEOUT = 30.0  # seconds without a response after which a call fails
TIMEOUT_OPTION = "socket.timeout.ms"
RETRY_SECONDS = 0.1
REQUEST_SECONDS = 2.0  # timeout of one request, after which reported errors are checked
LOGGER = logging.getLogger("elsinore.kafka")
LOGGER.addHandler(logging.NullHandler())  # the client's own messages: none on the terminal

# Transient errors, after a topic was created or while a broker restarts.
_PASSING = frozenset(
    {
        ck.KafkaError.LEADER_NOT_AVAILABLE,
        ck.KafkaError.NOT_LEADER_FOR_PARTITION,
        ck.KafkaError.REQUEST_TIMED_OUT,
        ck.KafkaError.NETWORK_EXCEPTION,
        ck.KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        ck.KafkaError.UNKNOWN_LEADER_EPOCH,
        ck.KafkaError.FENCED_LEADER_EPOCH,
        ck.KafkaError.OFFSET_NOT_AVAILABLE,
        ck.KafkaError._NOENT,  # no leader is known yet
        ck.KafkaError._TIMED_OUT,
    }
)
_UNREACHABLE = frozenset(
    {
        ck.KafkaError._TRANSPORT,
        ck.KafkaError._TIMED_OUT,
        ck.KafkaError._ALL_BROKERS_DOWN,
        ck.KafkaError._RESOLVE,
        ck.KafkaError._MSG_TIMED_OUT,
    }
)
_AUTHENTICATION = frozenset(
    {ck.KafkaError._AUTHENTICATION, ck.KafkaError.SASL_AUTHENTICATION_FAILED}
)
_SSL = frozenset({ck.KafkaError._SSL})
_LASTING = _AUTHENTICATION | _SSL
RECENT_ERRORS = 100  # last reported errors that are stored


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic's id, which changes if it is recreated ("" on old brokers), and its partitions."""

    id: str
    partitions: tuple[int, ...]


def _timeout_of(address: KafkaAddress, timeout: float, error: type[ElsinoreError]) -> float:
    """Return the seconds to wait for a response: the user's option, or else `timeout`."""
    text = address.options.get(TIMEOUT_OPTION)
    if text is None:
        return timeout
    try:
        milliseconds = int(text)
    except ValueError:
        raise error(
            f"The Kafka option {TIMEOUT_OPTION} is '{text}', not a number of milliseconds."
        ) from None
    return milliseconds / 1000


class Cluster:
    """Requests metadata of one topic from its cluster.

    `timeout` is the seconds without a response after which a call fails, unless the user's options
    have `socket.timeout.ms`.

    Raises InputError (or `error`, for a sink) that names the cluster, the topic and the remedy.
    """

    def __init__(
        self,
        address: KafkaAddress,
        *,
        timeout: float = TIMEOUT,
        error: type[ElsinoreError] = InputError,
    ) -> None:
        self.address = address
        self.timeout = _timeout_of(address, timeout, error)
        self.error = error
        self._errors: deque[tuple[float, ck.KafkaError]] = deque(maxlen=RECENT_ERRORS)
        self._admin: Any = None

    @property
    def admin(self) -> Any:
        """The admin client, created when first needed."""
        if self._admin is None:
            self._admin = self.client(ck_admin.AdminClient, {})
        return self._admin

    def client(self, client_class: Callable[..., Any], options: dict[str, Any]) -> Any:
        """Return a client of the cluster; the user's options override `options`."""
        everything = {
            **options,
            **self.address.options,
            "bootstrap.servers": self.address.bootstrap,
            "error_cb": self._record_error,
        }
        try:
            return client_class(everything, logger=LOGGER)
        except ck.KafkaException as error:
            why = self.address.options.redacted(error.args[0].str())
            raise self.error(f"The Kafka options cannot be used: {why}.") from error

    def topic(self) -> Topic:
        """Return the topic's id and partitions."""
        return self._with_retries(self._describe)

    def offsets(self, partitions: Iterable[int], *, earliest: bool) -> dict[int, int]:
        """Return each partition's first offset, or the one after its last committed message."""
        spec = ck_admin.OffsetSpec.earliest() if earliest else ck_admin.OffsetSpec.latest()
        requests = {ck.TopicPartition(self.address.topic, number): spec for number in partitions}
        if not requests:
            return {}

        def list_offsets() -> dict[int, int]:
            answers = self.admin.list_offsets(
                requests,
                isolation_level=ck.IsolationLevel.READ_COMMITTED,
                request_timeout=self._timeout,
            )
            try:
                return {
                    place.partition: future.result().offset for place, future in answers.items()
                }
            except ck.KafkaException as error:
                if error.args[0].code() == ck.KafkaError._NOENT:
                    self._describe()  # raises an error for a missing or forbidden topic
                    self._admin = None  # the client caches that a partition was unknown
                raise

        return self._with_retries(list_offsets)

    @property
    def _timeout(self) -> float:
        return min(self.timeout, REQUEST_SECONDS)

    def _describe(self) -> Topic:
        names = ck.TopicCollection([self.address.topic])
        answers = self.admin.describe_topics(names, request_timeout=self._timeout)
        topic = answers[self.address.topic].result()
        partitions = sorted(partition.id for partition in topic.partitions)
        return Topic(str(topic.topic_id or ""), tuple(partitions))

    def _with_retries(self, call: Callable[[], Result]) -> Result:
        """Return the result of a call; retry after transient errors."""
        end = time.monotonic() + self.timeout
        while True:
            try:
                return call()
            except ck.KafkaException as error:
                cause = error.args[0]
                passes = cause.code() in _PASSING and not self._recent().keys() & _LASTING
                if not passes or time.monotonic() > end:
                    raise self.error_for(cause) from error
            time.sleep(RETRY_SECONDS)

    def error_for(self, cause: ck.KafkaError) -> ElsinoreError:
        """Return Elsinore's error for an error of the client, with the remedy."""
        code, topic = cause.code(), self.address.topic
        recent_errors = self._recent()
        if code == ck.KafkaError.UNKNOWN_TOPIC_OR_PART:
            text = f"has no topic '{topic}'.{did_you_mean(topic, self._topics())} Create it first"
        elif code == ck.KafkaError.TOPIC_AUTHORIZATION_FAILED:
            text = f"does not permit this user to use topic '{topic}'. Ask its administrator"
        elif code == ck.KafkaError.CLUSTER_AUTHORIZATION_FAILED:
            text = (
                f"does not permit this user what is needed ({cause.str()}). Ask its administrator"
            )
        elif code in _AUTHENTICATION or recent_errors.keys() & _AUTHENTICATION:
            text = (
                "refuses the log-in. Check the options security.protocol, sasl.mechanism, "
                "sasl.username and sasl.password"
            )
        elif code in _SSL or recent_errors.keys() & _SSL:
            text = f"cannot be reached by TLS ({self._reason(cause)}). Check the options ssl.*"
        elif code in _UNREACHABLE:
            text = (
                f"gives no answer ({self._reason(cause)}). Check that a broker runs there, and "
                "whether the option security.protocol is that of its listener"
            )
        else:
            text = f"reports: {cause.str()} ({cause.name()}). Topic: '{topic}'"
        text = self.address.options.redacted(text)
        return self.error(f"Kafka at {self.address.bootstrap} {text}.")

    def close(self) -> None:
        """Close the connections."""
        self._admin = None

    def _record_error(self, error: ck.KafkaError) -> None:
        """Store an error that one of the client's threads reports (callback)."""
        self._errors.append((time.monotonic(), error))

    def _recent(self) -> dict[int, ck.KafkaError]:
        """Return the errors reported recently, by code."""
        if self._admin is not None:
            self._admin.poll(0)  # runs the callbacks for errors of its threads
        since = time.monotonic() - 2 * self.timeout
        return {error.code(): error for at, error in self._errors if at >= since}

    def _reason(self, cause: ck.KafkaError) -> str:
        """Return the message of the most specific error."""
        recent = self._recent()
        for code in (*_SSL, ck.KafkaError._RESOLVE, ck.KafkaError._TRANSPORT):
            if code in recent:
                return str(recent[code].str())
        return str(cause.str())

    def _topics(self) -> list[str]:
        try:
            return list(self.admin.list_topics(timeout=self.timeout).topics)
        except ck.KafkaException:
            return []
