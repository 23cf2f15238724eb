"""Recorded streams are read from their publishers' formats, by the columns of the generators."""

from __future__ import annotations

import gzip
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elsinore.datasets import plug_measurements, smarthome, stock, taxi, taxi_trips, trades
from elsinore.errors import InputError

FINANCE = Path(__file__).parents[2] / "../shared/data/finance"
YELLOW = """VendorID,tpep_pickup_datetime,tpep_dropoff_datetime,passenger_count,trip_distance,\
PULocationID,DOLocationID,fare_amount,total_amount
2,2024-01-01 00:57:55,2024-01-01 01:17:43,1,1.72,186,79,17.7,22.7
1,2024-01-01 00:03:00,2024-01-01 00:09:36,,1.8,140,236,10.0,18.75
"""
OLD = """medallion, hack_license, vendor_id, rate_code, pickup_datetime, dropoff_datetime, \
passenger_count, trip_distance, total_amount
A1,B7,CMT,1,2013-01-01 15:11:48,2013-01-01 15:18:10,4,1.00,7.0
A2,B8,CMT,1,2013-01-01 15:12:00,,4,1.00,7.0
"""


def test_a_trip_is_a_pickup_and_a_dropoff(tmp_path: Path) -> None:
    file = tmp_path / "yellow.csv"
    file.write_text(YELLOW)
    trips = taxi_trips(file)
    assert trips.column_names == taxi(4).column_names
    rows = trips.to_pylist()
    assert [row["type"] for row in rows] == ["Pickup", "Dropoff", "Pickup", "Dropoff"]
    assert rows[1] == {
        "time": datetime(2024, 1, 1, 0, 9, 36), "type": "Dropoff", "driver": 1, "zone": 236,
        "passengers": None, "distance": 1.8, "price": 18.75,
    }  # fmt: skip
    assert rows[2]["time"] == datetime(2024, 1, 1, 0, 57, 55)
    assert (rows[2]["zone"], rows[2]["distance"], rows[2]["price"]) == (186, 0.0, 0.0)
    pq.write_table(
        pa.Table.from_pylist(
            [
                {
                    "tpep_pickup_datetime": datetime(2024, 1, 1),
                    "tpep_dropoff_datetime": datetime(2024, 1, 1, 1),
                    "trip_distance": 2.5,
                    "total_amount": 9.0,
                    "passenger_count": 2.0,
                }
            ]
        ),
        tmp_path / "yellow.parquet",
    )
    (pickup, dropoff) = taxi_trips(tmp_path / "yellow.parquet").to_pylist()
    assert (pickup["zone"], pickup["passengers"], dropoff["price"]) == (None, 2, 9.0)


def test_old_trips_have_drivers_and_no_zones_and_those_without_an_end_are_left_out(
    tmp_path: Path,
) -> None:
    file = tmp_path / "trips.csv"
    file.write_text(OLD)
    rows = taxi_trips(file).to_pylist()
    assert [row["driver"] for row in rows] == [0, 0]
    assert [row["zone"] for row in rows] == [None, None]


def test_plugs_are_those_of_debs_2014(tmp_path: Path) -> None:
    lines = (
        "1,1377986401,68.451,0,11,0,0\n2,1377986401,19.927,1,11,0,0\n3,1377986400,0.5,1,3,2,39\n"
    )
    for file in (tmp_path / "plugs.csv", tmp_path / "plugs.csv.gz"):
        file.write_bytes(gzip.compress(lines.encode()) if file.suffix == ".gz" else lines.encode())
        measured = plug_measurements(file)
        assert measured.column_names == smarthome(4).column_names
        rows = measured.to_pylist()
        assert [row["type"] for row in rows] == ["Load", "Work", "Load"]
        assert rows[0] == {
            "time": datetime(2013, 8, 31, 22), "type": "Load", "house": 39, "household": 2,
            "plug": 3, "value": 0.5,
        }  # fmt: skip


def test_ticks_are_found_by_the_usual_names_of_columns(tmp_path: Path) -> None:
    file = tmp_path / "ticks.csv"
    file.write_text(
        "Date_Time,Ticker,Size,Price\n2024-01-02 09:30:01,B,5,2.5\n2024-01-02 09:30:00,A,7,1.5\n"
    )
    ticks = trades(file)
    assert set(ticks.column_names) < set(stock(2).column_names)
    assert ticks.to_pylist() == [
        {"time": datetime(2024, 1, 2, 9, 30), "type": "A", "price": 1.5, "volume": 7.0},
        {"time": datetime(2024, 1, 2, 9, 30, 1), "type": "B", "price": 2.5, "volume": 5.0},
    ]
    file.write_text("ts,sym,last,vol\n1704187800.5,A,1,2\n")
    assert trades(file)["time"].to_pylist() == [datetime(2024, 1, 2, 9, 30, 0, 500_000)]


def test_columns_that_are_missing_and_files_that_are_others_are_named(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("time,symbol,price\n1,A,2\n")
    with pytest.raises(
        InputError, match="no column for the volume of trades: none of volume, size"
    ):
        trades(file)
    with pytest.raises(InputError, match="no column for the pickup of taxi trips"):
        taxi_trips(file)
    with pytest.raises(InputError, match="Lines are id,time,value,property"):
        plug_measurements(file)
    with pytest.raises(InputError, match="cannot be read"):
        trades(tmp_path / "absent.csv")
    file.write_text("1,1,1,7,1,1,1\n")
    with pytest.raises(InputError, match="a property other than 0"):
        plug_measurements(file)
    file.write_text("time,symbol,price,volume\nsoon,A,2,3\n")
    with pytest.raises(InputError, match="a time that is none"):
        trades(file)


@pytest.mark.skipif(not FINANCE.exists(), reason="the real streams are not here")
@pytest.mark.parametrize(("name", "symbols"), [("nasdaq_trades.csv", 9), ("btc_trades.csv", 1)])
def test_real_ticks_are_read_in_order(name: str, symbols: int) -> None:
    ticks = trades(FINANCE / name)
    assert len(ticks["type"].unique()) == symbols
    times = ticks["time"].to_pylist()
    assert times == sorted(times)
