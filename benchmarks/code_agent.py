"""What a step of a code agent costs, beside smolagents' `CodeAgent` in the same run.

Each runs in its own process, in its own environment, and they take turns; sandboxes count.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

from pairs import Row
from peer_table import HERE, python_of

ROUNDS = 7
TARGET = 0.5
OURS = {
    "isolated": "ISOLATED, each step in a fork (the default)",
    "no-checkpoints": "ISOLATED, without checkpoints",
    "local": "LOCAL, no boundary either",
}


class Figures(NamedTuple):
    """CPU milliseconds of one run: all of it, and without the model's client and the code."""

    whole: float
    beyond: float


class Runner:
    """A framework in a process that measures when it is asked to."""

    def __init__(self, stack: ExitStack, framework: str, executor: str, base_url: str) -> None:
        pins = HERE / "peers" / f"{framework}.txt"
        python = python_of(framework, pins.read_text() if pins.exists() else "")
        command = [python, str(HERE / "code_agent_runner.py"), framework, executor, base_url]
        self._process = stack.enter_context(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )

    def figures(self) -> Figures:
        """Those of some runs.

        Raises:
            ValueError: it has ended.
        """
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the process has no pipes")
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        figures = json.loads(self._process.stdout.readline())
        return Figures(figures["whole"], figures["whole"] - figures["client"] - figures["code"])


def code_agent_rows(base_url: str) -> Iterator[Row]:
    """Two rows for each executor of tinyagent: with the model's client, and without."""
    print("measuring code agents ...", file=sys.stderr, flush=True)
    with ExitStack() as stack:
        other = Runner(stack, "smolagents", "local", base_url)
        ours = {name: Runner(stack, "tinyagent", name, base_url) for name in OURS}
        rounds = [
            (other.figures(), {name: runner.figures() for name, runner in ours.items()})
            for _ in range(ROUNDS)
        ]
    for name, title in OURS.items():
        pairs = [(mine[name], theirs) for theirs, mine in rounds]
        ratios = [mine.whole / theirs.whole for mine, theirs in pairs]
        ratio = statistics.median(ratios)
        target = TARGET if name == "isolated" else None
        yield Row(
            title,
            *_shown([mine.whole for mine, _ in pairs], [theirs.whole for _, theirs in pairs]),
            f"{ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
            "-" if target is None else f"<= {target}",
            target is None or ratio <= target,
        )
        mine, theirs = [mine.beyond for mine, _ in pairs], [theirs.beyond for _, theirs in pairs]
        ratio = statistics.median(mine) / statistics.median(theirs)
        yield Row(
            "the same, beyond the model's client and the code",
            *_shown(mine, theirs),
            f"{ratio:.1f}",
        )


def _shown(mine: list[float], theirs: list[float]) -> tuple[str, str]:
    """The medians."""
    return f"{statistics.median(mine):.1f} ms", f"{statistics.median(theirs):.1f} ms"
