"""The JVM's stderr: passed on without irrelevant lines, or quoted if the JVM dies."""

from __future__ import annotations

import collections
import os
import re
import sys
import threading

LAST_WORDS = 20  # lines that are quoted if the JVM dies
TIMEOUT_SECONDS = 5  # seconds that a dead JVM's children may hold its stderr open

# Lines of a healthy JVM and of Spark's Python processes that are noise.
_NOISE = re.compile(
    r"WARNING: Using incubator modules"
    r"|WARNING: A (restricted|terminally deprecated) method"
    r"|WARNING: (java\.lang\.|sun\.misc\.Unsafe|Restricted methods will|Use --enable-native)"
    r"|WARNING: (Please consider reporting this to the maintainers of|package sun\.)"
    r"|Picked up (_JAVA_OPTIONS|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS)"
    r"|(Starting )?Streaming TransformWithStateInPandas Python worker"
)
_STACK = re.compile(r"\s+(at \S+\(|\.\.\. \d+ more)")


class JvmStderr:
    """A JVM's stderr: lines are buffered until the JVM has started, then passed on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._buffered: list[str] | None = []
        self._last: collections.deque[str] = collections.deque(maxlen=LAST_WORDS)
        self._thread: threading.Thread | None = None

    def listen(self) -> int:
        """Start reading; return the file descriptor for the JVM, which the caller closes."""
        reading, writing = os.pipe()
        self._thread = threading.Thread(target=self._read, args=(reading,), daemon=True)
        self._thread.start()
        return writing

    def let_through(self) -> None:
        """Pass on the buffered lines, and from now on every line at once."""
        with self._lock:
            lines, self._buffered = self._buffered or [], None
            for line in lines:
                _write(line)

    def last_words(self) -> list[str]:
        """Return the last lines of a JVM that has ended, without the stack traces."""
        if self._thread is not None:
            self._thread.join(TIMEOUT_SECONDS)
        return list(self._last)

    def _read(self, reading: int) -> None:
        """Read lines until the JVM ends: buffer them, or pass them on without noise."""
        with open(reading, encoding="utf-8", errors="replace") as lines:
            after_noise = False
            for line in lines:
                # Noise of Spark's Python processes is followed by an empty line.
                is_noise = _NOISE.match(line) is not None
                if is_noise or (after_noise and not line.strip()):
                    after_noise = is_noise
                    continue
                after_noise = False
                with self._lock:
                    if self._buffered is None:
                        _write(line)
                        continue
                    self._buffered.append(line)
                    if line.strip() and not _STACK.match(line):
                        self._last.append(line.rstrip())


def _write(line: str) -> None:
    try:
        sys.stderr.write(line)
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return  # stderr is closed; the JVM must not block
