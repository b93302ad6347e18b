"""Twenty tasks with mails and files for a small local model, sealed and not: what it still solves.

The model is Qwen2.5-Coder-1.5B by llama.cpp at temperature 0 (`tests/support/large_model.py`).

    python benchmarks/sealed_model.py
    python benchmarks/sealed_model.py --only copy,lines --show
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from sealed_tasks import GUARD, TASKS, Desk, DeskTask
from small_model import MODEL, served

from tinyagent import OpenAIModel, RunResult, TinyAgentError, TinyCodeAgent


async def _run(model: OpenAIModel, task: DeskTask, *, sealed: bool) -> tuple[bool, RunResult[str]]:
    """Whether the task was solved, and the run."""
    desk = Desk()
    agent = TinyCodeAgent(
        model,
        desk.tools,
        middleware=[GUARD] if sealed else [],
        sealed=sealed,
        temperature=0,
        max_steps=6,
        max_tokens=250,
    )
    result = await agent.run(task.task, return_result=True)
    is_right = result.state == "completed" and task.is_right(desk, str(result))
    return is_right, result


async def _compare(base_url: str, tasks: Sequence[DeskTask], *, show: bool) -> None:
    """Run the tasks both ways, and print a line for each run and each way."""
    model = OpenAIModel(MODEL, base_url=base_url, timeout=900)
    for sealed in (False, True):
        way, solved, tokens = "sealed" if sealed else "plain", 0, 0
        for task in tasks:
            is_right, result = await _run(model, task, sealed=sealed)
            solved += is_right
            tokens += result.usage.input_tokens
            mark = "solved" if is_right else "  -   "
            answer = " ".join(str(result).split())[:80]
            sys.stdout.write(f"{way:<6} {task.name:<8} {mark} {result.state:<12} {answer}\n")
            if show:
                for step in result.steps:
                    sys.stdout.write(f"    {step}\n")
            sys.stdout.flush()
        sys.stdout.write(f"{way}: {solved} of {len(tasks)}, {tokens:,} prompt tokens\n")


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default="", help="names of tasks, separated by commas")
    parser.add_argument("--show", action="store_true", help="print the steps of each run")
    given = parser.parse_args()
    wanted = set(filter(None, given.only.split(",")))
    tasks = [task for task in TASKS if not wanted or task.name in wanted]
    with served() as base_url:
        asyncio.run(_compare(base_url, tasks, show=given.show))


if __name__ == "__main__":
    try:
        _main()
    except TinyAgentError as error:
        sys.exit(f"error: {error}")
