import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from elsinore.datasets import flights, write_flights
from elsinore.errors import InputError
from elsinore.runtime.files import read_events

try:
    TABLE = flights()
except InputError as error:
    pytest.skip(str(error), allow_module_level=True)


def test_all_flights_of_2013_are_there_in_order():
    assert TABLE.num_rows == 336_776
    assert TABLE["time"].type == pa.timestamp("us")
    times = TABLE["time"].cast(pa.int64()).to_numpy()
    assert (times[1:] >= times[:-1]).all()
    assert TABLE["time"][0].as_py() == dt.datetime(2013, 1, 1, 5, 15)
    assert TABLE["time"].null_count == 0


def test_cancelled_flights_have_no_departure_delay():
    assert TABLE["dep_delay"].null_count == 8255
    assert TABLE["tailnum"].null_count == 2512
    assert pc.max(TABLE["dep_delay"]).as_py() == 1301.0


def test_the_columns_are_those_promised():
    assert TABLE.column_names == [
        "time", "carrier", "tailnum", "flight", "origin", "dest", "dep_delay", "arr_delay",
        "air_time", "distance",
    ]  # fmt: skip


def test_the_flights_are_written_as_parquet(tmp_path):
    assert write_flights(tmp_path / "flights.parquet") == 336_776
    assert read_events(tmp_path / "flights.parquet").equals(TABLE)


def test_a_missing_package_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"pip install elsinore\[demo\]"):
        flights()
