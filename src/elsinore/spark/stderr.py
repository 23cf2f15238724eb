"""What the JVM writes to its stderr: passed on to ours less the noise, or quoted when it dies."""

from __future__ import annotations

import collections
import os
import re
import sys
import threading

LAST_WORDS = 20  # lines kept for the message, should the JVM die
PATIENCE = 5  # seconds that a dead JVM's children may hold its stderr open

# What a healthy JVM and Spark's own Python processes print, and nobody needs to read.
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
    """A JVM's stderr. Lines are held back until the JVM has proved well, then passed on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: list[str] | None = []
        self._last: collections.deque[str] = collections.deque(maxlen=LAST_WORDS)
        self._thread: threading.Thread | None = None

    def listen(self) -> int:
        """Start to listen; return the file descriptor to write to. The caller closes it."""
        reading, writing = os.pipe()
        self._thread = threading.Thread(target=self._read, args=(reading,), daemon=True)
        self._thread.start()
        return writing

    def let_through(self) -> None:
        """Pass on what was held back, and from now on every line as it comes."""
        with self._lock:
            lines, self._held = self._held or [], None
            for line in lines:
                _write(line)

    def last_words(self) -> list[str]:
        """Return the last lines of a JVM that has ended, without the stack traces."""
        if self._thread is not None:
            self._thread.join(PATIENCE)
        return list(self._last)

    def _read(self, reading: int) -> None:
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
                    if self._held is None:
                        _write(line)
                        continue
                    self._held.append(line)
                    if line.strip() and not _STACK.match(line):
                        self._last.append(line.rstrip())


def _write(line: str) -> None:
    try:
        sys.stderr.write(line)
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return  # nobody listens any more; the JVM must not block on that
