"""Handling Ctrl-C and SIGTERM: print one line, exit with status 130 or 143, and clean up.

The signal raises `Interrupted`, which no library catches. Context managers close open resources,
except Spark: after an interrupted call to its JVM no other call is possible, so its processes are
terminated. A second signal terminates them immediately.

This module imports little, because signals are only handled from the call of `guarded` on.
"""

from __future__ import annotations

import os
import signal
import sys
import time

TYPE_CHECKING = False  # like `typing`'s, which takes long to load
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType

SIGNALS = {signal.SIGINT: "Interrupted.", signal.SIGTERM: "Terminated."}
SHELL_STATUS = 128  # added to a signal's number for the exit status in a shell
PAUSE = 0.05  # seconds after which an interruption that was ignored is raised again
TIMEOUT_SECONDS = 5.0  # seconds to wait for a process after SIGTERM
_PROC = "/proc"


class Interrupted(BaseException):
    """Ctrl-C was pressed, or the process was asked to end."""


class _Progress:
    """The progress of the interruption of this process."""

    was_interrupted = False
    is_reported = False
    signal = signal.SIGINT
    default_hook: Callable[[sys.UnraisableHookArgs], object] = staticmethod(sys.__unraisablehook__)


def install() -> None:
    """Install signal handlers that raise `Interrupted`; repeat after a library replaced them.

    Does nothing outside of the main thread, where signals cannot be handled, and for a signal that
    is ignored, such as Ctrl-C in a shell's background jobs.
    """
    for number in SIGNALS:
        if signal.getsignal(number) is signal.SIG_IGN:
            continue
        try:
            signal.signal(number, _on_first_signal)
        except ValueError:  # not the main thread
            return
    if sys.unraisablehook is not _raise_again:
        _Progress.default_hook = sys.unraisablehook
        sys.unraisablehook = _raise_again


def _raise_again(ignored: sys.UnraisableHookArgs) -> None:
    """Deliver the signal again if its exception was ignored, as in a callback from C."""
    if not isinstance(ignored.exc_value, Interrupted):
        _Progress.default_hook(ignored)
        return
    import threading  # noqa: PLC0415 - where needed

    install()
    again = threading.Timer(PAUSE, os.kill, (os.getpid(), _Progress.signal))
    again.daemon = True
    again.start()


def was_interrupted() -> bool:
    """Return whether Ctrl-C was pressed, or the process was asked to end."""
    return _Progress.was_interrupted


def guarded(command: Callable[[], None]) -> None:
    """Run a command; if interrupted, print it, end its processes, exit as shells expect."""
    install()
    try:
        command()
    except (Interrupted, KeyboardInterrupt):
        _Progress.was_interrupted = True
        _install_second_handler()
        _print_message()
        end_children()
        raise SystemExit(_status()) from None


def end_children() -> None:
    """Terminate all descendants of this process: by SIGTERM, and later by SIGKILL."""
    descendants = _descendants(os.getpid(), _running())
    for ending in (signal.SIGTERM, signal.SIGKILL):
        for child in descendants:
            try:
                os.kill(child, ending)
            except (ProcessLookupError, PermissionError):
                continue
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while descendants and time.monotonic() < deadline:
            time.sleep(0.05)
            descendants &= _running().keys()


def _on_first_signal(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001 - what a handler takes
    _Progress.was_interrupted = True
    _Progress.signal = signal.Signals(signum)
    _install_second_handler()
    raise Interrupted


def _install_second_handler() -> None:
    for number in SIGNALS:
        signal.signal(number, _on_second_signal)


def _on_second_signal(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    _print_message()
    end_children()
    os._exit(_status())


def _status() -> int:
    return SHELL_STATUS + _Progress.signal


def _print_message() -> None:
    if _Progress.is_reported:
        return
    _Progress.is_reported = True
    try:
        sys.stderr.write(f"{SIGNALS[_Progress.signal]}\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # the standard error is closed
        return
    # PySpark's threads would print tracebacks when the JVM ends
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the end


def _descendants(root: int, parents: Mapping[int, int]) -> set[int]:
    """Return the descendants of process `root`."""
    descendants = {root}
    while (
        children := {child for child, parent in parents.items() if parent in descendants}
        - descendants
    ):
        descendants |= children
    return descendants - {root}


def _running() -> dict[int, int]:
    """Return the parent of each running process of the machine."""
    lines = _from_proc() if os.path.exists(f"{_PROC}/self/stat") else _from_ps()
    return {int(child): int(parent) for child, parent, state in lines if "Z" not in state}


def _from_proc() -> Iterator[list[str]]:
    """Yield process, parent and state from Linux's /proc."""
    for name in os.listdir(_PROC):
        if name.isdigit():
            try:
                with open(f"{_PROC}/{name}/stat", encoding="utf-8", errors="replace") as stat:
                    state, parent = stat.read().rpartition(")")[2].split()[:2]
            except OSError:  # the process has ended meanwhile
                continue
            yield [name, parent, state]


def _from_ps() -> Iterator[list[str]]:
    """Yield process, parent and state from `ps`."""
    import subprocess  # noqa: PLC0415 - takes long to load

    command = ["ps", "-A", "-o", "pid=,ppid=,stat="]
    listing = subprocess.run(command, capture_output=True, text=True, check=False)
    yield from (line.split() for line in listing.stdout.splitlines())
