"""Read damaged and odd files: each gives a table or an InputError, and ends no process.

Every file is a valid one (CSV, JSON, Zeek's logs, Parquet, compressed or not) in which bytes were
changed, removed, repeated or inserted. A case is drawn again by its number:
`python -m fuzz.files --seed 1 --case 17`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from elsinore.errors import InputError
from elsinore.runtime.files import read_events

A_PROCESS = 500  # files read by one process: if it dies, the files up to the next one are lost
MOST_MEMORY = 4 << 30  # bytes of address space: a few bytes must not ask for all memory
MOST_SECONDS = 60  # for one file
ROWS = 40
SIGNS = (
    b'"',
    b"\\",
    b"\n",
    b"\r",
    b",",
    b"[",
    b"{",
    b"]",
    b"}",
    b":",
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
)
DEEP = 100_000


def valid(random: Random, folder: Path) -> tuple[str, bytes]:
    """Return the name and the content of a file that can be read."""
    rows = [
        {"time": n, "type": random.choice("AB"), "v": n / 2, "s": f'x,"{n}\\ é', "l": [{"k": [n]}]}
        for n in range(random.randrange(1, ROWS))
    ]
    kind = random.choice(("csv", "tsv", "jsonl", "json", "log", "parquet"))
    if kind == "parquet":
        path = folder / "valid.parquet"
        compression = random.choice(("none", "snappy", "zstd"))
        pq.write_table(pa.Table.from_pylist(rows), path, compression=compression)
        return "e.parquet", path.read_bytes()
    if kind == "jsonl":
        text = "".join(json.dumps(row) + "\n" for row in rows)
    elif kind == "json":
        text = json.dumps(rows, indent=random.choice((None, 1)), ensure_ascii=False)
    elif kind == "log":
        lines = [f"{row['time']}\t{row['type']}\t{row['v']}" for row in rows]
        header = "#separator \\x09\n#fields\ttime\ttype\tv\n#types\ttime\tstring\tdouble\n"
        text = header + "\n".join(lines) + "\n#close\n"
    else:
        sign = "," if kind == "csv" else "\t"
        quoted = [str(row["s"]).replace('"', '""') for row in rows]
        lines = [
            sign.join((str(row["time"]), str(row["type"]), f'"{cell}"'))
            for row, cell in zip(rows, quoted, strict=True)
        ]
        text = "\n".join((sign.join(("time", "type", "s")), *lines)) + "\n"
    if random.random() < 0.3:
        return f"e.{kind}.gz", gzip.compress(text.encode())
    return f"e.{kind}", text.encode()


def damaged(random: Random, content: bytes) -> bytes:
    """Return content with some changes."""
    for _ in range(random.choice((0, 1, 1, 2, 5, 40))):
        data = bytearray(content)
        begin = random.randrange(len(data) + 1)
        end = min(len(data), begin + random.choice((1, 2, 8, 200)))
        way = random.randrange(6)
        if way == 0 and begin < len(data):
            data[begin] = random.randrange(256)
        elif way == 1:
            del data[begin:end]
        elif way == 2:
            data[begin:begin] = random.choice(SIGNS) * random.choice((1, 2, 300))
        elif way == 3:
            data[begin:begin] = data[begin:end] * random.choice((1, 3))
        elif way == 4:
            del data[begin:]
        elif random.random() < 0.2:
            data[begin:begin] = random.choice((b"[", b'{"a":')) * DEEP
        content = bytes(data)
    return content


def read_one(seed: int, number: int, folder: Path) -> str:
    """Read the file of a case; return the outcome. Raises errors other than InputError."""
    random = Random(f"{seed}:files:{number}")
    name, content = valid(random, folder)
    packed = name.endswith(".gz") and random.random() < 0.7
    content = damaged(random, gzip.decompress(content) if packed else content)
    path = folder / name
    path.write_bytes(gzip.compress(content) if packed else content)
    kind = name.partition(".")[2]
    try:
        table = read_events(path)
    except InputError as error:
        if str(path) not in str(error):
            raise AssertionError(f"the file is not named: {error}") from error
        return f"{kind}: InputError"
    table.validate(full=True)
    table.to_pylist()
    return f"{kind}: a table"


def read_some(seed: int, begin: int, end: int) -> int:
    """Read the files of some cases in this process; return how many failed."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        for number in range(begin, end):
            print(f"case {number}", file=sys.stderr, flush=True)
            try:
                counts[read_one(seed, number, Path(name))] += 1
            except Exception:
                failures += 1
                print(f"FAILED {seed}:{number}\n{traceback.format_exc()}", flush=True)
    print(json.dumps(counts), flush=True)
    return failures


def campaign(wanted: int, seed: int, tell: Callable[[str], None] = print) -> int:
    """Read files in separate processes; return the number of failures and crashes."""
    counts: Counter[str] = Counter()
    failures = 0
    for begin in range(0, wanted, A_PROCESS):
        end = min(wanted, begin + A_PROCESS)
        bounds = ["--from", str(begin), "--to", str(end)]
        command = [sys.executable, "-m", "fuzz.files", "--seed", str(seed), *bounds]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False,
            timeout=MOST_SECONDS * (end - begin),
        )  # fmt: skip
        *failed, last = done.stdout.splitlines() or [""]
        failures += sum(line.startswith("FAILED") for line in failed)
        if failed:
            tell("\n".join(failed))
        if done.returncode not in {0, 1}:
            failures += 1
            case = (done.stderr.splitlines() or ["?"])[-1]
            tell(f"FAILED the process ended with {done.returncode} in {case} of seed {seed}")
        else:
            counts.update(json.loads(last))
    read = ", ".join(f"{name} {counts[name]:,}" for name in sorted(counts))
    tell(f"files, seed {seed}: {sum(counts.values()):,} read ({read}), {failures} failed")
    return failures


def main() -> int:
    """Read the requested number of files, or some of them in this process."""
    parser = argparse.ArgumentParser(prog="fuzz.files", description=__doc__)
    parser.add_argument("--files", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="only the case of this number, in this process")
    parser.add_argument("--from", type=int, dest="begin", help="the first case in this process")
    parser.add_argument("--to", type=int, dest="end", default=0)
    arguments = parser.parse_args()
    if arguments.case is not None:
        return int(read_some(arguments.seed, arguments.case, arguments.case + 1) > 0)
    if arguments.begin is not None:
        return int(read_some(arguments.seed, arguments.begin, arguments.end) > 0)
    return int(campaign(arguments.files, arguments.seed) > 0)


if __name__ == "__main__":
    sys.exit(main())
