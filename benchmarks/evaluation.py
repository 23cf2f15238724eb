"""The tables of docs/evaluation.md, filled in from the files of measured figures.

The page has a placeholder for each figure, between two comments with its name. Its table compares
the paper's values with those of the figure's file (`benchmarks/figures/NAME.csv`). `python -m
benchmarks evaluation` and `make results` fill in all placeholders.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path

from benchmarks import results
from benchmarks.claims import CLAIMS
from elsinore.cli.bench import FIGURES as NAMES

PAGE = Path(__file__).parents[1] / "docs" / "evaluation.md"
FIGURES = Path(__file__).parent / "figures"
FILES = "[The table](figures/{0}.csv), and [the picture](figures/{0}.png)."


def filled(page: str, sections: Mapping[str, str]) -> str:
    """Return the page with a table in the place of each figure; `sections` are those of RESULTS.md.

    Raises ValueError for a place that is of no figure.
    """

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        if name not in NAMES:
            raise ValueError(f"docs/evaluation.md has a place for {name}, which is no figure")
        return f"<!-- measured: {name} -->\n{_block(name, sections)}<!-- end -->"

    return re.sub(r"<!-- measured: (\S+) -->\n.*?<!-- end -->", fill, page, flags=re.DOTALL)


def _block(name: str, sections: Mapping[str, str]) -> str:
    file = FIGURES / f"{name}.csv"
    if not file.exists():
        return f"\nNot measured yet: `make results SECTIONS={name}`.\n\n"
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    section = sections.get(NAMES[name], "")
    command = f"elsinore bench {name}"
    quick = " --quick" if f"{command} --quick" in section else ""
    table = [claim.line(rows) for claim in CLAIMS.get(name, ())]
    if table:
        table = ["| what | the paper | here | |", "|---|---|---|---|", *table, ""]
    picture = f"![{NAMES[name]}](../benchmarks/figures/{name}.png)"
    date = results.measured_on(section) or "Measured on an unknown date."
    return "\n".join(["", *table, picture, "", f"`{command}{quick}`. {date}", "", ""])


def write() -> None:
    """Fill the page in."""
    sections = results.sections_in(results.RESULTS.read_text())
    PAGE.write_text(filled(PAGE.read_text(), sections))
