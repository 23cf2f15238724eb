"""A Spark session of our own on this machine: what the command line and the tests run on."""

from __future__ import annotations

import atexit
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from elsinore.errors import SetupError
from elsinore.spark.java import use_java

ROWS_PER_ARROW_BATCH = 50_000  # 10 000, the default, costs Python three times as many wake-ups
LAST_WORDS = 30  # lines of the JVM's kept for the message, should it die
GIBIBYTE = 1 << 30

# What a healthy JVM says at its start and nobody needs to read.
_NOISE = re.compile(
    rb"WARNING: Using incubator modules"
    rb"|WARNING: A (restricted|terminally deprecated) method"
    rb"|WARNING: (java\.lang\.|sun\.misc\.Unsafe|Restricted methods will|Use --enable-native)"
    rb"|WARNING: package \S+ not in "
    rb"|WARNING: Please consider reporting this to the maintainers of"
    rb"|Using Spark's default log4j profile"
    rb"|Setting default log level to|To adjust logging level use"
    rb"|Picked up (_JAVA_OPTIONS|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS)"
)


def local_session(
    master: str = "local[*]",
    *,
    name: str = "elsinore",
    config: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start Spark in this process and return its session; use it in a `with`, or stop it yourself.

    It listens on 127.0.0.1 only, shows no UI, logs errors alone, leaves nothing in the working
    directory, and reckons times in UTC. `config` adds Spark's own settings, which win over ours.
    Where the process already has a session, that one is returned, with `config` applied as far as
    Spark allows.

    Raises SetupError where Java is missing or Spark does not start.
    """
    settings = _settings(master, name) | dict(config or {})
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    words: collections.deque[str] = collections.deque(maxlen=LAST_WORDS)
    java = None
    kept = {name: os.environ.get(name) for name in ("PYSPARK_PYTHON", "SPARK_LOCAL_IP")}
    os.environ["PYSPARK_PYTHON"] = sys.executable  # read when a SparkContext is made
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"  # read by the JVM before any setting is
    try:
        if SparkContext._gateway is None:
            java = use_java()
            SparkContext._ensure_initialized(gateway=_start_jvm(conf, words), conf=conf)
        builder: Any = SparkSession.builder
        session: SparkSession = builder.config(conf=conf).getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        used = f" with {java}" if java else ""
        said = "".join(f"\n  {line}" for line in words)
        said = f"\nThe JVM's last words:{said}" if said else ""
        raise SetupError(f"Spark did not start{used}: {_reason(error)}{said}") from error
    finally:
        for variable, value in kept.items():
            if value is None:
                del os.environ[variable]
            else:
                os.environ[variable] = value
    return session


def _settings(master: str, name: str) -> dict[str, str]:
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
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_log_settings().as_uri()}",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": (_scratch() / "warehouse").as_uri(),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_PER_ARROW_BATCH),
        # A worker that dies in native code says where.
        "spark.python.worker.faulthandler.enabled": "true",
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    }


def _cores(master: str) -> int:
    """Return how many tasks `master` runs at once; this machine's cores where it does not say."""
    match = re.match(r"local(?:\[(\d+|\*))?", master)
    if match and match.group(1) is None:
        return 1
    if match and match.group(1) != "*":
        return int(match.group(1))
    return os.cpu_count() or 1


def _heap() -> int:
    """Return the bytes the JVM may use: a quarter of what there is, between 1 and 8 GiB."""
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        available = min(available, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):
        pass  # no control group, or one that sets no limit
    return max(GIBIBYTE, min(available // 4, 8 * GIBIBYTE))


def _scratch() -> Path:
    """Make a temporary directory that goes when the process ends."""
    directory = tempfile.mkdtemp(prefix="elsinore-spark-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return Path(directory)


def _log_settings() -> Path:
    return Path(__file__).with_name("log4j2.properties")


def _start_jvm(conf: SparkConf, words: collections.deque[str]) -> Any:
    """Start a JVM whose stderr reaches ours less the noise; keep its last lines in `words`.

    Raises PySparkException where the JVM dies; `words` is complete then.
    """
    reading, writing = os.pipe()
    listener = threading.Thread(target=_pass_on, args=(reading, words), daemon=True)
    listener.start()
    try:
        return launch_gateway(conf, popen_kwargs={"stderr": writing})
    except PySparkException:
        os.close(writing)
        writing = -1
        listener.join(timeout=5)  # the JVM is gone, so its end of the pipe closes
        raise
    finally:
        if writing >= 0:
            os.close(writing)


def _pass_on(reading: int, words: collections.deque[str]) -> None:
    with open(reading, "rb") as lines:
        for line in lines:
            if _NOISE.match(line):
                continue
            text = line.decode(errors="replace")
            words.append(text.rstrip())
            try:
                sys.stderr.write(text)
                sys.stderr.flush()
            except (AttributeError, OSError, ValueError):
                continue  # nobody listens any more; the JVM must not block on that


def _reason(error: Exception) -> str:
    """Return the first line of what `error` says, without Java's class names and stack."""
    if isinstance(error, PySparkException) and error.getCondition() == "JAVA_GATEWAY_EXITED":
        return "the JVM ended before it could be used"
    cause = getattr(error, "java_exception", None)
    text = str(cause.getMessage() if cause is not None else error).strip()
    return text.splitlines()[0] if text else type(error).__name__
