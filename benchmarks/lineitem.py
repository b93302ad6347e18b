"""`make bench-tables`: TPC-H lineitem in two Parquet files, compared by its key.

`--scale` is the scale factor: 1 is 6 million rows (the default), 10 is 60 million and needs 5 GB of
disk. In the second file 0.1 % of the values of four amounts are altered and 0.05 % of the rows are
missing. Four amounts are compared as measures, and all columns row by row: by skillian, by a direct
join in SQL that knows the key is unique, and by datacompy on polars (only with `--peers`). Every
run is a process, and the runs alternate. The figures are CPU seconds and peak memory; the ratio is
that of the same round. A run that finds other differences than the SQL reports it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from peer_table import HERE, python_of

FOLDER = HERE.parent / ".cache" / "bench"
GENERATOR = "tpcgen-cli==4.0.0"
PEERS = "datacompy==1.1.0\npolars==1.44.2\npyarrow==26.0.1\n"
SECONDS = 3600.0
TARGET, TARGET_OF_ROWS, MEMORY = 1.5, 1.5, 4096
AMOUNTS = {"l_quantity": "1", "l_extendedprice": "0.01", "l_discount": "0.01", "l_tax": "0.01"}


class Run(NamedTuple):
    """What one process reports."""

    seconds: float
    peak: float
    found: dict[str, int]


class Way(NamedTuple):
    """One way to compare: its title, its name in the runner, and the target of its ratio."""

    title: str
    name: str
    target: float | None = None


MEASURES = (
    Way("SQL by hand: a direct join", "sql measures"),
    Way("skillian: four measures, explained", "skillian measures", TARGET),
    Way("datacompy 1.1 on polars, the same columns", "datacompy measures"),
)
ROWS = (
    Way("SQL by hand: a direct join", "sql rows"),
    Way("skillian: all columns", "skillian rows", TARGET_OF_ROWS),
    Way("datacompy 1.1 on polars", "datacompy rows"),
)


def make_files(scale: int) -> Path:
    """Return the folder with both files, and with two small ones; made once for each scale."""
    import duckdb  # noqa: PLC0415 - only to make the files

    folder = FOLDER / f"lineitem_{scale}"
    if (folder / "small" / "b.parquet").exists():
        return folder
    print(f"making lineitem at scale factor {scale} ...", file=sys.stderr, flush=True)
    (folder / "small").mkdir(parents=True, exist_ok=True)
    generator = Path(python_of("lineitem_generator", GENERATOR)).parent / "tpcgen-cli"
    command = [str(generator), "tpch", "parquet", "--overwrite", "--tables=lineitem"]
    subprocess.run([*command, "-s", str(scale), f"--output-dir={folder}"], check=True)
    (folder / "lineitem.parquet").rename(folder / "a.parquet")
    altered = ", ".join(
        f"CAST({name} + CASE WHEN {_chance(number)} < 1000 THEN {by} ELSE 0 END"
        f" AS DECIMAL(15, 2)) AS {name}"
        for number, (name, by) in enumerate(AMOUNTS.items())
    )
    with duckdb.connect(config={"preserve_insertion_order": "false"}) as connection:
        connection.execute(f"""
            COPY (SELECT * REPLACE ({altered}) FROM '{folder}/a.parquet'
                  WHERE {_chance(len(AMOUNTS))} >= 500)
            TO '{folder}/b.parquet'
        """)  # noqa: S608 - names of our own
        for side in "ab":
            few = f"SELECT * FROM '{folder}/{side}.parquet' WHERE l_orderkey < 100"  # noqa: S608 - ours
            connection.execute(f"COPY ({few}) TO '{folder}/small/{side}.parquet'")
    return folder


def _chance(number: int) -> str:
    """A number below a million that depends on the row alone."""
    return f"HASH(l_orderkey, l_linenumber, {number}) % 1000000"


def measure(way: Way, folder: Path) -> Run:
    """Run one way in a process."""
    python = python_of("lineitem_datacompy", PEERS) if "datacompy" in way.name else sys.executable
    done = subprocess.run(
        [python, str(HERE / "lineitem_runner.py"), way.name, str(folder)],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    return Run(**json.loads(done.stdout.splitlines()[-1]))


def table(title: str, ways: tuple[Way, ...], folder: Path, rounds: int) -> bool:
    """Print one table; return whether its targets are met."""
    print(f"\n| {title} | CPU s | peak MB | ratio | target |\n|---|--:|--:|--:|---|")
    runs: dict[Way, list[Run]] = {way: [] for way in ways}
    for number in range(rounds):
        for way, done in runs.items():
            if number == 0 or "datacompy" not in way.name:
                done.append(measure(way, folder))
    floor, met = runs[ways[0]], True
    for way, done in runs.items():
        ratio = statistics.median(
            one.seconds / least.seconds for one, least in zip(done, floor, strict=False)
        )
        peak = max(run.peak for run in done)
        target = "-"
        if way.target is not None:
            is_met = ratio <= way.target and peak <= MEMORY
            met &= is_met
            target = f"≤ {way.target}, {MEMORY} MB: {'met' if is_met else 'missed'}"
        if done[0].found != floor[0].found:
            target = f"found {done[0].found} instead of {floor[0].found}"
            met &= way.target is None
        seconds = statistics.median(run.seconds for run in done)
        print(f"| {way.title} | {seconds:.1f} | {peak:,.0f} | {ratio:.2f} | {target} |", flush=True)
    return met


def main() -> int:
    """Measure, print the tables, say whether all targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=1, help="the scale factor (default 1)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each way (default 3)")
    parser.add_argument("--peers", action="store_true", help="also datacompy, once")
    parser.add_argument("--only", choices=("measures", "rows"), help="only one of the tables")
    options = parser.parse_args()
    folder = make_files(options.scale)
    is_met = True
    for kind, title, ways in (
        ("measures", "lineitem by its key, four measures", MEASURES),
        ("rows", "lineitem by its key, all columns", ROWS),
    ):
        if options.only in {None, kind}:
            chosen = tuple(way for way in ways if options.peers or "datacompy" not in way.name)
            heading = f"{title}, scale factor {options.scale}"
            is_met &= table(heading, chosen, folder, options.rounds)
    print("\nAll targets are met." if is_met else "\nA target is missed.")
    return int(not is_met)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.SubprocessError as error:
        sys.exit(str(error))
