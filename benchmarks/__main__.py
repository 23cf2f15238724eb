"""Run benchmarks by name, or all of them, which also writes what they measure into RESULTS.md."""

from __future__ import annotations

import argparse
import warnings

from benchmarks import (
    confidence,
    contract,
    decisions,
    graph,
    in_process,
    keys,
    latency,
    many,
    match_memory,
    matches,
    matches_spark,
    memory,
    panes,
    quantitative,
    quantitative_spark,
    regimes,
    sharing,
    slides,
    spark,
    spark_memory,
    startup,
    steps,
    stream,
    threads,
    windows,
)
from benchmarks.results import RESULTS, section_of, with_rows, write
from elsinore import NoRowsWarning

BENCHMARKS = {
    "contract": contract,
    "in_process": in_process,
    "sharing": sharing,
    "many": many,
    "windows": windows,
    "slides": slides,
    "graph": graph,
    "steps": steps,
    "latency": latency,
    "regimes": regimes,
    "decisions": decisions,
    "memory": memory,
    "quantitative": quantitative,
    "quantitative_spark": quantitative_spark,
    "keys": keys,
    "panes": panes,
    "matches": matches,
    "match_memory": match_memory,
    "matches_spark": matches_spark,
    "confidence": confidence,
    "spark": spark,
    "spark_memory": spark_memory,
    "startup": startup,
    "threads": threads,
    "stream": stream,
}
IN_PARTS = {"matches", "quantitative", "stream"}  # what measures parts of itself if some are named


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        help=f"which to run, or one of them and its parts: {', '.join(BENCHMARKS)}",
    )
    parser.add_argument("--quick", action="store_true", help="with a tenth of the events")
    parser.add_argument("--write", action="store_true", help="put the figures into RESULTS.md")
    parser.add_argument(
        "--minutes", type=float, help="also feed streams at their target rates for so long (stream)"
    )
    arguments = parser.parse_args()
    names, parts = chosen(parser, arguments.names)
    whole = not arguments.names and not arguments.quick
    warnings.simplefilter("ignore", NoRowsWarning)  # of queries whose types no drawn event has
    for name in names:
        module = BENCHMARKS[name]
        if name == "stream":
            rows = stream.main(arguments.quick, parts, arguments.minutes)
        else:
            rows = module.main(arguments.quick, parts) if parts else module.main(arguments.quick)
        for row in rows:
            print(f"{'ok  ' if row.met else 'MISS'} {row.what}: {row.figure} ({row.target})")
        if whole or arguments.write:  # at once, for a run may be stopped
            section = section_of(name, module.__doc__ or "", module.COMMAND, rows)
            write(with_rows(RESULTS.read_text(), section) if parts else section)


def chosen(parser: argparse.ArgumentParser, words: list[str]) -> tuple[list[str], list[str]]:
    """Return the benchmarks that are asked for, and the parts of the one that has some."""
    names = [word for word in words if word in BENCHMARKS]
    parts = [word for word in words if word not in BENCHMARKS]
    if parts and (len(names) != 1 or names[0] not in IN_PARTS):
        parser.error(f"no benchmarks: {', '.join(parts)}; benchmarks: {', '.join(BENCHMARKS)}")
    return names or list(BENCHMARKS), parts


if __name__ == "__main__":
    main()
