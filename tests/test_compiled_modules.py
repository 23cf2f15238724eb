"""Modules that import `cython` are compiled with the package, and again after a change."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import venv
from pathlib import Path

import pytest

import elsinore
from elsinore.compiled_modules import COMPILING, compiled_sources

ROOT = COMPILING.parent.parent
SITE = Path(pytest.__file__).parent.parent  # what wheels of other packages were installed into
UNOPTIMIZED = os.environ | {"CFLAGS": "-O0"}  # to optimize takes most of the time
FIRST = "import cython\n\n\ndef answer(numbers: cython.int[::1]) -> cython.int:\n    return {}\n"


def run_python(program: str, root: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program that imports `elsinore` from a working copy."""
    return subprocess.run(
        [sys.executable, "-c", program],
        env=UNOPTIMIZED | {"PYTHONPATH": str(root / "src")} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def working_copy(tmp_path: Path) -> Path:
    """Give a working copy of a package with one compiled module, `elsinore.first`."""
    package = tmp_path / "src" / "elsinore"
    package.mkdir(parents=True)
    for name in ("__init__.py", "compiled_modules.py"):
        shutil.copy(Path(elsinore.__file__).parent / name, package)
    (tmp_path / "building").mkdir()
    for path in COMPILING.parent.glob("*.py"):
        shutil.copy(path, tmp_path / "building")
    (package / "first.py").write_text("from __future__ import annotations\n" + FIRST.format(41))
    return tmp_path


def test_every_module_that_imports_cython_is_compiled() -> None:
    mentioning = {
        path
        for path in Path(elsinore.__file__).parent.rglob("*.py")
        if re.search(r"^\s*(import|from) cython\b(?!\.cimports)", path.read_text(), re.MULTILINE)
    }
    assert mentioning == {path for _, path in compiled_sources()}
    imported = run_python(
        "from importlib import import_module\n"
        "from elsinore.compiled_modules import compiled_sources\n"
        "for name, path in compiled_sources():\n"
        "    print(import_module(name).__file__.endswith('.py'))\n",
        ROOT,
    )
    assert set(imported.stdout.split()) == {"False"}


def test_a_changed_module_is_compiled_once_by_processes_that_start_together(
    working_copy: Path,
) -> None:
    program = "import numpy, elsinore.first as f; print(f.answer(numpy.zeros(1, numpy.intc)))"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env=UNOPTIMIZED | {"PYTHONPATH": str(working_copy / "src")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    assert [process.communicate()[0] for process in started] == ["41\n"] * 2
    assert run_python(program, working_copy).stderr == ""
    (binary,) = working_copy.glob("build/compiled-*/elsinore/first.*")
    before = binary.stat().st_mtime_ns

    source = working_copy / "src" / "elsinore" / "first.py"
    source.write_text(source.read_text().replace("return 41", "return numbers[7]"))
    changed = run_python(program, working_copy)
    assert changed.stderr == "Compiling Elsinore's modules ...\n"
    assert binary.stat().st_mtime_ns > before

    checked = run_python(program, working_copy, ELSINORE_BOUNDSCHECK="1")
    assert "IndexError: Out of bounds on buffer access" in checked.stderr
    plain = run_python(program, working_copy, ELSINORE_PURE="1")
    assert "index 7 is out of bounds for axis 0 with size 1" in plain.stderr

    source.write_text(source.read_text().replace("return numbers[7]", "return numbers["))
    wrong = run_python(program, working_copy)
    assert "src/elsinore/first.py:7:0: Expected" in wrong.stderr
    assert "ImportError: " in wrong.stderr


def test_what_modules_share_is_declared_by_the_modules_alone(working_copy: Path) -> None:
    package = working_copy / "src" / "elsinore"
    shutil.copy(Path(elsinore.__file__).parent / "structs.py", package)
    (package / "kinds.py").write_text(
        "from enum import IntEnum\n\nFIRST, LAST = range(2)\nTHIRD, FOURTH = range(3, 5)\n\n\n"
        "class Kind(IntEnum):\n    EVEN = 20\n"
    )
    future = "from __future__ import annotations\n"
    decorated = "@cython.cfunc\n@cython.nogil\n@cython.exceptval(check=False)\n"
    (package / "first.py").write_text(
        f"{future}import cython\nfrom elsinore.structs import struct\n"
        "NODE = struct(f8='count', i4='event')\n\n\n"
        f"{decorated}def root(value: cython.double) -> cython.double:\n    return value + 0.5\n"
    )
    (package / "first.pxd").write_text("cdef class Nodes:\n    cdef public Node[::1] nodes\n")
    with (package / "first.py").open("a") as file:
        file.write(
            "\n\nclass Nodes:\n    def __init__(self, nodes: object) -> None:\n"
            "        self.nodes = nodes\n"
        )
    (package / "second.py").write_text(
        f"{future}from math import sqrt\nimport cython\n"
        "from elsinore.first import NODE, Nodes, root\n"
        "from elsinore.kinds import FOURTH, LAST, Kind\n\n\n"
        "def answer(nodes: Nodes) -> cython.double:\n    with cython.nogil:\n"
        "        value: cython.double = root(nodes.nodes[0].count) + sqrt(4.0) + Kind.EVEN + LAST"
        " + FOURTH\n"
        "    return value\n"
    )
    program = (
        "import sys, elsinore.second as s; from elsinore.first import NODE, Nodes\n"
        "from elsinore.structs import empty\nprint(s.answer(Nodes(empty(NODE, 1))), s.NODE is NODE)"
    )
    assert run_python(program, working_copy).stdout == "27.5 True\n"
    assert run_python(program, working_copy, ELSINORE_PURE="1").stdout == "27.5 True\n"

    source = package / "first.py"
    source.write_text(source.read_text().replace("value: cython.double", "value: cython.float"))
    assert run_python(program, working_copy).stdout == "27.5 True\n"  # both are compiled again


def test_small_tests_pass_where_nothing_is_compiled() -> None:
    tests = ["runtime/test_rows.py", "runtime/test_digits.py", "operators/test_slots.py"]
    small = [str(ROOT / "tests" / name) for name in [*tests, "operators/test_ranks.py"]]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *small],
        cwd=ROOT,
        env=os.environ | {"ELSINORE_PURE": "1", "ELSINORE_EXAMPLES": "20"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    program = "from elsinore.runtime import simultaneous; print(simultaneous.__file__)"
    assert run_python(program, ROOT, ELSINORE_PURE="1").stdout.strip().endswith(".py")


def test_an_error_says_what_to_install(working_copy: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    without = {name: text for name, text in os.environ.items() if name != "CC"}
    without["PATH"] = str(tmp_path / "empty")
    program = textwrap.dedent(f"""
        import runpy, sys
        sys.path.insert(0, {str(working_copy / "building")!r})
        sys.modules["ziglang" if sys.argv[1] == "compiler" else "Cython"] = None
        runpy.run_path({str(working_copy / "building" / "compiling.py")!r}, run_name="__main__")
    """)

    def message(missing: str, environment: dict[str, str]) -> str:
        command = [sys.executable, "-c", program, missing]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        return done.stderr

    assert "there is no C compiler" in message("compiler", without)
    assert "pip install ziglang" in message("compiler", without)
    assert "pip install 'cython>=3.2'" in message("Cython", without | {"CC": "cc"})


PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


def test_a_wheel_of_a_source_distribution_runs_a_query_elsewhere(tmp_path: Path) -> None:
    hatchling = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(hatchling, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    # What this working copy has compiled is reused: compiling everything takes a minute.
    tag = sysconfig.get_config_var("SOABI")
    shutil.copytree(ROOT / "build" / f"scratch-compiled-{tag}", tmp_path / "scratch")
    wheels, source = tmp_path / "wheels", str(next(tmp_path.glob("*.tar.gz")))
    built = [*PIP, "wheel", "--no-deps", "--no-build-isolation", f"--wheel-dir={wheels}", source]
    environment = os.environ | {"ELSINORE_SCRATCH": str(tmp_path / "scratch")}
    subprocess.run(built, env=environment, check=True)
    (wheel,) = wheels.glob("elsinore-*.whl")
    assert not wheel.name.endswith("none-any.whl")

    venv.create(tmp_path / "other", with_pip=False)
    python = tmp_path / "other" / "bin" / "python"
    installed = [*PIP, f"--python={python}", "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(installed, check=True)
    # The other packages are those of this environment, except Cython.
    check = (ROOT / "building" / "check_wheel.py").read_text()
    run = f"import sys; sys.modules['cython'] = None; sys.path.append({str(SITE)!r})\n{check}"
    done = subprocess.run(
        [python, "-I", "-c", run], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.strip().endswith(
        str(python.parent.parent / "lib" / SITE.parent.name / "site-packages" / "elsinore")
    )


def test_a_build_without_a_compiler_fetches_one(working_copy: Path, tmp_path: Path) -> None:
    # Of two modules: a class with fields, and functions that modules share. This working copy is
    # compiled by the same code, with the C compiler of the machine if there is one.
    package = working_copy / "src" / "elsinore"
    for name in ("numeric/pairs.py", "trends/engine/constants.py", "trends/engine/numbers.py"):
        for path in (ROOT / "src" / "elsinore").glob(name.replace(".py", ".p*")):
            target = package / path.relative_to(ROOT / "src" / "elsinore")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    project = (ROOT / "pyproject.toml").read_text()
    kept = re.findall(
        r"^\[(?:build-system|tool\.hatch[^\n]*)\]\n(?:[^\n]+\n)+", project, re.MULTILINE
    )
    named = '[project]\nname = "elsinore"\ndynamic = ["version"]\n'
    (working_copy / "pyproject.toml").write_text("\n".join([named, *kept]))
    (tmp_path / "empty").mkdir()
    # To optimize takes most of the time.
    environment = os.environ | {"PATH": str(tmp_path / "empty"), "CFLAGS": "-O0"}
    environment.pop("CC", None)
    built = [*PIP, "wheel", "--no-deps", f"--wheel-dir={tmp_path}", str(working_copy)]
    subprocess.run(built, env=environment, check=True)
    (wheel,) = tmp_path.glob("elsinore-*.whl")
    site = tmp_path / "elsewhere" / "site"
    shutil.unpack_archive(wheel, site, "zip")
    program = (
        f"import sys; sys.modules['cython'] = None; sys.path.insert(0, {str(site)!r})\n"
        "import numpy as np, elsinore.first as first\n"
        "from elsinore.numeric.pairs import PairNumbers\n"
        "none = np.zeros(0, np.int64)\n"
        "print(first.answer(np.zeros(1, np.intc)), PairNumbers(none, none, 4).count)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.stdout, done.stderr) == ("41 0\n", "")
