"""A Kafka topic as a source, against a real broker."""

import json
import os
import pickle
import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.connectors.contract import Limit
from elsinore.connectors.kafka import KafkaAddress, KafkaSource, sample_messages
from elsinore.connectors.records import AvroRecords, JsonRecords
from elsinore.errors import InputError, StateError

SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string())])
RECORDS = JsonRecords(SCHEMA)
METADATA = ("kafka_partition", "kafka_offset", "kafka_timestamp", "kafka_key")
EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "5"))


def opened(topics, topic: str, **options: object) -> KafkaSource:
    address = KafkaAddress.parse(topics.broker.address(topic))
    return KafkaSource(address, RECORDS, **{"rejects": True, "timeout": 20.0, **options})


def event(n: int) -> bytes:
    return json.dumps({"id": n, "s": f"x{n}"}).encode()


def ids(part) -> list[int]:
    return part.events.column("id").to_pylist()


def read(source: KafkaSource, start: dict, end: dict) -> list[tuple]:
    """Return what a batch contains: events, rejects and tombstones of each partition."""
    parts = [(s.partition, source.reader.read(s)) for s in source.splits(start, end)]
    return [
        (name, part.events.to_pylist(), part.rejects.to_pylist(), part.tombstones)
        for name, part in parts
    ]


@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**32))
def test_any_micro_batches_read_each_message_once_and_replay_the_same(topics, seed):
    draw = random.Random(seed)
    partitions = draw.randint(1, 3)
    topic = topics.make(partitions)
    source = opened(topics, topic, metadata=METADATA)
    offset = source.first()
    batches: list[tuple[dict, dict, list]] = []
    good: dict[str, list[int]] = {}
    bad: list[tuple[int, str]] = []
    tombstones = written = 0
    for _ in range(14):
        action = draw.choice(
            ("write", "write", "batch", "batch", "batch", "crash", "grow", "commit")
        )
        if action == "write":
            messages = []
            for _ in range(draw.randint(1, 30)):
                number, kind = draw.randrange(partitions), draw.randrange(6)
                if kind == 0:
                    messages.append((number, b"k", None))
                    tombstones += 1
                elif kind == 1:
                    text = draw.choice((b"", b"nonsense", b'{"id": "x"}', b"{}{}"))
                    messages.append((number, None, text))
                    bad.append((number, text.decode()))
                else:
                    messages.append((number, None, event(written)))
                    good.setdefault(str(number), []).append(written)
                    written += 1
            topics.fill(topic, messages)
        elif action == "commit":
            commit = draw.random() < 0.5
            values = list(range(written, written + 3))
            topics.transaction(topic, [event(n) for n in values], commit=commit)
            written += 3
            good.setdefault("0", []).extend(values if commit else [])
        elif action == "grow" and partitions < 5:
            partitions += 1
            topics.grow(topic, partitions)
        elif action == "crash":
            source.close()
            source = opened(topics, topic, metadata=METADATA)
            for start, end, rows in draw.sample(batches, min(3, len(batches))):
                assert read(pickle.loads(pickle.dumps(source)), start, end) == rows
        else:
            limit = Limit(rows=draw.choice((None, 1, 7, 20)))
            until = source.available() if draw.random() < 0.3 else None
            end = source.advance(json.loads(json.dumps(offset)), limit, until)
            rows = read(source, offset, end)
            batches.append((offset, end, rows))
            offset = end
    while any(source.lag(offset).values()):
        end = source.advance(offset)
        batches.append((offset, end, read(source, offset, end)))
        offset = end
    actual: dict[str, list[int]] = {}
    for _, _, parts in batches:
        for name, events, *_ in parts:
            actual.setdefault(name, []).extend(row["id"] for row in events)
            assert {str(row["kafka_partition"]) for row in events} <= {name}
    assert {name: values for name, values in actual.items() if values} == {
        name: values for name, values in good.items() if values
    }
    rejected = [row for *_, parts in batches for _, _, rows, _ in parts for row in rows]
    assert sorted((row["partition"], row["value"]) for row in rejected) == sorted(bad)
    assert sum(count for *_, parts in batches for *_, count in parts) == tombstones
    source.close()


def test_a_batch_is_divided_in_proportion_and_offsets_are_json(topics):
    topic = topics.make(3)
    topics.fill(topic, [(0, None, event(n)) for n in range(90)])
    topics.fill(topic, [(1, None, event(n)) for n in range(10)])
    source = opened(topics, topic)
    end = source.advance(source.first(), Limit(rows=50))
    assert end == {"topic": topics.topic_id(topic), "next": {"0": 45, "1": 5, "2": 0}}
    assert source.lag(end) == {"0": 45, "1": 5, "2": 0}
    assert source.advance(source.available()) == source.available()


def test_a_stream_may_start_behind_the_messages_that_exist(topics):
    topic = topics.make()
    topics.fill(topic, [(0, None, event(1))])
    source = opened(topics, topic, start="latest")
    start = source.first()
    topics.fill(topic, [(0, None, event(2))])
    (split,) = source.splits(start, source.advance(start))
    assert ids(source.reader.read(split)) == [2]


def test_metadata_are_columns_where_asked_for(topics):
    topic = topics.make()
    topics.fill(topic, [(0, b"\xc3\xa4", event(0)), (0, None, b"x"), (0, b"\xff", event(2))])
    topics.fill(topic, [(0, None, event(3))])
    source = opened(topics, topic, metadata=METADATA)
    (split,) = source.splits(source.first(), source.advance(source.first()))
    part = source.reader.read(split)
    assert part.events.schema == source.schema
    rows = part.events.drop_columns(["kafka_timestamp"]).to_pylist()
    assert rows == [
        {"id": 0, "s": "x0", "kafka_partition": 0, "kafka_offset": 0, "kafka_key": "ä"},
        {"id": 3, "s": "x3", "kafka_partition": 0, "kafka_offset": 3, "kafka_key": None},
    ]
    assert part.events.column("kafka_timestamp").null_count == 0
    actual = [(row["offset"], row["reject_reason"]) for row in part.rejects.to_pylist()]
    assert actual == [(1, "not one JSON object"), (2, "a key that is not UTF-8")]
    without = opened(topics, topic)
    assert ids(without.reader.read(split)) == [0, 2, 3]
    for metadata, message in ((["kafka_ofset"], "Did you mean 'kafka_offset'"),):
        with pytest.raises(InputError, match=message):
            opened(topics, topic, metadata=metadata)


def test_bad_messages_stop_a_stream_without_rejects(topics):
    topic = topics.make()
    topics.fill(topic, [(0, None, event(0)), (0, None, b"nonsense")])
    source = opened(topics, topic, rejects=False)
    (split,) = source.splits(source.first(), source.advance(source.first()))
    with pytest.raises(InputError, match=r"(?s)1 record .*partition 0, offset 1 .*nonsense"):
        source.reader.read(split)


def test_an_open_transaction_is_waited_for_and_an_aborted_one_is_not_read(topics):
    topic = topics.make()
    source = opened(topics, topic)
    topics.fill(topic, [(0, None, event(0))])
    topics.transaction(topic, [event(1), event(2)], commit=False)
    topics.transaction(topic, [event(3)], commit=True)
    start, end = source.first(), source.available()
    (split,) = source.splits(start, end)
    assert split.rows == 6  # two of which are the ends of transactions
    assert ids(source.reader.read(split)) == [0, 3]
    topics.fill(topic, [(0, None, event(4))])
    (split,) = source.splits(end, source.advance(end))
    assert ids(source.reader.read(split)) == [4]


def test_an_end_that_is_reported_beside_later_messages_is_remembered(topics):
    topic = topics.make()
    topics.fill(topic, [(0, None, event(0))])
    topics.transaction(topic, [event(n) for n in range(1, 4)], commit=False)  # offsets 1 to 4
    topics.fill(topic, [(0, None, event(5))])
    topics.transaction(topic, [event(6)], commit=True)  # offsets 6 and 7
    source, other = opened(topics, topic, timeout=5.0), opened(topics, topic)
    (split,) = source.splits(source.first(), source.available())
    assert ids(source.reader.read(type(split)(0, 0, 1))) == [0]  # and reads ahead up to the end
    assert ids(other.reader.read(split)) == [0, 5, 6]  # which takes longer than reading ahead
    parts = [source.reader.read(type(split)(0, *ends)) for ends in ((1, 6), (6, 8))]
    assert [ids(part) for part in parts] == [[5], [6]]


def test_ranges_of_a_partition_may_be_read_in_any_order(topics):
    topic = topics.make()
    topics.fill(topic, [(0, None, event(n)) for n in range(1000)])
    source = opened(topics, topic)
    (split,) = source.splits(source.first(), source.advance(source.first()))
    draw = random.Random(1)
    for _ in range(12):
        begin, end = sorted(draw.sample(range(1001), 2))
        part = source.reader.read(type(split)(0, begin, end))
        assert ids(part) == list(range(begin, end))


def test_messages_deleted_before_they_were_read_are_an_error_or_a_reject(topics):
    topic = topics.make()
    source = opened(topics, topic)
    start = source.first()
    topics.fill(topic, [(0, None, event(n)) for n in range(10)])
    end = source.advance(start, Limit(rows=6))
    topics.delete_records(topic, {0: 4})
    with pytest.raises(InputError, match=r"begins at offset 4, and the checkpoint continues at 0"):
        source.advance(start)
    (split,) = source.splits(start, end)
    with pytest.raises(InputError, match=r"deleted .* before they were read"):
        source.reader.read(split)
    skipping = opened(topics, topic, missing="skip")
    assert skipping.advance(start, Limit(rows=6)) == end
    part = skipping.reader.read(split)
    assert ids(part) == [4, 5]
    (reject,) = part.rejects.to_pylist()
    assert (reject["partition"], reject["offset"]) == (0, 0)
    assert reject["reject_reason"] == "deleted before they were read: messages up to offset 3"


def test_a_topic_that_was_created_anew_is_refused(topics):
    topic = topics.make()
    topics.fill(topic, [(0, None, event(n)) for n in range(10)])
    source = opened(topics, topic)
    offset = source.available()
    nameless = offset | {"topic": ""}  # as of a broker that has no ids
    topics.delete(topic)
    with pytest.raises(InputError, match="has no topic"):
        source.advance(offset)
    topics.make(name=topic)
    topics.fill(topic, [(0, None, event(n)) for n in range(3)])
    with pytest.raises(InputError, match="created anew since the checkpoint"):
        source.advance(offset)
    with pytest.raises(InputError, match="ends at offset 3, and the checkpoint continues at 10"):
        source.advance(nameless)


def test_an_offset_of_another_source_is_refused(topics):
    source = opened(topics, topics.make())
    with pytest.raises(StateError, match="not an offset of a Kafka topic"):
        source.advance({"file": 1, "unit": 0})


def test_an_unknown_topic_is_refused_with_the_nearest_name(topics):
    topic = topics.make()
    source = opened(topics, topic + "x")
    with pytest.raises(InputError, match=f"has no topic '{topic}x'. Did you mean '{topic}'"):
        source.first()


def test_a_broker_that_is_not_there_is_an_error():
    address = KafkaAddress.parse("kafka:t@127.0.0.1:1")
    with pytest.raises(InputError, match=r"127\.0\.0\.1:1 gives no answer .*refused"):
        KafkaSource(address, RECORDS, timeout=2).first()


def secured(topics, topic: str, password: str, **more: str) -> KafkaSource:
    options = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "reader",
        "sasl.password": password,
        **more,
    }
    server = f"127.0.0.1:{topics.broker.sasl_port}"
    address = KafkaAddress.parse(f"kafka:{topic}@{server}", options)
    return KafkaSource(address, RECORDS, timeout=5)


def test_a_user_without_permission_or_with_a_wrong_password_is_told(topics):
    from support.broker import USERS

    topic = topics.make()
    topics.fill(topic, [(0, None, event(1))])
    with pytest.raises(InputError, match="does not permit this user to use topic"):
        secured(topics, topic, USERS["reader"]).first()
    with pytest.raises(InputError, match="refuses the log-in") as caught:
        secured(topics, topic, "wrong-password").first()
    assert "wrong-password" not in str(caught.value)
    topics.permit("reader", topic)
    source = secured(topics, topic, USERS["reader"])
    (split,) = source.splits(source.first(), source.advance(source.first()))
    assert ids(source.reader.read(split)) == [1]  # without permission for a group
    topics.permit("reader", topic, allow=False)
    with pytest.raises(InputError, match="does not permit this user to use topic"):
        pickle.loads(pickle.dumps(source.reader)).read(split)


def test_an_option_that_the_client_does_not_have_is_refused(topics):
    topic = topics.make()
    with pytest.raises(
        InputError, match=r'No such configuration property: "sasl.pasword"'
    ) as caught:
        secured(topics, topic, "a-password", **{"sasl.pasword": "b-password"}).first()
    assert "password'" not in str(caught.value)
    with pytest.raises(InputError, match=r"security\.protocol"):
        secured(topics, topic, "a-password", **{"security.protocol": "TLS"}).first()


def test_a_choice_that_is_none_is_refused(topics):
    for options in ({"start": "erliest"}, {"missing": "skp"}):
        with pytest.raises(InputError, match="Did you mean"):
            opened(topics, "t", **options)


def test_a_sample_has_the_last_messages_of_each_partition(topics):
    topic = topics.make(2)
    topics.fill(topic, [(0, None, event(n)) for n in range(50)])
    topics.fill(topic, [(1, None, event(7)), (1, None, None)])
    address = KafkaAddress.parse(topics.broker.address(topic))
    actual = sorted(json.loads(value)["id"] for value in sample_messages(address, 20, timeout=20))
    assert actual == [7, *range(40, 50)]
    empty = KafkaAddress.parse(topics.broker.address(topics.make()))
    assert sample_messages(empty, timeout=20) == []


def test_avro_messages_are_read_like_json(topics):
    import io

    import fastavro

    schema = '{"type": "record", "name": "E", "fields": [{"name": "id", "type": "long"}]}'
    values = []
    for n in range(5):
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, json.loads(schema), {"id": n})
        values.append(stream.getvalue())
    topic = topics.make()
    topics.fill(topic, [(0, None, value) for value in [*values, b""]])
    address = KafkaAddress.parse(topics.broker.address(topic))
    source = KafkaSource(address, AvroRecords(schema), rejects=True, timeout=20)
    (split,) = source.splits(source.first(), source.available())
    part = pickle.loads(pickle.dumps(source.reader)).read(split)
    assert ids(part) == list(range(5))
    assert part.rejects.column("offset").to_pylist() == [5]
