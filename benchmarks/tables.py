"""`make bench-tables`: whole tables of twelve columns of mixed types, compared row by row.

One million rows with the other tools, or as many as `--rows` says. Two Parquet files, two tables of
a DuckDB and two of PostgreSQL are compared with the best SQL for the case; across PostgreSQL and
DuckDB, identical tables, tables that differ in ten ranges of the key, and tables that differ
everywhere (these up to a million rows) are compared with reladiff. Every run is a process, and the
runs alternate. The figures are the CPU of the client and of the PostgreSQL server, and the client's
peak memory; the ratio is to the first row of a contest. A run that finds other differences than
those planted says so.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from comparison_cases import Contest, Way
from comparison_turns import Go, turns
from places import Place, place
from tables_data import RANGES, load_postgres, make_tables

MISSED = "missed"
SAME_MEMORY = 1.1
"""The peak memory of two runs of one program differs by this factor."""
EVERYWHERE, MOST_ROWS = "cells altered everywhere", 1_000_000
"""All rows travel then, for reladiff several times."""
MOST_BYTES = 1_000_000
"""What may travel of identical tables."""


def _contests() -> tuple[Contest, ...]:
    return (
        Contest(
            "two Parquet files",
            "b",
            (Way("SQL by hand", "tables_sql", "parquet"),),
            (
                Way("skillian", "tables_skillian", "parquet", 1.3),
                Way("datacompy 1.1 on polars", "tables_datacompy", "polars"),
            ),
            3,
        ),
        Contest(
            "two DuckDB tables",
            "b",
            (Way("SQL by hand", "tables_sql", "duckdb"),),
            (Way("skillian", "tables_skillian", "duckdb", 1.3),),
            3,
        ),
        Contest(
            "two PostgreSQL tables",
            "b",
            (Way("SQL by hand", "tables_sql", "postgres"),),
            (
                Way("skillian", "tables_skillian", "postgres", 1.2),
                Way("reladiff 0.6 joindiff", "tables_reladiff", "postgres"),
            ),
            2,
        ),
        *(
            Contest(
                f"PostgreSQL and DuckDB, {what}",
                truth,
                (Way("reladiff 0.6 hashdiff", "tables_reladiff", case),),
                (Way("skillian", "tables_skillian", case, 0.2),),
                1,
            )
            for what, truth, case in (
                ("identical tables", "same", "same"),
                (f"{RANGES} ranges of the key altered", "ranges", "ranges"),
                (EVERYWHERE, "b", "across"),
            )
        ),
    )


def verdict(found: dict[str, Any], truth: dict[str, Any]) -> str:
    """What was found compared with the truth, and what travelled."""
    travelled, repeated = found.pop("bytes", None), found.pop("repeated", 0)
    if repeated or found != {name: truth[name] for name in found}:
        counts = {name: each for name, each in found.items() if isinstance(each, int)}
        return f"wrong: {json.dumps(counts)}"
    if not travelled:
        return "exact"
    late = f", {MISSED}" if not truth["differing"] and travelled >= MOST_BYTES else ""
    return f"exact; {travelled / 1e6:,.2f} MB travelled{late}"


def line(way: Way, goes: Sequence[Go], floors: Sequence[Go], truth: dict[str, Any]) -> str:
    """Return the row of one way; `floors` are the runs that it is compared with."""
    ratios = [go.seconds / floor.seconds for go, floor in zip(goes, floors, strict=False)]
    ratio, peak = statistics.median(ratios), max(go.peak for go in goes)
    target = "-"
    if way.target is not None:
        most = SAME_MEMORY * max(floor.peak for floor in floors)
        target = f"<= {way.target:g}{'' if ratio <= way.target else f', {MISSED}'}"
        if way.target >= 1 and not way.case.startswith("postgres"):
            target += f"; memory of the SQL{'' if peak <= most else f', {MISSED}'}"
    spread = f" ({min(ratios):.2f} to {max(ratios):.2f})" if len(ratios) > 1 else ""
    cells = (
        way.title,
        f"{statistics.median(go.seconds for go in goes):,.1f} s",
        f"{statistics.median(go.server for go in goes):,.1f} s",
        f"{peak:,.0f} MB",
        f"{ratio:.2f}{spread}",
        target,
        "; ".join(sorted({verdict(dict(go.found), truth) for go in goes})),
    )
    return f"| {' | '.join(cells)} |"


def measure(contests: Sequence[Contest], there: Place) -> bool:
    """Print the rows of all contests; return whether the targets are met."""
    truth = json.loads((there.folder / "truth.json").read_text())
    is_met = True
    for contest in contests:
        print(f"measuring {contest.title} ...", file=sys.stderr, flush=True)
        goes = turns(contest, there)
        print(f"| **{contest.title}** | | | | | | |")
        for way, gone in goes.items():
            row = line(way, gone, goes[contest.floors[0]], truth[contest.truth])
            is_ours = way.peer == "tables_sql" or way.target is not None
            is_met &= MISSED not in row and not (is_ours and "wrong" in row)
            print(row, flush=True)
    return is_met


def main() -> int:
    """Measure, print the table, say whether all targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of each table")
    parser.add_argument("--only", default="", help="only contests with this text in their title")
    parser.add_argument("--no-peers", action="store_true", help="without the other tools")
    asked = parser.parse_args()
    contests = [each for each in _contests() if asked.only in each.title]
    if asked.rows > MOST_ROWS:
        contests = [each for each in contests if EVERYWHERE not in each.title]
    if asked.no_peers:
        contests = [
            each._replace(others=tuple(way for way in each.others if way.target is not None))
            for each in contests
            if each.floors[0].peer == "tables_sql"
        ]
    make = partial(make_tables, rows=asked.rows)
    with place(f"tables_{asked.rows}", make, load_postgres) as there:
        print(f"\n| {asked.rows:,} rows, 12 columns | CPU | of it PostgreSQL | memory ", end="")
        print("| ratio | target | found |\n|---|--:|--:|--:|--:|---|---|")
        is_met = measure(contests, there)
    print("\nAll targets are met." if is_met else "\nA target is missed.")
    return int(not is_met)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.SubprocessError as error:
        sys.exit(str(error))
