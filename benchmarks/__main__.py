"""Run benchmarks by name (all of them without one) and write RESULTS.md."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from benchmarks import (
    confidence,
    decisions,
    graph,
    in_process,
    keys,
    match_memory,
    matches,
    matches_spark,
    memory,
    quantitative,
    quantitative_spark,
    regimes,
    sharing,
    spark,
    spark_memory,
    startup,
    windows,
)
from benchmarks.measure import Row, machine

BENCHMARKS = {
    "in_process": in_process,
    "sharing": sharing,
    "windows": windows,
    "graph": graph,
    "regimes": regimes,
    "decisions": decisions,
    "memory": memory,
    "quantitative": quantitative,
    "quantitative_spark": quantitative_spark,
    "keys": keys,
    "matches": matches,
    "match_memory": match_memory,
    "matches_spark": matches_spark,
    "confidence": confidence,
    "spark": spark,
    "spark_memory": spark_memory,
    "startup": startup,
}
IN_PARTS = {"matches", "quantitative"}  # what measures parts of itself if some are named
RESULTS = Path(__file__).parent / "RESULTS.md"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="which to run, or one of them and its parts")
    parser.add_argument("--quick", action="store_true", help="with a tenth of the events")
    parser.add_argument("--write", action="store_true", help="put the figures into RESULTS.md")
    arguments = parser.parse_args()
    names, parts = chosen(parser, arguments.names)
    sections = {}
    for name in names:
        module = BENCHMARKS[name]
        rows = module.main(arguments.quick, parts) if parts else module.main(arguments.quick)
        for row in rows:
            print(f"{'ok  ' if row.met else 'MISS'} {row.what}: {row.figure} ({row.target})")
        sections[name] = section(name, module.__doc__ or "", module.COMMAND, rows)
        if parts and arguments.write:
            sections[name] = with_rows(RESULTS.read_text(), sections[name])
    if not arguments.names and not arguments.quick:
        text = ["# Results", "", "Measured on", "", *machine(), "", *sections.values()]
        RESULTS.write_text("\n".join(text).rstrip() + "\n")
        print(f"written to {RESULTS}")
    elif arguments.write:
        RESULTS.write_text(with_sections(RESULTS.read_text(), sections))
        print(f"written to {RESULTS}")


def chosen(parser: argparse.ArgumentParser, words: list[str]) -> tuple[list[str], list[str]]:
    """Return the benchmarks that are asked for, and the parts of the one that has some."""
    names = [word for word in words if word in BENCHMARKS]
    parts = [word for word in words if word not in BENCHMARKS]
    if parts and (len(names) != 1 or names[0] not in IN_PARTS):
        parser.error(f"no benchmarks: {', '.join(parts)}; benchmarks: {', '.join(BENCHMARKS)}")
    return names or list(BENCHMARKS), parts


def with_sections(text: str, sections: dict[str, str]) -> str:
    r"""Return results in which some sections are new, those that were not there at the end.

    >>> with_sections("# Results\n\n## A\n\n1\n\n## B\n\n2\n", {"a": "## A\n\n3"})
    '# Results\n\n## A\n\n3\n\n## B\n\n2\n'
    """
    for name, new in sections.items():
        before, _, rest = text.partition(f"## {name.replace('_', ' ').capitalize()}\n")
        _, more, after = rest.partition("\n## ")
        parts = [before.rstrip(), new.rstrip(), *([f"## {after.rstrip()}"] if more else [])]
        text = "\n\n".join(parts) + "\n"
    return text


def with_rows(text: str, part: str) -> str:
    r"""Return a part's section with the rows that the results have of the benchmark's other parts.

    >>> print(with_rows("## A\n\n| N1, x |\n| P7, y |\n", "## A\n\n| P7, z |\n"), end="")
    ## A
    <BLANKLINE>
    | N1, x |
    | P7, z |
    """
    _, _, there = text.partition(part.partition("\n")[0] + "\n")
    new = _rows(part)
    heads = set(map(_head, new))
    kept = [row for row in _rows(there.partition("\n## ")[0]) if _head(row) not in heads]
    return part[: part.index(new[0])] + "\n".join([*kept, *new]) + "\n"


def _rows(text: str) -> list[str]:
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    return [row for row in rows if not row.startswith("| what ")]


def _head(row: str) -> str:
    return re.split(r"[,:;] ", row)[0]


def section(name: str, about: str, command: str, rows: list[Row]) -> str:
    """Return a benchmark's part of the results as Markdown."""
    lines = [
        f"## {name.replace('_', ' ').capitalize()}",
        "",
        about.strip(),
        "",
        f"    {command}",
        "",
    ]
    lines += ["| what | measured | target | met |", "|---|---|---|---|"]
    lines += [
        f"| {row.what} | {row.figure} | {row.target} | {'yes' if row.met else 'no'} |"
        for row in rows
    ]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
