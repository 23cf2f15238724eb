"""Run a campaign and print its comparisons; exit with 1 if a result differs from brute force."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from itertools import islice
from random import Random

from elsinore.plan import Granularity, Sharing
from fuzz.cases import Case, cases
from fuzz.in_process import compared

MOST_FAILURES = 10
A_JOB = 10  # cases in a Spark job
EVERY = 500  # workloads between lines of progress


def main() -> int:
    """Compare the requested number of workloads; return the exit status."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--workloads", type=int, default=20_000, help="in process; default 20,000")
    parser.add_argument("--spark", type=int, default=60, help="further ones on Spark; default 60")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="only the case of this number, in process")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.case is not None:
        (case,) = islice(cases(arguments.seed, arguments.case), 1)
        print(case)
        if isinstance(case, Case):
            print(compared(case, Random(case.name)))
        return 0
    failures = in_process(arguments.workloads, arguments.seed)
    failures += on_spark(arguments.spark, arguments.seed) if arguments.spark else 0
    return int(failures > 0)


def in_process(wanted: int, seed: int) -> int:
    """Compare workloads in this process; return how many results are wrong."""
    begun, clock = time.process_time(), time.time()
    counts: Counter[str] = Counter()
    failures = drawn = 0

    def report() -> None:
        left_out = sorted(name for name in counts if name.startswith("left out"))
        print(
            f"in process, seed {seed}: {counts['workloads']:,} workloads compared "
            f"({counts['queries']:,} queries, {counts['rows']:,} result rows, {drawn:,} drawn), "
            f"{failures} failed; {time.process_time() - begun:.0f} processor seconds, "
            f"{time.time() - clock:.0f} s",
            *(f"  {name}: {counts[name]:,}" for name in left_out),
            sep="\n",
            flush=True,
        )

    for case in cases(seed):
        if counts["workloads"] >= wanted or failures >= MOST_FAILURES:
            break
        drawn += 1
        if isinstance(case, str):
            counts[f"left out, {case}"] += 1
            continue
        try:
            done = compared(case, Random(case.name))
        except AssertionError as error:
            failures += 1
            print(f"FAILED {error}\n{case}\n", flush=True)
            continue
        counts["workloads"] += 1
        counts["queries"] += len(case.workload.queries)
        counts["rows"] += sum(map(len, case.expected))
        counts[f"drawn as {case.kind}"] += 1
        for sharing, granularity, way in done:
            counts[f"run {sharing.value}, {granularity.value}"] += 1
            counts[f"way {way}"] += 1
        if counts["workloads"] % EVERY == 0:
            report()
    report()
    for name in sorted(counts):
        if name.startswith(("run ", "way ", "drawn as")):
            print(f"  {name}: {counts[name]:,}")
    return failures


def on_spark(wanted: int, seed: int) -> int:
    """Compare workloads on Spark, some in a job; return how many jobs gave a wrong result."""
    from elsinore.spark.session import local_session
    from fuzz import on_spark as spark_side

    begun = time.time()
    random = Random(f"{seed}:spark")
    done = failures = jobs = 0
    waiting: dict[bool, list[Case]] = {False: [], True: []}
    config = {"spark.sql.shuffle.partitions": "2"}
    with local_session("local[1]", name="elsinore fuzz", config=config) as spark:
        for case in cases(seed + 1_000_000):
            if done >= wanted or failures >= MOST_FAILURES:
                break
            if isinstance(case, str) or case.ordered:
                continue
            batch = waiting[case.workload.exact]
            batch.append(case)
            if len(batch) < A_JOB:
                continue
            sharing, granularity = random.choice(list(Sharing)), random.choice(list(Granularity))
            try:
                spark_side.compared(spark, batch, sharing, granularity)
                done += len(batch)
            except AssertionError as error:
                failures += 1
                print(f"FAILED {error}\n", flush=True)
            jobs += 1
            batch.clear()
    print(
        f"on Spark, seed {seed}: {done:,} workloads compared in {jobs} jobs, {failures} jobs "
        f"failed; {time.time() - begun:.0f} s"
    )
    return failures


if __name__ == "__main__":
    sys.exit(main())
