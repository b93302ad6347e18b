"""Each strict server, each kind of agent, blocking and streamed, in each case: what is refused.

A cell is bad when a request was refused, reasoning was lost, an image did not arrive or the answer
is wrong. `--quick` leaves out the runs that are killed, which take minutes.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from itertools import product

from provider_cells import CASES, KINDS, ROUTES, Cell, play
from provider_durable import load_ahead

_AT_ONCE = 2
KILLED = "killed and resumed"


def cells(route: str, case: str) -> list[Cell]:
    """The cells of a route and a case."""
    made = [Cell(route, kind, streamed, case) for kind, streamed in product(KINDS, (False, True))]
    return [cell for cell in made if not cell.impossible]


async def faults_of(cell: Cell) -> str:
    """The faults of a cell; empty if it passes."""
    try:
        faults, _ = await play(cell)
    except Exception as error:  # noqa: BLE001 - one cell must not end the others
        return repr(error)
    return faults


async def matrix(cases: Sequence[str]) -> dict[Cell, str]:
    """The faults of each cell of these cases."""
    slots = asyncio.Semaphore(_AT_ONCE)

    async def judge(cell: Cell) -> tuple[Cell, str]:
        async with slots:
            return cell, await faults_of(cell)

    wanted = [cell for route, case in product(ROUTES, cases) for cell in cells(route, case)]
    return dict(await asyncio.gather(*map(judge, wanted)))


def print_providers(*, quick: bool = False) -> bool:
    """Print the matrix as a Markdown table; return whether every cell passes."""
    load_ahead()
    cases = [case for case in CASES if not (quick and case == KILLED)]
    found = asyncio.run(matrix(cases))
    print("| provider |", " | ".join(cases), "|")
    print("|---" * (len(cases) + 1) + "|")
    for route in ROUTES:
        columns = [[found[cell] for cell in cells(route, case)] for case in cases]
        texts = [f"{sum(not faults for faults in column)}/{len(column)}" for column in columns]
        print("|", " | ".join([route, *texts]), "|")
    print("\nThere are no such runs:")
    for kind, case in product(KINDS, cases):
        reason = Cell("", kind, streamed=False, case=case).impossible
        if reason:
            print(f"- {case}, {kind}: {reason}")
    bad = {cell: faults for cell, faults in found.items() if faults}
    for cell, faults in bad.items():
        print(f"\nBAD: {cell}: {faults}")
    print(f"\n{len(bad)} of {len(found)} cells are bad.")
    return not bad


if __name__ == "__main__":
    sys.exit(not print_providers(quick="--quick" in sys.argv[1:]))
