"""Compiled kernels go to Spark's workers with the job, so that none of them compiles.

The driver compiles what it has not compiled yet by running the job's operators over a few made-up
events, and adds the code to the job's files, as `SparkContext.addFile` does with anything. A worker
looks there first. One with another processor, another Python or another Numba finds nothing that
fits, compiles by itself, and says so in its log.
"""

from __future__ import annotations

import atexit
import logging
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path

import pyarrow as pa
from pyspark import SparkFiles
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from elsinore.kernels import SHELF
from elsinore.kernels.decorator import is_off
from elsinore.kernels.needed import canonical, needed_kernels, pack_kernels, read_packed
from elsinore.model.expression import Attribute, Binary, Literal, Operator
from elsinore.operators import OperatorOptions
from elsinore.operators.panes import Panes
from elsinore.operators.rehearsal import rehearse, rehearse_panes
from elsinore.plan import Unit
from elsinore.plan.classes import classes_of
from elsinore.runtime.classify import classify, type_numbers
from elsinore.runtime.columnar import Layout, Merging, Packing
from elsinore.runtime.keys import encode_keys

LOG = logging.getLogger("elsinore.spark")

Rehearsed = tuple[str, Callable[[], None]]  # what a job is known by, and what it needs

_CLASSES = classes_of(
    [
        (
            "a",
            [
                *(Binary(Operator.LT, Attribute("a", "v"), Literal(n)) for n in range(3)),
                *(Binary(Operator.EQ, Attribute("a", "s"), Literal(text)) for text in "abc"),
                Binary(Operator.NE, Attribute("a", "s"), Attribute("a", "s")),
            ],
        )
    ]
)  # with digits of all kinds

_SENT: dict[str, set[str]] = {}  # Spark application -> names of the kernels that it has


def hand_over(
    session: SparkSession,
    units: Sequence[Unit],
    options: OperatorOptions,
    types: Mapping[str, pa.DataType],
) -> None:
    """Send the workers the compiled kernels that units need and they do not have yet.

    types: what the attributes that units carry or group by are in the input. Whatever fails here
    costs the workers time, and is no failure of the job.
    """
    jobs: list[Rehearsed] = [("shuffle", rehearse_shuffle)]
    for unit in units:
        known = {name: str(types[name]) for name in (*unit.carried, *unit.group_by)}
        jobs.append((canonical((unit, options, known)), partial(rehearse, unit, options, types)))
    _hand_over(session, jobs)


def hand_over_panes(session: SparkSession, unit: Unit, panes: Panes, *, ordered: bool) -> None:
    """Send the workers the compiled kernels that combine a unit's events."""
    job = canonical((unit, "panes", ordered))
    _hand_over(session, [(job, partial(rehearse_panes, unit, panes, ordered=ordered))])


def _hand_over(session: SparkSession, jobs: Sequence[Rehearsed]) -> None:
    if is_off():
        return
    try:
        sent = _SENT.setdefault(_application(session), set())
        for job, run in jobs:
            new = {n: code for n, code in needed_kernels([job], run).items() if n not in sent}
            if new:
                _send(session, new)
                sent |= new.keys()
    except Exception as error:  # made-up events may be what no engine expects
        LOG.debug("Compiled kernels could not be sent to the workers.", exc_info=error)


def rehearse_shuffle() -> None:
    """Tell the classes of a few events, pack them as several tasks would, and merge them again."""
    texts = pa.array(["a", "b", "a", "b"])
    for types in (texts, texts.dictionary_encode()):
        numbers = type_numbers(types, ["a"])
    classify(_CLASSES, numbers, ["a"], {"v": pa.array([0.5, None, 1.0, 2.0]), "s": texts})
    encode_keys([pa.array([1, 2, 1, 2])], [], [], 4)
    layout = Layout(pa.schema([("k0", pa.string())]), pa.schema([("time", pa.int64())]))
    packing = Packing(layout=layout, partitions=1)
    merging = Merging(layout, 1, ())
    for times in ([1, 2, 5, 6], [9, 3, 4, 2]):  # in order and not, so that there is much to merge
        events = pa.RecordBatch.from_pydict({"k0": texts, "time": pa.array(times)})
        for blobs in packing([events]):
            merging.add(blobs.column("blob"))
    for _ in merging.batches():
        pass


def _send(session: SparkSession, kernels: dict[str, bytes]) -> None:
    path = str(pack_kernels(kernels, _outbox()))
    try:
        context = session.sparkContext
    except (PySparkException, AttributeError):  # Spark Connect
        session.addArtifacts(path, file=True)
        return
    context.addFile(path)


def _application(session: SparkSession) -> str:
    """Return what tells those apart whose workers do not share files."""
    try:
        return str(session.sparkContext.applicationId)
    except (PySparkException, AttributeError):  # Spark Connect
        return str(getattr(session, "session_id", id(session)))


@lru_cache(maxsize=1)
def _outbox() -> Path:
    """Make the folder that executors fetch files from while this process lives."""
    folder = tempfile.mkdtemp(prefix="elsinore-kernels-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def received(name: str) -> bytes | None:
    """Return a compiled kernel that came with the job; None where none did, or on the driver."""
    if not SparkFiles._is_running_on_worker:
        return None
    return read_packed(Path(SparkFiles.getRootDirectory()), name)


def look_among_received() -> None:
    """Let this process look for compiled kernels among what came with the job."""
    if received not in SHELF.given:
        SHELF.given.append(received)
