"""What is used of Numba beyond its documentation stands in one module; kernels do without."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import elsinore
from elsinore.kernels import COMPILE_VARIABLE, FOLDER_VARIABLE, compiled, means
from elsinore.kernels.decorator import DOCUMENTED

ROOT = Path(elsinore.__file__).parent
HOME = ROOT / "kernels" / "undocumented.py"
NAMES = {  # of modules, those that Numba's and llvmlite's documentation shows
    "llvmlite": {"", "__version__", "binding", "ir"},
    "numba": {"", "__version__", "carray", "cfunc", "config", "jit", "njit", "typeof", "types"},
    "numba.core": {"cgutils", "ir"},
    "numba.core.cgutils": {"alloca_once"},
    "numba.core.compiler": {"CompilerBase", "DefaultPassBuilder"},
    "numba.core.compiler_machinery": {"AnalysisPass", "FunctionPass", "register_pass"},
    "numba.core.errors": {"NumbaError", "TypingError"},
    "numba.core.typed_passes": {"NopythonTypeInference"},
    "numba.core.untyped_passes": {"IRProcessing"},
    "numba.extending": {
        *("intrinsic", "is_jitted", "lower_builtin", "models", "overload", "register_model"),
        *("type_callable", "typeof_impl"),
    },
}
INNER = {  # of Numba's objects
    "enable_ssa",
    "library",
    "_cache",
    "_compiler",
}
EXAMPLE = """
import json
import numpy as np
from elsinore.kernels import compiled, means

def grow(numbers):
    for row in range(len(numbers)):
        numbers[row] = numbers[row] + 1.0

numbers = np.array([1.0, 4.0])
compiled(grow)(numbers)
assert means.shortcuts() is None
print(json.dumps(numbers.tolist()))
"""


def imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the names that are taken from Numba and llvmlite, with their modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", name.name) for name in node.names)
        elif isinstance(node, ast.Import):
            yield from ((name.name, "") for name in node.names)


def test_only_documented_names_of_numba_are_used_elsewhere() -> None:
    found = {}
    for path in ROOT.rglob("*.py"):
        text = path.read_text()
        if path == HOME or ("numba" not in text and "llvmlite" not in text):
            continue
        tree = ast.parse(text)
        used = [
            (of, name) for of, name in imports(tree) if of.split(".")[0] in ("numba", "llvmlite")
        ]
        wrong = {f"{of}.{name}" for of, name in used if name not in NAMES.get(of, {""})}
        if used:
            wrong |= {
                each.attr for each in ast.walk(tree) if isinstance(each, ast.Attribute)
            } & INNER
        if wrong:
            found[path.relative_to(ROOT)] = wrong
    assert found == {}


def test_a_query_compiles_by_documented_means_alone(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        COMPILE_VARIABLE: DOCUMENTED,
        FOLDER_VARIABLE: str(tmp_path / "kernels"),
    }
    done = subprocess.run(
        [sys.executable, "-c", EXAMPLE],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [2.0, 5.0]
    assert not list(tmp_path.rglob("*.kernel"))


@pytest.fixture
def anew() -> Iterator[None]:
    means.shortcuts.cache_clear()
    yield
    means.shortcuts.cache_clear()


def compiled_total() -> int:
    def first(numbers: np.ndarray) -> int:
        return numbers[0]

    linked = compiled(first, borrows=True)

    def total(numbers: np.ndarray) -> int:
        return linked(numbers) + linked(numbers[1:])

    return compiled(total, borrows=True)(np.array([5, 7]))


def test_a_release_that_was_not_tested_is_taken_by_its_documented_means(
    anew: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("numba.__version__", "0.99.1")
    assert means.shortcuts() is None
    assert compiled_total() == 12
    assert "Numba 0.99.1 was not tested" in caplog.text


def test_so_is_one_without_a_name_that_is_used(
    anew: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "elsinore.kernels.undocumented", None)
    monkeypatch.delattr("elsinore.kernels.undocumented", raising=False)
    assert means.shortcuts() is None
    assert compiled_total() == 12
    assert "does not have what kernels are compiled with" in caplog.text
