"""Run benchmarks by name, or all of them; or write RESULTS.md, section by section.

`python -m benchmarks results` measures the sections of RESULTS.md that were not measured today,
each in a separate process. If it is interrupted and called again, it continues. With names it
measures these sections in any case.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from importlib import import_module

from benchmarks import evaluation, results
from benchmarks.measure import Row
from elsinore import NoRowsWarning
from elsinore.cli.bench import FIGURES

BENCHMARKS = (
    "contract", "in_process", "many", "slides", "graph", "steps", "latency", "regimes",
    "memory", "quantitative", "quantitative_spark", "keys", "panes", "matches", "match_memory",
    "matches_spark", "confidence", "spark", "spark_memory", "startup", "threads", "stream",
)  # fmt: skip
IN_PARTS = ("matches", "quantitative", "stream")  # measure parts of themselves if some are named
TABLES = ("spark_grid", "spark_parts")  # have tables of their own
SECTIONS = (*BENCHMARKS, *TABLES, *FIGURES)
TITLES = {name: FIGURES.get(name) or results.title_of(name) for name in SECTIONS}
STREAM_MINUTES = 5.0  # for which the results feed streams at their target rates


def main() -> int:
    """Run the benchmarks that the command line names; return 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        help=f"which to run, or one of them and its parts: {', '.join(SECTIONS)}",
    )
    parser.add_argument("--quick", action="store_true", help="with a tenth of the events")
    parser.add_argument("--write", action="store_true", help="put the section into RESULTS.md")
    parser.add_argument(
        "--minutes", type=float, help="also feed streams at their target rates for so long (stream)"
    )
    arguments = parser.parse_intermixed_args()  # as in: results --quick matches
    words: list[str] = arguments.names
    if words[:1] == ["results"]:
        names, parts = chosen(parser, words[1:])
        if parts:
            parser.error("a section is measured whole, so that it is of one run")
        return write_results(names if words[1:] else (), arguments.quick)
    if words == ["evaluation"]:
        evaluation.write()
        return 0
    names, parts = chosen(parser, words)
    if parts and arguments.write:
        parser.error("a section is written whole, so that it is of one run")
    warnings.simplefilter("ignore", NoRowsWarning)  # of queries whose types no drawn event has
    for name in names:
        body = measure(name, arguments.quick, parts, arguments.minutes)
        if arguments.write:
            module = None if name in FIGURES else import_module(f"benchmarks.{name}")
            command = f"elsinore bench {name}" if module is None else module.COMMAND
            command += " --quick" if arguments.quick else ""
            about = (module.__doc__ or "") if module is not None else evaluation.FILES.format(name)
            section = results.section_of(TITLES[name], about, command, body)
            results.write(section, [*TITLES.values()])
    return 0


def measure(name: str, quick: bool, parts: Sequence[str], minutes: float | None) -> list[str]:
    """Measure a benchmark or a figure, print it and return it as lines of Markdown."""
    if name in FIGURES:
        papers = import_module("benchmarks.papers")
        figure = papers.reproduce(name, quick=quick, out=evaluation.FIGURES, overwrite=True)
        return [f"- {remark}" for remark in figure.remarks]
    module = import_module(f"benchmarks.{name}")
    if name in TABLES:
        lines: list[str] = module.table(quick)
        print("\n".join(lines))
        return lines
    run = partial(module.main, quick)
    if parts:
        run = partial(run, parts)
    if name == "stream":
        run = partial(run, minutes=minutes)
    rows: list[Row] = run()
    for row in rows:
        print(f"{'ok  ' if row.met else 'MISS'} {row.what}: {row.figure} ({row.target})")
    return results.table_of(rows)


def write_results(names: Sequence[str], quick: bool) -> int:
    """Measure sections in separate processes; without names, those not measured today.

    A section that fails keeps its previous text, and the others are measured; returns 1 then.
    """
    written = results.sections_in(results.RESULTS.read_text())
    failed = []
    for name in names or SECTIONS:
        if not names and results.is_from_today(written.get(TITLES[name], "")):
            print(f"{name}: measured today")
            continue
        print(f"{name} ...", flush=True)
        words = [sys.executable, "-m", "benchmarks", name, "--write"]
        words += ["--quick"] if quick else []
        if name == "stream" and not quick:
            words += ["--minutes", str(STREAM_MINUTES)]
        if subprocess.run(words, check=False).returncode:
            failed.append(name)
    evaluation.write()
    if failed:
        print(f"failed, and not written: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def chosen(parser: argparse.ArgumentParser, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the named benchmarks, and the named parts of a single benchmark."""
    names = [word for word in words if word in SECTIONS]
    parts = [word for word in words if word not in SECTIONS]
    if parts and (len(names) != 1 or names[0] not in IN_PARTS):
        parser.error(f"no benchmarks: {', '.join(parts)}; benchmarks: {', '.join(SECTIONS)}")
    return names or [*BENCHMARKS], parts


if __name__ == "__main__":
    sys.exit(main())
