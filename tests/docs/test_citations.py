"""What a docstring cites can be opened by whoever reads it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CITED = re.compile(r"\bdocs/[\w/]+\.md\b")


def test_pages_that_the_sources_cite_are_in_the_repository() -> None:
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    cited = {page for file in sources for page in CITED.findall(file.read_text(encoding="utf-8"))}
    assert "docs/ARCHITECTURE.md" in cited
    assert {page for page in cited if not (ROOT / page).is_file()} == set()
