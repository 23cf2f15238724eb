"""The instructions of conditions are the same in Python and in compiled code."""

from __future__ import annotations

import re
from enum import IntEnum
from pathlib import Path

import pytest

from elsinore.operators.conditions import code


@pytest.mark.parametrize("enum", [code.Code, code.Moment])
def test_compiled_constants_are_those_of_python(enum: type[IntEnum]) -> None:
    text = Path(str(code.__file__)).with_suffix(".pxd").read_text()
    _, _, block = text.partition(f"cdef enum {enum.__name__}:\n")
    constants = re.findall(r"^    (\w+) = (\d+)$", block.partition("\n\n")[0], re.MULTILINE)
    assert {name: int(value) for name, value in constants} == {m.name: m.value for m in enum}
