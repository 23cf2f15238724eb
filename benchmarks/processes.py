"""Processor time and memory of this process and all it has started, read from /proc (Linux)."""

from __future__ import annotations

import os
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


def cpu_seconds() -> float:
    """Return the processor time of the whole tree, ended children of its processes included."""
    ticks = 0
    for process in tree():
        fields = _fields(process)
        ticks += sum(int(field) for field in fields[11:15]) if fields else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def python_peak_megabytes() -> float:
    """Return the greatest peak memory of any Python worker started by this process."""
    peak = 0
    for process in tree()[1:]:
        status = Path(f"/proc/{process}/status")
        try:
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:
            continue
        if lines["Name"].strip().startswith("python"):
            peak = max(peak, int(lines["VmHWM"].split()[0]))
    return peak / 1024


def _fields(process: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the name: state, parent, ..."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []
