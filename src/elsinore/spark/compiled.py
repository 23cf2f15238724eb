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
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path

import pyarrow as pa
from pyspark import SparkFiles
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from elsinore.kernels import SHELF
from elsinore.kernels.decorator import is_off
from elsinore.kernels.needed import canonical, needed_kernels, pack_kernels, read_packed
from elsinore.operators import OperatorOptions
from elsinore.operators.registry import kind_for
from elsinore.operators.rehearsal import rehearse
from elsinore.plan import Unit

LOG = logging.getLogger("elsinore.spark")

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
    if is_off():
        return
    try:
        sent = _SENT.setdefault(_application(session), set())
        for unit in units:
            if not kind_for(unit).rehearsals():  # no kernel is needed
                continue
            known = {name: str(types[name]) for name in (*unit.carried, *unit.group_by)}
            run = partial(rehearse, unit, options, types)
            needed = needed_kernels([canonical((unit, options, known))], run)
            new = {name: code for name, code in needed.items() if name not in sent}
            if new:
                _send(session, new)
                sent |= new.keys()
    except Exception as error:  # made-up events may be what no engine expects
        LOG.debug("Compiled kernels could not be sent to the workers.", exc_info=error)


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


def use_received_kernels() -> None:
    """Let this process look for compiled kernels among what came with the job."""
    if received not in SHELF.given:
        SHELF.given.append(received)
