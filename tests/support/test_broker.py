import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

USER = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from support.broker import broker
with broker(Path(sys.argv[2])) as running:
    print(running.port, flush=True)
    time.sleep(600)
"""


def test_a_broker_ends_with_the_last_process_that_uses_it_however_that_ends(tmp_path):
    pytest.importorskip("confluent_kafka")
    command = [sys.executable, "-c", USER, str(Path(__file__).parents[1]), str(tmp_path)]
    users = []
    try:
        for _ in range(2):
            user = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            users.append(user)
        ports = {user.stdout.readline() for user in users}
        assert len(ports) == 1
        (folder,) = tmp_path.glob("broker-*/")
        supervisor = int(folder.name.removeprefix("broker-"))
        users[0].kill()
        users[0].wait()
        assert folder.is_dir()
        os.kill(supervisor, 0)
    finally:
        for user in users:
            user.send_signal(signal.SIGKILL)
            user.wait()
            user.stdout.close()
    while folder.exists():  # it is removed when the broker has ended
        time.sleep(0.05)
