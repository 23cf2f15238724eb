"""The streams of the papers' evaluations keep the regular structure that their queries rely on."""

import re
from collections import defaultdict

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.datasets import ads, auctions, cluster, patients, with_ticks
from elsinore.errors import InputError


@pytest.mark.parametrize("generator", [ads, auctions, cluster, patients])
@settings(max_examples=15)
@given(events=st.integers(0, 1500), seed=st.integers(0, 2**32))
def test_a_stream_is_as_long_as_asked_ordered_and_the_same_each_time(generator, events, seed):
    table = generator(events, seed)
    assert table.num_rows == events
    assert table.equals(generator(events, seed))
    times = table["time"].to_pylist()
    assert times == sorted(times)


@pytest.mark.parametrize(
    ("generator", "options"),
    [
        (ads, {"campaigns": 0}),
        (ads, {"hot": 1.5}),
        (ads, {"rate": 0}),
        (auctions, {"open_items": 1}),
        (auctions, {"hot": -0.1}),
        (cluster, {"nodes": 0}),
        (cluster, {"skew": 2}),
        (patients, {"patients": 0}),
        (patients, {"episodes": -1}),
    ],
)
def test_impossible_options_are_refused(generator, options):
    (name,) = options
    with pytest.raises(InputError, match=f"'{name}'"):
        generator(10, **options)


def letters_by(table, key, letters):
    """Return each key's events as a word."""
    words = defaultdict(str)
    for row in table.to_pylist():
        if row[key] is not None:
            words[row[key]] += letters[row["type"]]
    return words


def test_a_click_or_purchase_is_of_an_ad_that_its_user_has_viewed():
    viewed = set()
    for row in ads(5000, seed=4, users=300).to_pylist():
        if row["type"] == "view":
            viewed.add((row["user"], row["ad"]))
        assert (row["user"], row["ad"]) in viewed
        assert row["campaign"] == row["ad"] // 10


def test_every_item_is_put_up_bid_for_and_closed_in_this_order():
    table = auctions(20_000, seed=5)
    words = letters_by(table, "item", {"Item": "I", "Bid": "b", "Close": "C"})
    assert all(re.fullmatch("Ib*C?", word) for word in words.values())
    assert sum(word.endswith("C") for word in words.values()) > len(words) / 2
    kinds = table["type"].to_pylist()
    assert kinds.count("Bid") / kinds.count("Person") == pytest.approx(46, rel=0.05)
    assert kinds.count("Item") / kinds.count("Person") == pytest.approx(3, rel=0.05)


def test_the_duration_of_an_item_is_until_its_close():
    rows = auctions(10_000, seed=6).to_pylist()
    begun = {row["item"]: row for row in rows if row["type"] == "Item"}
    closed = [row for row in rows if row["type"] == "Close"]
    assert closed
    for row in closed:
        item = begun[row["item"]]
        seconds = (row["time"] - item["time"]).total_seconds()
        assert item["duration"] == pytest.approx(seconds)


def test_a_patient_has_whole_episodes_within_days():
    table = patients(4000, seed=7, patients=5)
    words = defaultdict(str)
    for row in table.to_pylist():
        for patient in range(5) if row["type"] == "D" else [row["patient"]]:
            words[patient] += row["type"]
    complete = [word[: word.rindex("D") + 1] for word in words.values()]
    assert all(re.fullmatch("((BM*E)*D)*", word) for word in complete)


def test_metrics_alone_have_uncertain_times():
    for row in cluster(3000, seed=8).to_pylist():
        seconds = (row["time_hi"] - row["time_lo"]).total_seconds()
        assert seconds == (15 if row["type"] in {"LoadStd", "Balance", "Imbalance"} else 0)
        assert row["time"] == row["time_hi"]


def test_a_job_begins_with_its_start_and_ends_with_its_end():
    words = letters_by(cluster(40_000, seed=9), "job_id", {
        "JobStart": "S", "JobEnd": "E", "Mapper": "m", "Reducer": "r", "ReducerStart": "<",
        "ReducerEnd": ">", "DataPull": "p", "DataIO": "w", "LoadStd": "", "Balance": "",
        "Imbalance": "",
    })  # fmt: skip
    assert all(re.fullmatch("S[^SE]*E?", word) for word in words.values())
    assert sum(word.endswith("E") for word in words.values()) > len(words) / 2


def test_the_newest_items_and_the_first_ad_have_more_than_their_share():
    newest, bids = 0, 0
    opened = -1
    for row in auctions(20_000, seed=7, hot=0.8).to_pylist():
        if row["type"] == "Item":
            opened = row["item"]
        elif row["type"] == "Bid":
            bids += 1
            newest += row["item"] > opened - 3
    assert newest / bids > 0.8
    seen = ads(20_000, seed=7, hot=0.3)["ad"].to_pylist()
    assert seen.count(0) / len(seen) == pytest.approx(0.3, rel=0.1)


UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
TIMES = [pa.timestamp(unit, zone) for unit in UNITS for zone in (None, "Asia/Kolkata")]


@given(st.integers(0, 40), st.integers(1, 30), st.sampled_from([pa.int64(), *TIMES]))
def test_there_is_a_tick_at_the_end_of_each_stretch_of_time(seed, seconds, kind):
    events = auctions(50, seed, rate=100.0)
    times = pc.cast(events["time"], kind if kind != pa.int64() else pa.timestamp("s"), safe=False)
    events = events.set_column(events.column_names.index("time"), "time", times.cast(kind))
    ticked = with_ticks(events, seconds)
    without = ticked.filter(pc.not_equal(ticked["type"], "tick"))
    assert without.to_pylist() == events.to_pylist()
    length = seconds * (1 if kind == pa.int64() else UNITS[kind.unit])
    moments = ticked["time"].cast(pa.int64()).to_pylist()
    types = ticked["type"].to_pylist()
    stretch = moments[0] // length
    for moment, name in zip(moments, types, strict=True):
        if name == "tick":
            stretch += 1
            assert moment == stretch * length
        else:
            assert moment // length == stretch
    assert types[-1] == "tick"


def test_no_events_get_no_ticks():
    assert with_ticks(auctions(0), 1).num_rows == 0
    without = pa.table({"time": pa.nulls(2, pa.timestamp("us")), "type": ["a", "b"]})
    assert with_ticks(without, 1).equals(without)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"at": [1], "type": ["a"]}, "there is no column 'time'"),
        ({"time": [1]}, "there is no column 'type'"),
        ({"time": ["2024-01-01"], "type": ["a"]}, "the column 'time' is string"),
    ],
)
def test_events_whose_seconds_are_unknown_get_no_ticks(columns, message):
    with pytest.raises(InputError, match=message):
        with_ticks(pa.table(columns), 1)
