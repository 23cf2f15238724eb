"""Starting a Spark session on this machine, for the command line and the tests."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from elsinore.errors import SetupError
from elsinore.spark.java import use_java
from elsinore.spark.stderr import JvmStderr

NO_LIMIT = (1 << 31) - 1  # unlimited for Spark
ROWS_PER_ARROW_BATCH = (
    50_000  # with 10 000, the default, there are three times as many wake-ups of Python
)
GIBIBYTE = 1 << 30
# Most code that the JVM runs here is generated for each query, and optimizing its bytecode takes up
# to a third of a small job's processor time. So the JIT compiler starts ten times later than usual,
# which is soon enough for jobs with millions of rows.
LATE_OPTIMIZER = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)
LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")


def local_session(
    master: str = "local[*]",
    *,
    name: str = "elsinore",
    config: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start Spark in this process and return its session; use it in a `with`, or stop it yourself.

    It listens on 127.0.0.1 only, has no UI, logs only errors, writes no files to the working
    directory, and uses UTC. `config` overrides Elsinore's settings of Spark (Java options are
    combined). If the process already has a session, that one is returned, with the settings applied
    as far as Spark allows.

    Raises SetupError if Java is missing or Spark does not start.
    """
    conf = _conf(master, name, config or {})
    java = None
    stderr = JvmStderr()
    try:
        with _environment():
            if SparkContext._gateway is None:
                java = use_java()
                SparkContext._ensure_initialized(gateway=_start_jvm(conf, stderr))
            builder: Any = SparkSession.builder
            session: SparkSession = builder.config(conf=conf).getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        java_text = f" with {java}" if java else ""
        stderr_lines = "".join(f"\n  {line}" for line in stderr.last_words())
        stderr_lines = f"\nThe JVM's last words:{stderr_lines}" if stderr_lines else ""
        raise SetupError(
            f"Spark did not start{java_text}: {_reason(error)}{stderr_lines}"
        ) from error
    stderr.let_through()
    return session


@contextmanager
def _environment() -> Iterator[None]:
    """Set the environment variables that Spark reads while it starts; restore them afterwards."""
    variables = {
        "PYSPARK_PYTHON": sys.executable,  # the workers' Python must be ours
        "SPARK_LOCAL_IP": "127.0.0.1",  # read, with a warning, before any setting
        "SPARK_REMOTE": None,  # would create a session on another machine
    }
    previous = {variable: os.environ.get(variable) for variable in variables}
    _set_variables(variables)
    try:
        yield
    finally:
        _set_variables(previous)


def _set_variables(values: Mapping[str, str | None]) -> None:
    for variable, value in values.items():
        if value is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = value


def _conf(master: str, name: str, config: Mapping[str, str]) -> SparkConf:
    settings = _settings(master, name)
    options = "spark.driver.extraJavaOptions"
    merged = settings | dict(config)
    if options in config:
        merged[options] = f"{settings[options]} {config[options]}"
    return SparkConf(loadDefaults=False).setAll(list(merged.items()))


def _settings(master: str, name: str) -> dict[str, str]:
    """Return the default settings of a local session."""
    cores = _cores(master)
    return {
        "spark.master": master,
        "spark.app.name": name,
        "spark.api.mode": "classic",
        "spark.driver.memory": f"{_heap() >> 20}m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": (
            f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()} {LATE_OPTIMIZER}"
        ),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": (_scratch() / "warehouse").as_uri(),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_PER_ARROW_BATCH),
        # With any other limit, Spark adds up the sizes of a batch's columns for each row.
        "spark.sql.execution.arrow.maxBytesPerBatch": str(NO_LIMIT),
        # A worker that crashes in native code prints its stack.
        "spark.python.worker.faulthandler.enabled": "true",
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    }


def _cores(master: str) -> int:
    """Return the number of tasks that `master` runs at once; by default this machine's cores."""
    match = re.match(r"local(?:\[(\d+|\*))?", master)
    if match and match.group(1) is None:
        return 1
    if match and match.group(1) != "*":
        return int(match.group(1))
    return os.cpu_count() or 1


def _heap() -> int:
    """Return the JVM's heap size: a quarter of the memory, between 1 and 8 GiB."""
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no control group, or one without a limit
        available = min(available, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return max(GIBIBYTE, min(available // 4, 8 * GIBIBYTE))


def _scratch() -> Path:
    """Create a temporary directory that is deleted when the process ends."""
    directory = tempfile.mkdtemp(prefix="elsinore-spark-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return Path(directory)


def _start_jvm(conf: SparkConf, stderr: JvmStderr) -> Any:
    """Start a JVM that writes to `stderr`; return Py4J's gateway to it.

    Raises PySparkException if the JVM dies; `stderr` then has its output.
    """
    launch: Any = launch_gateway
    writing = stderr.listen()
    try:
        return launch(conf, popen_kwargs={"stderr": writing})
    finally:
        os.close(writing)


def _reason(error: Exception) -> str:
    """Return the first line of an error's message, without Java's class names and stack."""
    if isinstance(error, PySparkException) and error.getCondition() == "JAVA_GATEWAY_EXITED":
        return "the JVM ended before it could be used"
    cause = getattr(error, "java_exception", None)
    text = str(cause.getMessage() if cause is not None else error).strip()
    return text.splitlines()[0] if text else type(error).__name__
