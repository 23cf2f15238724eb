"""`kafka:TOPIC@HOST:PORT` and the client's options."""

import re

import pytest

from elsinore.connectors.kafka.address import KafkaAddress, parse_options
from elsinore.errors import InputError

SECRET = "hunter2-hunter2"


@pytest.mark.parametrize(
    ("text", "topic", "servers"),
    [
        ("kafka:trips@localhost:9093", "trips", ("localhost:9093",)),
        ("kafka:trips@localhost", "trips", ("localhost:9092",)),
        ("kafka:a.b_c-1@h1:1,h2:2, h3", "a.b_c-1", ("h1:1", "h2:2", "h3:9092")),
        ("kafka:t@[::1]:9092,[fe80::1]", "t", ("[::1]:9092", "[fe80::1]:9092")),
        ("kafka:t@10.0.0.1:65535", "t", ("10.0.0.1:65535",)),
    ],
)
def test_addresses_are_read_and_written_alike(text, topic, servers):
    address = KafkaAddress.parse(text)
    assert (address.topic, address.servers) == (topic, servers)
    assert KafkaAddress.parse(str(address)) == address


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("trips@localhost", "not the address of a Kafka topic"),
        ("kafka:trips", "not the address of a Kafka topic"),
        ("kafka:@localhost", "does not name a Kafka topic"),
        ("kafka:..@localhost", "does not name a Kafka topic"),
        ("kafka:a b@localhost", "does not name a Kafka topic"),
        ("kafka:" + "x" * 250 + "@localhost", "does not name a Kafka topic"),
        ("kafka:t@", "is not a broker"),
        ("kafka:t@h1,,h2", "is not a broker"),
        ("kafka:t@::1", "in brackets"),
        ("kafka:t@host:port", "is not a port"),
        ("kafka:t@host:0", "is not a port"),
        ("kafka:t@host:65536", "is not a port"),
        ("kafka:t@host:²", "is not a port"),
        ("kafka:t@http://host:9092", "is not a"),
    ],
)
def test_other_texts_are_refused_with_the_form(text, reason):
    with pytest.raises(InputError, match=reason):
        KafkaAddress.parse(text)


def test_options_come_from_texts_and_files(tmp_path):
    file = tmp_path / "client.properties"
    file.write_text(f"# how to log in\n\nsasl.password = {SECRET}=x\nsasl.username=me\n")
    options = parse_options(["security.protocol=SASL_SSL", f"@{file}"])
    assert options == {
        "security.protocol": "SASL_SSL",
        "sasl.password": f"{SECRET}=x",
        "sasl.username": "me",
    }


def test_no_text_shows_a_credential(tmp_path):
    address = KafkaAddress.parse("kafka:t@h", [f"sasl.password={SECRET}"])
    for text in (repr(address), str(address), f"{address.options}", repr(address.options)):
        assert SECRET not in text
    assert SECRET not in address.options.redacted(f"Invalid value {SECRET}")
    for text in (f"kafka:me:{SECRET}@h:x", f"kafka://me:{SECRET}@h:x"):
        with pytest.raises(InputError) as caught:
            KafkaAddress.parse(text)
        assert SECRET not in str(caught.value)
    (tmp_path / "f").write_text(f"sasl.password {SECRET}\n")
    for option in (SECRET, f"={SECRET}", f"@{tmp_path / 'f'}"):
        with pytest.raises(InputError) as caught:
            parse_options([option])
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["bootstrap.servers=h"], "name the brokers in kafka:TOPIC@HOST:PORT"),
        (["enable.auto.commit=true"], "offsets are kept in the checkpoint"),
        ({"auto.offset.reset": "latest"}, "offsets are kept in the checkpoint"),
        (["acks=1"], "the sink needs"),
        (["a=1", "a=2"], "given twice"),
        (["@no-such-file"], "No such file"),
        (["novalue"], "name=value"),
    ],
)
def test_options_that_cannot_be_set_are_refused(options, reason):
    with pytest.raises(InputError, match=re.escape(reason)):
        parse_options(options)
