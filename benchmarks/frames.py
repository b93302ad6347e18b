"""Two data frames of a million rows, and the same rows in Parquet files: CPU of `skillian.compare`.

Each way runs in a process of its own. Its CPU is that of the whole process, and that of the call
alone, which does not count reading the files into data frames. Target: the call on data frames of
Arrow or polars costs at most 1.3 times the call on the files. Dates and decimals of pandas are
objects of Python unless its data frames are made of Arrow (`of Arrow`).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

TARGET = 1.3
READ = {
    "parquet": "str",
    "arrow": "__import__('pyarrow.parquet').parquet.read_table",
    "polars": "__import__('polars').read_parquet",
    "pandas": "__import__('pandas').read_parquet",
    "of Arrow": "lambda path: __import__('pandas').read_parquet(path, dtype_backend='pyarrow')",
}
DATACOMPY = "datacompy"
ROWS = """
SELECT i AS id, 'customer ' || i % 5000 AS customer, DATE '2024-01-01' + (i % 700)::INTEGER AS day,
    (i * 37 % 1000003)::DECIMAL(12, 2) AS amount, i % 997 / 8 AS weight,
    ['open', 'paid', 'late'][1 + i % 3] AS status, i % 7 = 0 AS checked
FROM range({rows}) AS r(i)
"""
CHANGED = """
SELECT * REPLACE (CASE WHEN id % 1000 = 1 THEN amount + 1 ELSE amount END AS amount)
FROM a WHERE id % 10000 <> 3
"""
PROGRAM = """
import json, sys, time
a, b = (({read})(path) for path in sys.argv[1:])
start = time.process_time()
import skillian
found = skillian.compare(a, b, key="id")
counts = found.counts
print(json.dumps([time.process_time() - start, counts["differing"], counts["only_in_a"]]))
"""
PEER = """
import json, sys, time
import polars as pl
a, b = (pl.read_parquet(path) for path in sys.argv[1:])
start = time.process_time()
import datacompy
found = datacompy.PolarsCompare(a, b, join_columns=["id"])
differing = sum(each["unequal_cnt"] for each in found.column_stats)
print(json.dumps([time.process_time() - start, differing, len(found.df1_unq_rows)]))
"""


def main() -> None:
    """Write the files, run each way, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peers", action="store_true", help="also by datacompy, if it is there")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        paths = _files(Path(folder), options.rows)
        ways = {way: PROGRAM.format(read=read) for way, read in READ.items()}
        if options.peers:
            ways[DATACOMPY] = PEER
        print(f"{'way':10} {'process s':>10} {'call s':>8} {'wall s':>8} {'MB':>6} {'of files':>9}")
        files = 0.0
        for way, program in ways.items():
            best = min((_run(program, paths) for _ in range(options.runs)), key=lambda run: run[0])
            process, call, wall, megabytes, counts = best
            files = files or call
            line = f"{way:10} {process:10.2f} {call:8.2f} {wall:8.2f} {megabytes:6.0f}"
            fits = (
                "" if way in {"pandas", DATACOMPY} or call <= TARGET * files else "  above target"
            )
            print(f"{line} {call / files:8.2f}x  {counts}{fits}")


def _files(folder: Path, rows: int) -> tuple[str, str]:
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE a AS {ROWS.format(rows=rows)}")
        database.execute(f"CREATE TABLE b AS {CHANGED}")
        for name in ("a", "b"):
            database.execute(f"COPY {name} TO '{folder / name}.parquet'")
    return str(folder / "a.parquet"), str(folder / "b.parquet")


def _run(program: str, paths: tuple[str, str]) -> tuple[float, float, float, float, Any]:
    """The CPU of the process and of the call, the wall time, the memory, and the counts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    command = [sys.executable, "-W", "ignore", "-c", program, *paths]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    out, _ = process.communicate()
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    call, *counts = json.loads(out)
    cpu = sum(getattr(after, name) - getattr(before, name) for name in ("ru_utime", "ru_stime"))
    return cpu, call, wall, after.ru_maxrss / 1024, counts


if __name__ == "__main__":
    main()
