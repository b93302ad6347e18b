"""`make bench`: all cases, each beside its floor and its target; fails when a target is missed.

With `--peers`, other frameworks next to the same floor instead, each in its own environment;
with `--executors`, what a session, a step and a tool call cost.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agent_loop import deltas, labelled_turns, side_by_side, tool_turns
from code_agent import code_agent_rows
from executors import cpu_rows, executor_rows
from fault_matrix import print_matrix
from pairs import Row
from peer_table import peer_rows
from provider_matrix import print_providers
from provider_options import all_models, print_options

HERE = Path(__file__).parent


@contextmanager
def mock_server() -> Iterator[str]:
    """The mock server's base URL; it runs in its own process, so its CPU is not counted."""
    with subprocess.Popen(
        [sys.executable, str(HERE / "mock_server.py")], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            if server.stdout is None:
                raise RuntimeError("the mock server has no output")
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


async def all_cases(base_url: str) -> list[Row]:
    """The rows of all cases."""
    rows: list[Row] = []
    for name, case in (
        ("ten tool turns", tool_turns(base_url, 10, pairs=12, target=0.15)),
        ("fifty tool turns", tool_turns(base_url, 50, pairs=5, target=0.06)),
        ("a policy", labelled_turns(base_url, 10, pairs=12, target=1.05)),
        ("200 runs at once", side_by_side(base_url, 200, 5, pairs=3, target=0.45)),
        ("streamed deltas", deltas(base_url, 400, pairs=8, target=12)),
    ):
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        rows += await case
    return rows


async def _executor_cases() -> list[Row]:
    return [*await executor_rows(), *await cpu_rows()]


def show(
    what: str,
    rows: Iterable[Row],
    columns: tuple[str, str] = ("CPU", "vendor's AsyncOpenAI"),
) -> bool:
    """Print a Markdown table; says whether all targets are met."""
    print(f"| {what} | {' | '.join(columns)} | ratio (lowest to highest) | target |")
    print("|---|--:|--:|--:|--:|")
    is_met = True
    for row in rows:
        print(row, flush=True)
        is_met &= row.is_met
    print("\nAll targets are met." if is_met else "\nA target is missed.")
    return is_met


def main() -> int:
    """Measure, print a table, say whether all targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", action="store_true", help="measure other frameworks instead")
    parser.add_argument("--executors", action="store_true", help="measure the executors instead")
    asked = parser.parse_args()
    peers: bool = asked.peers
    if asked.executors:
        rows = asyncio.run(_executor_cases())
        return int(not show("case", rows, columns=("time", "floor")))
    with mock_server() as base_url:
        if peers:
            is_met = show("ten tool turns", peer_rows(base_url))
            is_met &= show("ten steps of code", code_agent_rows(base_url), ("CPU", "smolagents"))
        else:
            is_met = show("case", asyncio.run(all_cases(base_url)))
            is_met = print_matrix() and is_met
            is_met = print_providers() and is_met
            is_met = print_options(all_models()) and is_met
    return int(not is_met)


if __name__ == "__main__":
    sys.exit(main())
