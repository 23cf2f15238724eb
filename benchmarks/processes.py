"""Processor time and memory of this process and all it has started, read from /proc (Linux)."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path


def tree() -> list[int]:
    """Return the processes that this one has started, directly or not, and itself."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = _fields(int(entry.name))
            if fields:
                parents[int(entry.name)] = int(fields[1])
    found = [os.getpid()]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def cpu_seconds(name: str = "") -> float:
    """Return the processor time of the whole tree, ended children of its processes included.

    `name`: of those only that this process has started, that run and whose name begins so, such as
    `java`.
    """
    ticks = 0
    for process in tree()[1:] if name else tree():
        fields = _fields(process)
        if name and not _status(process).get("Name", "").startswith(name):
            continue
        ticks += sum(int(field) for field in fields[11 : 13 if name else 15]) if fields else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def seconds_of(process: int | None) -> float:
    """Return the processor time of one process, 0 if it has ended."""
    fields = _fields(process) if process is not None else []
    return sum(int(field) for field in fields[11:13]) / os.sysconf("SC_CLK_TCK")


def python_workers() -> list[int]:
    """Return the Python processes that this one has started, directly or not."""
    return [one for one in tree()[1:] if _status(one).get("Name", "").startswith("python")]


def python_peak_megabytes() -> float:
    """Return the greatest peak memory of any Python worker started by this process."""
    peaks = [_status(one).get("VmHWM", "0") for one in python_workers()]
    return max((int(peak.split()[0]) for peak in peaks), default=0) / 1024


def forget_python_peaks() -> None:
    """Let the peak memory of Python workers count from now on."""
    for process in python_workers():
        with suppress(OSError):  # it may have ended
            Path(f"/proc/{process}/clear_refs").write_text("5")


def forget_peak() -> float:
    """Let this process's peak memory count from now on; return its memory now, in megabytes.

    What was freed is given back to the system first, so that taking it again counts.
    """
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return int(_status(os.getpid())["VmRSS"].split()[0]) / 1024


def _status(process: int) -> dict[str, str]:
    """Return what /proc/PID/status says; nothing of a process that has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.partition(":") for line in lines)
    return {key: value.strip() for key, _, value in pairs}


def _fields(process: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the name: state, parent, ..."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def peak_memory() -> float:
    """Return the most memory that this process has had, in megabytes.

    Unlike `ru_maxrss`, it does not begin with that of the process that started this one.
    """
    return int(_status(os.getpid()).get("VmHWM", "0").split()[0]) / 1024
