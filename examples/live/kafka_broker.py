"""Starts a real Kafka broker: one node, on free loopback ports, for demonstrations and tests.

Its artifacts are resolved by the Ivy that PySpark brings, with Java alone, and kept in the user's
cache folder.

    with running_broker(folder) as ports:
        ...                     # 127.0.0.1:{ports["port"]}
"""

from __future__ import annotations

import base64
import ctypes
import fcntl
import hashlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

from elsinore.cache_folder import folder_path
from elsinore.spark.java import find_java

VERSION = "4.3.1"
PATIENCE = 120  # seconds, on a machine that runs all other tests at once
DOWNLOAD_PATIENCE = 600
USERS = {"admin": "admin-password", "reader": "reader-password"}  # of the listener with passwords

IVY_SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>
"""
IVY_MODULE = f"""<ivy-module version="2.0">
  <info organisation="elsinore" module="broker"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org="org.apache.kafka" name="kafka_2.13" rev="{VERSION}"
                conf="default->master,runtime"/>
  </dependencies>
</ivy-module>
"""
# The broker's artifacts have no binding to a logger; those of Spark do.
LOGGING_JARS = ("slf4j-api-*.jar", "log4j-slf4j2-impl-*.jar", "log4j-api-*.jar", "log4j-core-*.jar")
LOGGING = """<?xml version="1.0"?>
<Configuration status="WARN"><Appenders><Console name="out" target="SYSTEM_OUT">
<PatternLayout pattern="%d %p %c{1} %m%n"/></Console></Appenders>
<Loggers><Root level="WARN"><AppenderRef ref="out"/></Root></Loggers></Configuration>
"""
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{sasl_port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{sasl_port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config={login} {users};
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:admin
log.dirs={folder}/data
num.partitions=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
log.retention.hours=-1
log.cleaner.backoff.ms=100
log.retention.check.interval.ms=500
"""


@contextmanager
def running_broker(folder: Path) -> Iterator[dict[str, int]]:
    """Run a broker in a folder of its own while the block runs; yield its ports.

    port: of the listener without passwords; sasl_port: of the one with those of USERS.
    """
    process, ports = start_broker(folder)
    try:
        yield ports
    finally:
        process.kill()
        process.wait()


def start_broker(folder: Path) -> tuple[subprocess.Popen[bytes], dict[str, int]]:
    """Start a broker in a folder; return it once it answers, and its ports.

    Raises RuntimeError with what the broker wrote last if it does not start.
    """
    home = find_java().home
    prepared = artifacts(home)
    options = []
    archive = _class_archive(home, prepared)
    if archive.stat().st_size:
        options.append(f"-XX:SharedArchiveFile={archive}")
    return _launch(home, prepared, folder, options)


def _launch(
    home: Path, prepared: Path, folder: Path, options: list[str]
) -> tuple[subprocess.Popen[bytes], dict[str, int]]:
    controller, port, sasl_port = free_ports(3)
    shutil.copytree(prepared / "formatted", folder / "data")
    (folder / "log4j2.xml").write_text(LOGGING)
    (folder / "server.properties").write_text(_settings(folder, controller, port, sasl_port))
    with (folder / "log.txt").open("w") as log:
        process = subprocess.Popen(
            [
                *_java(home, prepared),
                *options,
                f"-Dlog4j2.configurationFile={folder}/log4j2.xml",
                "kafka.Kafka",
                str(folder / "server.properties"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the process that stops the broker
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - no other thread runs yet
        )
    end = time.monotonic() + PATIENCE
    while True:
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            raise RuntimeError((folder / "log.txt").read_text()[-3000:])
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", sasl_port), 1).close()
            return process, {"port": port, "sasl_port": sasl_port}
        time.sleep(0.05)


def _java(home: Path, prepared: Path) -> list[str]:
    # Compiled quickly rather than well: tests have few messages.
    options = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    logging = [jar for name in LOGGING_JARS for jar in sorted(_spark_jars().glob(name))]
    jars = [*logging, *sorted(prepared.glob("*.jar"))]
    classes = ":".join(map(str, jars))
    return [str(home / "bin" / "java"), *options, "-cp", classes]


def _spark_jars() -> Path:
    return Path(pyspark.__file__).parent / "jars"


def _settings(folder: Path, controller: int, port: int, sasl_port: int) -> str:
    users = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
    return SETTINGS.format(
        controller=controller,
        port=port,
        sasl_port=sasl_port,
        folder=folder,
        login=LOGIN,
        users=users,
    )


def _die_with_parent() -> None:
    """Have the system kill this process when the supervisor ends, however it ends (on Linux)."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def free_ports(count: int) -> list[int]:
    """Return some ports at which nobody listens."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def artifacts(home: Path) -> Path:
    """Return the folder with the broker's jars and an empty formatted log; make it if need be."""
    base = folder_path() / "kafka"
    base.mkdir(parents=True, exist_ok=True)
    folder = base / f"kafka-{VERSION}"
    with (base / "kafka.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            draft = base / f"kafka-{VERSION}.new"
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            _download(home, draft)
            _format(home, draft)
            draft.rename(folder)
        if not _class_archive(home, folder).exists():
            _archive_classes(home, folder)
    return folder


def _download(home: Path, draft: Path) -> None:
    """Resolve the broker's artifacts and download them."""
    (draft / "settings.xml").write_text(IVY_SETTINGS)
    (draft / "ivy.xml").write_text(IVY_MODULE)
    (ivy,) = _spark_jars().glob("ivy-*.jar")
    command = [str(home / "bin" / "java"), "-jar", str(ivy)]
    command += ["-settings", "settings.xml", "-ivy", "ivy.xml", "-cache", "cache", "-warn"]
    command += ["-confs", "default", "-types", "jar", "bundle"]
    command += ["-retrieve", "[organisation]-[artifact]-[revision].[ext]"]
    _check(command, draft, DOWNLOAD_PATIENCE)
    if not any(draft.glob("org.apache.kafka-kafka_*.jar")):
        raise RuntimeError(f"Ivy has put no broker into {draft}")
    shutil.rmtree(draft / "cache")


def _format(home: Path, draft: Path) -> None:
    """Make the folder of an empty log, which each broker begins with."""
    settings = draft / "server.properties"
    settings.write_text(_settings(draft, 1, 2, 3))
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
    command = ["kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(settings)]
    _check([*_java(home, draft), *command], draft, PATIENCE)
    (draft / "data").rename(draft / "formatted")


def _class_archive(home: Path, prepared: Path) -> Path:
    """Return the archive of loaded classes for a Java: with it a broker starts in a third."""
    modules = home / "lib" / "modules"
    age = modules.stat().st_mtime_ns if modules.exists() else 0
    name = hashlib.sha256(f"{home.resolve()} {age}".encode()).hexdigest()[:16]
    return prepared / f"classes-{name}.jsa"


def _archive_classes(home: Path, prepared: Path) -> None:
    """Start and stop a broker that writes the archive; an empty one where Java cannot."""
    archive = _class_archive(home, prepared)
    with tempfile.TemporaryDirectory(dir=prepared) as name:
        process, _ = _launch(
            home, prepared, Path(name), [f"-XX:ArchiveClassesAtExit={archive}.new"]
        )
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    draft = Path(f"{archive}.new")
    if not draft.exists():
        draft.touch()
    draft.rename(archive)


def _check(command: list[str], folder: Path, patience: float) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=patience,
    )
    if done.returncode:
        raise RuntimeError(f"{command[-1]} failed: {done.stdout[-3000:]}")
