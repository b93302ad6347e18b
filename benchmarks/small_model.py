"""Twenty tasks with ten tools for a small local model, by both agents: solved, steps, tokens.

The model is Qwen2.5-Coder-1.5B by llama.cpp at temperature 0 (`tests/support/large_model.py`).

    python benchmarks/small_model.py              # all agents
    python benchmarks/small_model.py code react   # those that are named
    python benchmarks/small_model.py code --only capital,tree --out runs.jsonl
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from small_model_tasks import TASKS, TOOLS, SmallTask

from tinyagent import OpenAIModel, ReactAgent, RunResult, TinyAgentError, TinyCodeAgent

MODEL = "qwen2.5-coder-1.5b-instruct"
SERVER = Path(__file__).parents[1] / "tests" / "support" / "large_model.py"
_OPTIONS: dict[str, Any] = {"max_steps": 8, "max_tokens": 250}


def _code_agent(model: OpenAIModel, task: SmallTask) -> TinyCodeAgent[Any]:
    return TinyCodeAgent(model, TOOLS, output_type=task.output_type, temperature=0, **_OPTIONS)


def _react_agent(model: OpenAIModel, task: SmallTask) -> ReactAgent[Any]:
    return ReactAgent(model, TOOLS, output_type=task.output_type, temperature=0, **_OPTIONS)


def _parsed_agent(model: OpenAIModel, task: SmallTask) -> ReactAgent[Any]:
    options = {**_OPTIONS, "tool_calling_mode": "parsed", "temperature": 0}
    return ReactAgent(model, TOOLS, output_type=task.output_type, **options)


AGENTS: dict[str, Callable[[OpenAIModel, SmallTask], Any]] = {
    "code": _code_agent,
    "react": _react_agent,
    "parsed": _parsed_agent,
}


class Outcome(NamedTuple):
    """One run of a task by an agent."""

    agent: str
    task: str
    solved: bool
    state: str
    requests: int
    input_tokens: int
    seconds: float

    def __str__(self) -> str:
        mark = "solved" if self.solved else "  -   "
        return (
            f"{self.agent:<6} {self.task:<16} {mark} {self.state:<20} {self.requests:>2} requests"
            f" {self.input_tokens:>6} tokens {self.seconds:>5.0f} s"
        )


@contextmanager
def served() -> Generator[str]:
    """The base URL of the model's server."""
    command = [sys.executable, str(SERVER)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        base_url = process.stdout.readline().strip() if process.stdout else ""
        if not base_url:
            sys.exit("the model did not start; get it with: make test-models")
        try:
            yield base_url
        finally:
            process.kill()


async def _run(agent: str, model: OpenAIModel, task: SmallTask, out: TextIO | None) -> Outcome:
    start = time.monotonic()
    result = await AGENTS[agent](model, task).run(task.task, return_result=True)
    seconds = time.monotonic() - start
    outcome = Outcome(
        agent=agent,
        task=task.name,
        solved=result.state == "completed" and _is_right(task, result),
        state=result.state,
        requests=result.usage.requests,
        input_tokens=result.usage.input_tokens,
        seconds=seconds,
    )
    if out is not None:
        messages = [str(message.content) for message in _messages(result)]
        record = outcome._asdict() | {"output": repr(result.output), "messages": messages}
        out.write(json.dumps(record) + "\n")
        out.flush()
    return outcome


def _is_right(task: SmallTask, result: RunResult[Any]) -> bool:
    try:
        return task.is_right(result.output)
    except (AttributeError, LookupError, TypeError, ValueError):
        return False


def _messages(result: RunResult[Any]) -> Any:
    memory = result.memory
    return memory.messages if hasattr(memory, "messages") else memory.to_messages()


async def _compare(
    agents: Iterable[str], base_url: str, tasks: Sequence[SmallTask], out: TextIO | None
) -> None:
    """Run the tasks by each agent, and print a line for each run and each agent."""
    model = OpenAIModel(MODEL, base_url=base_url, timeout=900)
    for agent in agents:
        outcomes: list[Outcome] = []
        for task in tasks:
            outcomes.append(await _run(agent, model, task, out))
            sys.stdout.write(f"{outcomes[-1]}\n")
            sys.stdout.flush()
        solved = sum(outcome.solved for outcome in outcomes)
        tokens = sum(outcome.input_tokens for outcome in outcomes)
        sys.stdout.write(f"{agent}: {solved} of {len(outcomes)}, {tokens:,} prompt tokens\n")


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("agents", nargs="*", default=[], metavar="AGENT", help=", ".join(AGENTS))
    parser.add_argument("--only", default="", help="names of tasks, separated by commas")
    parser.add_argument("--out", type=Path, help="where the runs are written, as lines of JSON")
    given = parser.parse_args()
    wanted = set(filter(None, given.only.split(",")))
    tasks = [task for task in TASKS if not wanted or task.name in wanted]
    out = given.out.open("a") if given.out else None
    with served() as base_url:
        asyncio.run(_compare(given.agents or AGENTS, base_url, tasks, out))


if __name__ == "__main__":
    try:
        _main()
    except TinyAgentError as error:
        sys.exit(f"error: {error}")
