"""`make bench`: all cases, each beside its floor and its target; fails when a target is missed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agent_loop import deltas, tool_turns

HERE = Path(__file__).parent


@contextmanager
def mock_server() -> Iterator[str]:
    """The mock server's base URL; it runs in a process of its own, so its CPU is not counted."""
    with subprocess.Popen(
        [sys.executable, str(HERE / "mock_server.py")], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            if server.stdout is None:
                raise RuntimeError("the mock server has no output")
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


async def all_cases(base_url: str) -> list[dict[str, Any]]:
    """The rows of all cases."""
    rows: list[dict[str, Any]] = []
    for name, case in (
        ("ten tool turns", tool_turns(base_url, 10, pairs=12)),
        ("fifty tool turns", tool_turns(base_url, 50, pairs=5)),
        ("streamed deltas", deltas(base_url, 400, pairs=8)),
    ):
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        rows += await case
    return rows


def main() -> int:
    """Run, print a Markdown table, say whether all targets are met."""
    with mock_server() as base_url:
        rows = asyncio.run(all_cases(base_url))
    print("| case | CPU | vendor's AsyncOpenAI | ratio (lowest to highest) | target |")
    print("|---|--:|--:|--:|--:|")
    missed = False
    for row in rows:
        target = row["target"]
        missed |= target is not None and row["value"] > target
        goal = "-" if target is None else f"<= {target}"
        print(f"| {row['case']} | {row['figure']} | {row['floor']} | {row['shown']} | {goal} |")
    print("\nA target is missed." if missed else "\nAll targets are met.")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
