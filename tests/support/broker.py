"""A real Kafka broker for tests: one node, on free loopback ports, shared by all test processes.

`python broker.py FOLDER` is a supervisor. It starts the broker and listens on a loopback port; each
test process keeps a connection to it. When the last connection is closed, also because its process
was killed, the supervisor stops the broker and ends. `examples/live/kafka_broker.py` starts it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "live"))
from kafka_broker import DOWNLOAD_PATIENCE, PATIENCE, USERS, free_ports, start_broker

__all__ = ["USERS", "Broker", "broker", "free_ports"]

START_SECONDS = 60  # until the supervisor listens


@dataclass(frozen=True, slots=True)
class Broker:
    """A running broker: the listener without passwords, and the one with (`USERS`)."""

    port: int
    sasl_port: int

    @property
    def server(self) -> str:
        return f"127.0.0.1:{self.port}"

    def address(self, topic: str) -> str:
        return f"kafka:{topic}@{self.server}"


@contextmanager
def broker(shared: Path) -> Iterator[Broker]:
    """Yield the broker that all processes with this folder share; start it if it does not run."""
    with (shared / "broker.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        connection = _connect(shared) or _start(shared)
    with connection:
        answer = json.loads(connection.makefile().readline() or '{"error": "the supervisor died"}')
        if "error" in answer:
            raise RuntimeError(f"no Kafka broker: {answer['error']}")
        yield Broker(**answer)


def _connect(shared: Path) -> socket.socket | None:
    with suppress(OSError, ValueError):
        port = int((shared / "broker.port").read_text())
        return socket.create_connection(("127.0.0.1", port), PATIENCE)
    return None


def _start(shared: Path) -> socket.socket:
    with suppress(FileNotFoundError):
        (shared / "broker.port").unlink()
    # The shell exits at once, so the supervisor is not a child of the process that starts it.
    script = '"$0" "$1" "$2" >"$2/supervisor.log" 2>&1 </dev/null &'
    subprocess.run(
        ["sh", "-c", script, sys.executable, __file__, str(shared)],
        check=True,
        start_new_session=True,
    )
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if connection := _connect(shared):
            connection.settimeout(PATIENCE + DOWNLOAD_PATIENCE)
            return connection
        time.sleep(0.02)
    raise RuntimeError(f"no Kafka broker: {(shared / 'supervisor.log').read_text()[-2000:]}")


def supervise(shared: Path) -> None:
    """Run the broker until nobody is connected."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        draft = shared / "broker.port.new"
        draft.write_text(str(server.getsockname()[1]))
        draft.rename(shared / "broker.port")
        users = [server.accept()[0]]
        folder = shared / f"broker-{os.getpid()}"
        folder.mkdir()
        process = None
        try:
            try:
                process, answer = start_broker(folder)
            except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                answer = {"error": str(error)}
            line = json.dumps(answer).encode() + b"\n"
            users[0].sendall(line)
            if process is not None:
                _serve(server, users, line)
        finally:
            if process is not None:
                process.kill()
                process.wait()
            shutil.rmtree(folder, ignore_errors=True)


def _serve(server: socket.socket, users: list[socket.socket], line: bytes) -> None:
    """Send each client the broker's port; return when all connections are closed."""
    import select

    while users:
        readable, _, _ = select.select([server, *users], [], [])
        for one in readable:
            if one is server:
                user = server.accept()[0]
                with suppress(OSError):
                    user.sendall(line)
                users.append(user)
            else:  # clients send nothing: the connection was closed
                users.remove(one)
                one.close()


if __name__ == "__main__":
    supervise(Path(sys.argv[1]))
