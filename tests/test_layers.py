import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CHECK = (
    "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
)


def check(directory: Path) -> subprocess.CompletedProcess[str]:
    """Run the contracts of pyproject.toml on the sources in `directory`."""
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, 'src'); {CHECK}"],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )


def test_imports_go_down_the_layers():
    done = check(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("model/kinds.py", "import elsinore.plan"),
        ("language/__init__.py", "from elsinore import automata"),
        ("errors.py", "from elsinore import Workload"),
        ("plan/__init__.py", "def late():\n    import pyspark"),
        ("novelty.py", "pass"),
    ],
)
def test_a_breach_is_noticed(tmp_path, module, line):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=ignored)
    with (tmp_path / "src" / "elsinore" / module).open("a") as file:
        file.write(f"\n{line}\n")
    done = check(tmp_path)
    assert done.returncode == 1
    assert "BROKEN" in done.stdout
