"""RESULTS.md: a section for each benchmark and figure, each from one run, in a fixed order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from benchmarks.measure import Row, machine

RESULTS = Path(__file__).parent / "RESULTS.md"
HEAD = """# Results

Written by `make results`, which measures all sections; `make results SECTIONS="matches sase-fig5"`
measures some. Each section is of one run, on the date and the machine that it names.
"""


def sections_in(text: str) -> dict[str, str]:
    r"""Return the sections of results by title.

    >>> sections_in("# Results\n\n## A\n\n1\n\n## B\n\n2\n")
    {'A': '## A\n\n1\n', 'B': '## B\n\n2\n'}
    """
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0]: f"## {part.rstrip()}\n" for part in parts}


def with_section(text: str, section: str, titles: Sequence[str]) -> str:
    r"""Return results with a new section; those whose title is not among `titles` are left out.

    >>> old = "# Results\n\n## A\n\n1\n\n## B\n\n2\n\n## C\n\n3\n"
    >>> list(sections_in(with_section(old, "## B\n\n4\n", ["C", "B"])))
    ['C', 'B']
    """
    sections = sections_in(text) | sections_in(section)
    kept = [sections[title] for title in titles if title in sections]
    return "\n".join([HEAD, *kept])


def write(section: str, titles: Sequence[str]) -> None:
    """Put a section into RESULTS.md."""
    RESULTS.write_text(with_section(RESULTS.read_text(), section, titles))


def title_of(name: str) -> str:
    """Return the title of a benchmark's section.

    >>> title_of("spark_memory")
    'Spark memory'
    """
    return name.replace("_", " ").capitalize()


def measured_on(section: str) -> str:
    r"""Return the line of a section that says when and on what machine it was measured.

    >>> measured_on("## A\n\nMeasured on 2026-11-28: a machine.\n")
    'Measured on 2026-11-28: a machine.'
    """
    return next((line for line in section.splitlines() if line.startswith("Measured on ")), "")


def is_from_today(section: str) -> bool:
    """Return whether a section was measured today."""
    return measured_on(section).startswith(f"Measured on {_today()}:")


def section_of(title: str, about: str, command: str, body: Iterable[str]) -> str:
    """Return a section in Markdown, with the date and the machine of this run."""
    lines = [f"## {title}", "", about.strip(), "", f"    {command}", ""]
    lines += [f"Measured on {_today()}: {machine()}.", "", *body]
    return "\n".join([*lines, ""])


def table_of(rows: Sequence[Row]) -> list[str]:
    """Return the rows of a benchmark as a table in Markdown."""
    return ["| what | measured | target | met |", "|---|---|---|---|"] + [
        f"| {row.what} | {row.figure} | {row.target} | {'yes' if row.met else 'no'} |"
        for row in rows
    ]


def _today() -> str:
    return f"{datetime.now().astimezone():%Y-%m-%d}"
