"""`make bench-comparison`: two ledgers compared by skillian, by plain SQL and by other tools.

One million postings on each side with the other tools, then ten million without them (`--small`:
only the first). Every run is a separate process; the runs of one table alternate. The figures are
the CPU of the client and of the PostgreSQL server, and the client's peak memory. A run without
exactly the planted differences reports it; a row of this project or of a floor fails then.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

from comparison_cases import LARGE, SMALL
from comparison_table import table
from comparison_turns import Place
from ledgers import load_postgres, make_ledgers
from peer_table import HERE

FOLDER = HERE.parent / ".cache" / "bench"


@contextmanager
def place(rows: int) -> Generator[Place]:
    """The ledgers in a folder and in a PostgreSQL server of their own, gone in the end."""
    sys.path.append(str(HERE.parent))
    from tests.support.postgres import running_postgres  # noqa: PLC0415 - found only from here on

    folder = FOLDER / f"ledgers_{rows}"
    print(f"making two ledgers of {rows:,} postings ...", file=sys.stderr, flush=True)
    try:
        make_ledgers(folder, rows)
        with running_postgres() as server:
            load_postgres(folder, server.url())
            postmaster = (server.folder / "data" / "postmaster.pid").read_text().split()[0]
            yield Place(folder, server.url(), int(postmaster))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
        with place(rows) as there:
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
