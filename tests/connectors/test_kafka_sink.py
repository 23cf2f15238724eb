"""Results as messages: delivered, with keys by which repetitions are recognized."""

import datetime as dt
import json

import pyarrow as pa
import pytest

from elsinore.connectors.kafka import KafkaAddress, KafkaSink
from elsinore.errors import OutputError

ROWS = pa.table(
    {
        "district": ["Harbor", "Hill"],
        "window_start": [dt.datetime(2024, 1, 31, 12, tzinfo=dt.UTC)] * 2,
        "count(*)": [3, 4],
    }
)
KEYS = {"q1": ["district", "window_start"]}


def opened(topics, topic: str, **options: object) -> KafkaSink:
    client = options.pop("options_of_client", {})
    address = KafkaAddress.parse(topics.broker.address(topic), client)
    return KafkaSink(address, **{"keys": KEYS, "timeout": 20.0, **options})


def test_rows_are_messages_with_keys_values_and_headers(topics):
    topic = topics.make()
    sink = opened(topics, topic)
    sink.write("q1", 7, ROWS)
    sink.flush()
    first, second = topics.read(topic, 2)
    assert json.loads(first.key()) == ["q1", "Harbor", "2024-01-31T12:00:00Z"]
    assert json.loads(second.value()) == {
        "district": "Hill",
        "window_start": "2024-01-31T12:00:00Z",
        "count(*)": 4,
    }
    assert first.headers() == [("query", b"q1"), ("batch", b"7")]
    sink.close()


def test_a_reader_that_keeps_one_message_per_key_sees_each_result_once(topics):
    topic = topics.make()
    repeated = pa.table({"v": [5, 5, 6]})
    for attempt in range(2):  # the second replays what the first, killed, had sent
        sink = opened(topics, topic)
        sink.write("q1", 1, ROWS)
        if attempt:
            sink.write("matches", 1, repeated)
            sink.write("matches", 2, repeated.slice(2))  # another match with equal values
        sink.flush()
    by_key = {m.key(): json.loads(m.value()) for m in topics.read(topic, 8)}
    assert len(by_key) == 6
    assert sorted(row["v"] for row in by_key.values() if "v" in row) == [5, 5, 6, 6]


def test_many_rows_pass_a_full_queue(topics):
    topic = topics.make()
    sink = opened(topics, topic, options_of_client={"queue.buffering.max.messages": "1000"})
    sink.write("n", 1, pa.table({"v": list(range(20_000))}))
    sink.flush()
    messages = topics.read(topic, 20_000)
    assert [json.loads(m.value())["v"] for m in messages[:3]] == [0, 1, 2]


def test_a_topic_that_is_not_there_is_refused_at_once(topics):
    with pytest.raises(OutputError, match="has no topic 'no-such-topic'"):
        opened(topics, "no-such-topic")


def test_messages_that_are_not_delivered_are_an_error(topics):
    topic = topics.make(max_message_bytes="100")
    sink = opened(topics, topic)
    sink.write("q1", 1, ROWS)
    sink.write("long", 1, pa.table({"v": ["x" * 1000] * 3}))
    with pytest.raises(OutputError, match=r"messages? of results could not be delivered"):
        sink.flush()


def test_a_message_that_the_client_refuses_is_an_error(topics):
    sink = opened(topics, topics.make())
    with pytest.raises(OutputError, match="too large"):
        sink.write("long", 1, pa.table({"v": ["x" * 2_000_000]}))


def test_a_user_without_permission_to_write_is_told(topics):
    from support.broker import USERS

    topic = topics.make()
    topics.permit("reader", topic)
    options = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "reader",
        "sasl.password": USERS["reader"],
    }
    server = f"127.0.0.1:{topics.broker.sasl_port}"
    sink = KafkaSink(KafkaAddress.parse(f"kafka:{topic}@{server}", options), timeout=5)
    sink.write("q1", 1, ROWS)
    with pytest.raises(OutputError, match="does not permit this"):
        sink.flush()


def test_a_key_column_that_is_not_there_is_refused(topics):
    sink = opened(topics, topics.make(), keys={"q1": ["distrct"]})
    with pytest.raises(OutputError, match="no column 'distrct' for the key"):
        sink.write("q1", 1, ROWS)


def test_a_topic_with_a_query_that_has_no_rows_stays_empty(topics):
    sink = opened(topics, topics.make())
    sink.write("q1", 1, ROWS.slice(0, 0))
    sink.close()
