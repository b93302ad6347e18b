"""What the check of a code agent's blocks costs: 100 lines, and its share of ten code steps.

python benchmarks/code_check.py
"""

from __future__ import annotations

import ast
import asyncio
import statistics
import time
from collections.abc import Callable

from code_agent_blocks import STEPS, block
from code_agent_cpu import children_seconds, wait_for_children

from tinyagent import ScriptedModel, TinyCodeAgent, Tool
from tinyagent.agents.code_check.check import CodeCheck
from tinyagent.agents.code_prompt import HELPERS
from tinyagent.core.errors import MalformedReply
from tinyagent.execution.trust import ISOLATED_IMPORTS

ROUNDS = 50
RUNS = 30
MAX_MILLISECONDS = 20.0
MAX_SHARE = 0.03
PROGRAM = """
import json
from collections import Counter

class Basket:
    def __init__(self, name, lines=()):
        self.name = name
        self.lines = list(lines)

    def total(self):
        return sum(add(count, price) for count, price in self.lines)

def report(baskets):
    counts = Counter(basket.name for basket in baskets)
    for basket in sorted(baskets, key=lambda each: each.total()):
        try:
            share = basket.total() / counts[basket.name]
        except ZeroDivisionError as error:
            print(f"{basket.name}: {error}")
        else:
            print(basket.name, f"{share:.2f}", json.dumps(basket.lines))
    return {basket.name: basket.total() for basket in baskets}

baskets = [Basket("tea", [(1, 2)]), Basket("milk", [(3, 4), (5, 6)])]
""".strip()


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


TOOL = Tool.from_function(add)


def of_new_run() -> CodeCheck:
    """The check of a new run."""
    return CodeCheck(HELPERS, ISOLATED_IMPORTS, knows_names=True, is_module=True)


def cpu(action: Callable[[], object]) -> float:
    """The median CPU milliseconds of an action."""
    taken: list[float] = []
    for _ in range(ROUNDS):
        began = time.process_time()
        action()
        taken.append(time.process_time() - began)
    return statistics.median(taken) * 1000


def check_run(trees: list[ast.Module]) -> None:
    """Check all blocks of a run."""
    check = of_new_run()
    for tree in trees:
        check.check(tree, {"add": TOOL})


async def run_steps(blocks: list[str]) -> None:
    """One run of a code agent, in its sandbox."""
    replies = [f"```python\n{code}\n```" for code in blocks]
    await TinyCodeAgent(ScriptedModel(replies), [TOOL], max_steps=len(blocks)).run("go")


def milliseconds_of_runs(blocks: list[str]) -> float:
    """CPU milliseconds of a run with its sandbox, the mean of many."""
    asyncio.run(run_steps(blocks))  # starts the template
    wait_for_children(None)
    began = time.process_time() + children_seconds()
    for _ in range(RUNS):
        asyncio.run(run_steps(blocks))
    wait_for_children(None)
    return (time.process_time() + children_seconds() - began) / RUNS * 1000


def main() -> None:
    """Print both figures beside their targets."""
    parts = "\n".join([PROGRAM] * 5).split("\n")[:100]
    lines = ast.parse("\n".join(parts))
    whole = cpu(lambda: check_run([lines]))
    print(f"check of {len(parts)} lines: {whole:.2f} ms of CPU, at most {MAX_MILLISECONDS:g}")
    faulty = ast.parse("\n".join([*parts, "add('x', c=1)", "print(basket)"]))

    def refuse() -> None:
        try:
            check_run([faulty])
        except MalformedReply:
            return

    print(f"with two faults: {cpu(refuse):.2f} ms")
    blocks = [block(number) for number in range(STEPS + 1)]
    trees = [ast.parse(code) for code in blocks]
    checks, steps = cpu(lambda: check_run(trees)), milliseconds_of_runs(blocks)
    print(
        f"ten code steps: {steps:.1f} ms of CPU, their checks {checks:.2f} ms:"
        f" {checks / steps:.1%}, at most {MAX_SHARE:.0%}"
    )


if __name__ == "__main__":
    main()
