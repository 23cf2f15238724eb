"""The recorded streams of the HAMLET paper (section 6.1), from their publishers' files.

Each loader takes the path of a file and returns the columns that the generator of the same stream
has, in order of time. Elsinore does not contain these files: New York's trips are published by
its Taxi and Limousine Commission, plugs are the data of the DEBS 2014 challenge, and trades may be
any file of ticks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from elsinore.datasets.columns import named_codes
from elsinore.datasets.smarthome import PROPERTIES
from elsinore.datasets.taxi import KINDS
from elsinore.errors import InputError
from elsinore.runtime.times import to_ticks

CABS = ("tpep_", "lpep_", "", "trip_")  # yellow, green, for hire and old files
TRIP_COLUMNS: Mapping[str, Sequence[str]] = {  # our names, and those in files over the years
    "pickup": tuple(f"{cab}pickup_datetime" for cab in CABS),
    "dropoff": tuple(f"{cab}dropoff_datetime" for cab in CABS),
    "driver": ("hack_license", "medallion", "vendorid", "vendor_id", "hvfhs_license_num"),
    "begin": ("pulocationid",),
    "end": ("dolocationid",),
    "passengers": ("passenger_count",),
    "distance": ("trip_distance", "trip_miles"),
    "price": ("total_amount", "total_amt", "base_passenger_fare", "fare_amount"),
}  # fmt: skip
OPTIONAL_OF_TRIPS = ("driver", "begin", "end", "passengers")  # null where a file lacks them
MEASUREMENT_COLUMNS = ("id", "time", "value", "property", "plug", "household", "house")
TRADE_COLUMNS: Mapping[str, Sequence[str]] = {
    "time": ("timestamp", "time", "datetime", "date_time", "ts"),
    "type": ("symbol", "ticker", "company", "sym", "id", "name"),
    "price": ("price", "last", "close"),
    "volume": ("volume", "size", "amount", "quantity", "dayvolume", "vol"),
}


def taxi_trips(path: str | Path) -> pa.Table:
    """Return the pickups and dropoffs of New York's taxi trips, two events a trip.

    path: a file of trips as published for a month, Parquet or CSV, of any year. The columns are
    those of `taxi`; driver is the licence, else the vendor, if the file has them,
    and zones are null in files that have coordinates instead. Trips without a time are left out.

    Raise InputError for a file that cannot be read, or lacks the times, the distance or the price.
    """
    table = _columns(_read(path), TRIP_COLUMNS, path, "taxi trips", OPTIONAL_OF_TRIPS)
    times = {name: _times(table[name], path) for name in ("pickup", "dropoff")}
    is_whole = pc.and_(pc.is_valid(times["pickup"]), pc.is_valid(times["dropoff"]))
    table = table.filter(is_whole)
    count = table.num_rows
    driver = table["driver"].combine_chunks().dictionary_encode().indices.cast(pa.int64())
    no_value = pa.nulls(count, pa.float64())
    parts = [
        pa.table(
            {
                "time": times[name].filter(is_whole),
                "type": named_codes(np.full(count, kind), KINDS),
                "driver": driver,
                "zone": table[zone].cast(pa.int64(), safe=False),
                "passengers": table["passengers"].cast(pa.int64(), safe=False),
                **{
                    column: pc.fill_null(
                        table[column].cast(pa.float64()) if kind else no_value, 0.0
                    )
                    for column in ("distance", "price")
                },
            }
        )
        for kind, (name, zone) in enumerate((("pickup", "begin"), ("dropoff", "end")))
    ]
    return _in_order(pa.concat_tables(parts))


def plug_measurements(path: str | Path) -> pa.Table:
    """Return the measurements of smart plugs in the format of the DEBS 2014 challenge.

    path: a CSV file without a header, which may be compressed (.gz): id, seconds since 1970, value,
    property (0 is work in kilowatt hours, 1 load in watts), plug, household, house. The columns are
    those of `smarthome`. Plugs are numbered within their household, as in the file.

    Raise InputError for a file in another format.
    """
    whole, number = pa.int64(), pa.float64()
    types = dict.fromkeys(MEASUREMENT_COLUMNS, whole) | {"value": number, "time": number}
    try:
        table = pa_csv.read_csv(
            path,
            read_options=pa_csv.ReadOptions(column_names=list(MEASUREMENT_COLUMNS)),
            convert_options=pa_csv.ConvertOptions(column_types=types),
        )
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(
            f"{path} has no measurements of plugs: {error}. Lines are "
            f"{','.join(MEASUREMENT_COLUMNS)}, without a header."
        ) from error
    kinds = table["property"].to_numpy()
    if not np.isin(kinds, (0, 1)).all():
        raise InputError(f"{path} has a property other than 0 (work) and 1 (load).")
    return _in_order(
        pa.table(
            {
                "time": _times(table["time"], path),
                "type": named_codes(1 - kinds, PROPERTIES),
                **{name: table[name] for name in ("house", "household", "plug", "value")},
            }
        )
    )


def trades(path: str | Path) -> pa.Table:
    """Return the trades of a file of ticks.

    path: a CSV file, which may be compressed (.gz), or a Parquet file, with columns for the time,
    the symbol, the price and the volume, under any of their usual names (tried in order:
    `symbol` before `id`, for instance). Columns: time, type (the symbol), price and volume.

    Raise InputError for a file that cannot be read, or lacks one of them.
    """
    table = _columns(_read(path), TRADE_COLUMNS, path, "trades", ())
    return _in_order(
        pa.table(
            {
                "time": _times(table["time"], path),
                "type": table["type"].cast(pa.string()).combine_chunks().dictionary_encode(),
                "price": table["price"].cast(pa.float64()),
                "volume": table["volume"].cast(pa.float64()),
            }
        )
    )


LOADERS: Mapping[str, Callable[[str | Path], pa.Table]] = MappingProxyType(
    {"taxi": taxi_trips, "smarthome": plug_measurements, "stock": trades}
)
"""By the name of the generator of the same stream."""


def _read(path: str | Path) -> pa.Table:
    is_parquet = str(path).endswith((".parquet", ".pq"))
    try:
        return pq.read_table(path) if is_parquet else pa_csv.read_csv(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def _columns(
    table: pa.Table,
    names: Mapping[str, Sequence[str]],
    path: str | Path,
    what: str,
    optional: Sequence[str],
) -> pa.Table:
    """Return the columns by our names; of several usual names the first in the file is used."""
    names_in_file = {name.strip().lower(): name for name in table.column_names}
    chosen = {}
    for ours, usual in names.items():
        theirs = next((names_in_file[name] for name in usual if name in names_in_file), None)
        if theirs is None and ours not in optional:
            raise InputError(
                f"{path} has no column for the {ours} of {what}: none of {', '.join(usual)}. "
                f"Columns: {', '.join(table.column_names)}."
            )
        chosen[ours] = pa.nulls(table.num_rows) if theirs is None else table[theirs]
    return pa.table(chosen)


def _times(column: pa.ChunkedArray, path: str | Path) -> pa.TimestampArray:
    """Return times in microseconds, without a zone: texts, times, or seconds since 1970."""
    times, _ = to_ticks(column)
    if times.null_count > column.null_count:
        unusable = column.filter(pc.and_(pc.is_valid(column), pc.is_null(times)))[0].as_py()
        raise InputError(f"{path} has a time that is none: {unusable!r}")
    return times.cast(pa.timestamp("us"))


def _in_order(table: pa.Table) -> pa.Table:
    """Return events sorted by time; simultaneous ones keep the order of the file."""
    order = np.argsort(table["time"].cast(pa.int64()).to_numpy(), kind="stable")
    return table.take(pa.array(order)).combine_chunks()
