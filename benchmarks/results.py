"""RESULTS.md: a section for each benchmark, which its runs replace and no others do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from benchmarks.measure import Row, machine

RESULTS = Path(__file__).parent / "RESULTS.md"


def write(section: str) -> None:
    """Put a section into RESULTS.md, in the place of the one of its name or at the end."""
    RESULTS.write_text(with_section(RESULTS.read_text(), section))


def section_in(text: str, title: str) -> str:
    r"""Return the section of results with a title; nothing where there is none.

    >>> section_in("# Results\n\n## A\n\n1\n\n## B\n\n2\n", "A")
    '## A\n\n1\n'
    """
    _, heading, rest = text.partition(f"\n## {title}\n")
    return heading.lstrip() + rest.partition("\n## ")[0]


def with_section(text: str, section: str) -> str:
    r"""Return results in which a section is new; one that was not there comes last.

    >>> with_section("# Results\n\n## A\n\n1\n\n## B\n\n2\n", "## A\n\n3")
    '# Results\n\n## A\n\n3\n\n## B\n\n2\n'
    """
    heading = section.partition("\n")[0]
    before, _, rest = text.partition(f"\n{heading}\n")
    _, more, after = rest.partition("\n## ")
    parts = [before.rstrip(), section.rstrip(), *([f"## {after.rstrip()}"] if more else [])]
    return "\n\n".join(parts) + "\n"


def with_rows(text: str, part: str) -> str:
    r"""Return a part's section with the rows that the results have of the benchmark's other parts.

    >>> print(with_rows("\n## A\n\n| N1, x |\n| P7, y |\n", "## A\n\n| P7, z |\n"), end="")
    ## A
    <BLANKLINE>
    | N1, x |
    | P7, z |
    """
    title = part.partition("\n")[0].removeprefix("## ")
    new = _rows(part)
    heads = set(map(_head, new))
    kept = [row for row in _rows(section_in(text, title)) if _head(row) not in heads]
    return part[: part.index(new[0])] + "\n".join([*kept, *new]) + "\n"


def _rows(text: str) -> list[str]:
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    return [row for row in rows if not row.startswith("| what ")]


def _head(row: str) -> str:
    return re.split(r"[,:;] ", row)[0]


def title_of(name: str) -> str:
    """Return the title of a benchmark's section.

    >>> title_of("spark_memory")
    'Spark memory'
    """
    return name.replace("_", " ").capitalize()


def measured_on() -> str:
    """Return the line of a section that says when figures were measured, and with what."""
    return f"Measured on {datetime.now().astimezone():%Y-%m-%d}: {machine()}."


def section_of(name: str, about: str, command: str, rows: Sequence[Row]) -> str:
    """Return a benchmark's part of the results as Markdown."""
    lines = [f"## {title_of(name)}", "", about.strip(), "", f"    {command}", ""]
    lines += [measured_on(), ""]
    lines += ["| what | measured | target | met |", "|---|---|---|---|"]
    lines += [
        f"| {row.what} | {row.figure} | {row.target} | {'yes' if row.met else 'no'} |"
        for row in rows
    ]
    return "\n".join([*lines, ""])
