"""`make bench-comparison`: two ledgers compared by skillian, by plain SQL and by other tools.

One million postings on each side with the other tools, then ten million without them (`--small`:
only the first). Every run is a separate process; the runs of one table alternate. The figures are
the CPU of the client and of the PostgreSQL server, and the client's peak memory. A run without
exactly the planted differences reports it; a row of this project or of a floor fails then.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from functools import partial

from comparison_cases import LARGE, SMALL
from comparison_table import table
from ledgers import load_postgres, make_ledgers
from places import place


def main() -> int:
    """Measure, print the tables, say whether all targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="only the million postings")
    parser.add_argument("--large", action="store_true", help="only the ten millions")
    asked = parser.parse_args()
    is_met = True
    for rows, contests in ((1_000_000, SMALL), (10_000_000, LARGE)):
        if contests is (LARGE if asked.small else SMALL if asked.large else None):
            continue
        make = partial(make_ledgers, rows=rows)
        with place(f"ledgers_{rows}", make, load_postgres) as there:
            for line in table(rows, contests, there):
                print(line, flush=True)
                is_met &= "missed" not in line
    print("\nAll targets are met." if is_met else "\nA target is missed.")
    return int(not is_met)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.SubprocessError as error:
        sys.exit(str(error))
