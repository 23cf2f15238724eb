"""Run benchmarks by name (all of them without one) and write RESULTS.md."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import (
    confidence,
    decisions,
    graph,
    in_process,
    keys,
    matches,
    memory,
    quantitative,
    quantitative_spark,
    regimes,
    sharing,
    spark,
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
    "confidence": confidence,
    "spark": spark,
    "startup": startup,
}
RESULTS = Path(__file__).parent / "RESULTS.md"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], help="which to run")
    parser.add_argument("--quick", action="store_true", help="with a tenth of the events")
    arguments = parser.parse_args()
    sections = []
    for name in arguments.names or BENCHMARKS:
        module = BENCHMARKS[name]
        rows = module.main(arguments.quick)
        for row in rows:
            print(f"{'ok  ' if row.met else 'MISS'} {row.what}: {row.figure} ({row.target})")
        sections.append(section(name, module.__doc__ or "", module.COMMAND, rows))
    if not arguments.names and not arguments.quick:
        text = ["# Results", "", "Measured on", "", *machine(), "", *sections]
        RESULTS.write_text("\n".join(text).rstrip() + "\n")
        print(f"written to {RESULTS}")


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
