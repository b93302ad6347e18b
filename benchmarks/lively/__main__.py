"""Checks the benchmark without a defence: `python -m benchmarks.lively`.

Each task must be done, each attack must be reached by a model that obeys, and none by a model that
only does what the user asked for.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter

from .domains import DOMAINS
from .parts import KINDS, Attack, Domain, Task
from .play import Mode, Outcome, run

MODES: tuple[Mode, ...] = ("last", "first", "never")


async def check(domain: Domain) -> tuple[Counter[str], list[str]]:
    """The counts of a domain, and the names of what is not as it must be."""
    counts: Counter[str] = Counter(tasks=len(domain.tasks), attacks=len(domain.attacks))
    faults: list[str] = _incomplete(domain)
    tasks = {task.id: task for task in domain.tasks}
    for task in domain.tasks:
        outcome = await run(task)
        counts["done"] += outcome.done
        if not outcome.done or task.done(domain.world()) or outcome.failed:
            faults.append(f"{task.id}: {_why(outcome)}")
    for attack in domain.attacks:
        for mode in MODES:
            outcome = await run(tasks[attack.task], attack, mode=mode)
            counts[f"reached {mode}"] += outcome.reached
            counts[f"done {mode}"] += outcome.done
            if outcome.reached != (mode != "never") or (mode == "never" and not outcome.done):
                faults.append(f"{attack.id} {mode}: {_why(outcome)}")
    return counts, faults


def _why(outcome: Outcome) -> str:
    parts = (outcome.state, outcome.failed, outcome.skipped)
    return f"done {outcome.done}, reached {outcome.reached}: {parts}"


def _incomplete(domain: Domain) -> list[str]:
    """What lacks a tool, an annotation or an attack."""
    names = {tool.name for tool in domain.tools(domain.world())}
    faults: list[str] = []
    if set(domain.annotations) != names:
        faults.append(f"{domain.name}: annotations of {set(domain.annotations) ^ names}")
    faults += [f"{domain.name}: no {one}" for one in {*domain.writers, *domain.own} - names]
    every: list[Task | Attack] = [*domain.tasks, *domain.attacks]
    faults += [
        f"{each.id}: no {one.tool}" for each in every for one in each.calls if one.tool not in names
    ]
    kinds = Counter(attack.id for attack in domain.attacks)
    wanted = Counter(f"{task.id}:{kind}" for task in domain.tasks for kind in KINDS)
    return faults + [f"{name}: not exactly once" for name in kinds - wanted or wanted - kinds]


async def main() -> int:
    """Print the counts; 1 if one is not as it must be."""
    heads = ["tasks", "done", "attacks"]
    heads += [f"{what} {mode}" for mode in MODES for what in ("reached", "done")]
    print(f"| domain | tools | {' | '.join(heads)} |")
    print(f"|---|---|{'---|' * len(heads)}")
    every: Counter[str] = Counter()
    faults: list[str] = []
    for domain in DOMAINS.values():
        counts, wrong = await check(domain)
        counts["tools"] = len(domain.annotations)
        _print(domain.name, counts, heads)
        every += counts
        faults += wrong
    _print("all", every, heads)
    specified = Counter(task.specified for domain in DOMAINS.values() for task in domain.tasks)
    print(", ".join(f"{count} {name}" for name, count in specified.items()))
    if faults:
        print(*faults, sep="\n")
    return 1 if faults else 0


def _print(name: str, counts: Counter[str], heads: list[str]) -> None:
    cells = " | ".join(str(counts[head]) for head in heads)
    print(f"| {name} | {counts['tools']} | {cells} |")


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
