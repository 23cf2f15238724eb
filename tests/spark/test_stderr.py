"""What the JVM and Spark's Python processes print: noise is left out, the rest is passed on."""

from __future__ import annotations

import os

import pytest

from elsinore.spark.stderr import JvmStderr

PRINTED = """WARNING: Using incubator modules: jdk.incubator.vector
Starting Streaming TransformWithStateInPandas Python worker.

Streaming TransformWithStateInPandas Python worker received parameters for UDF. State server

an error

Streaming TransformWithStateInPandas Python worker Completed execution of UDF: <bound method>.

its second line
"""


def test_noise_and_the_empty_lines_after_it_are_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stderr = JvmStderr()
    os.write(writing := stderr.listen(), PRINTED.encode())
    os.close(writing)
    stderr.last_words()
    stderr.let_through()
    assert capsys.readouterr().err == "an error\n\nits second line\n"
