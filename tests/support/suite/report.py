"""What a run prints: a line for each shard as it ends, then what failed and what it took."""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.support.suite.processes import Ran
from tests.support.suite.times import Times, function_of


def say(text: str) -> None:
    """Print at once."""
    print(text, flush=True)  # noqa: T201


def say_shard(number: int, total: int, ran: Ran) -> None:
    """One line for a shard; what it printed if something failed."""
    counts = Counter(result["outcome"] for result in ran.results)
    words = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())) or "none"
    took = f"{ran.seconds:.0f} s (expected {ran.shard.seconds:.0f}), {ran.held} MB"
    say(f"[{number}/{total}] {ran.shard.name}: {words}; {took}")
    if ran.failed or ran.fault or ran.vanished:
        say(ran.output)
    for fault in (ran.fault, ran.vanished and f"these did not run: {', '.join(ran.vanished)}"):
        if fault:
            say(f"{ran.shard.name}: {fault}")


def say_skipped(all_ran: Sequence[Ran]) -> None:
    """The reasons why items were skipped, and how many for each."""
    reasons = Counter(
        result["reason"].partition("\n")[0][:200]
        for ran in all_ran
        for result in ran.results
        if result["outcome"] == "skipped"
    )
    for reason, count in reasons.most_common():
        say(f"skipped {count}: {reason}")


def say_unknown(all_ran: Sequence[Ran], times: Times) -> None:
    """How many functions without a recorded cost ran whole, and how long they took."""
    seconds: Counter[tuple[str, str]] = Counter()
    for result in (result for ran in all_ran for result in ran.results):
        path, name = function_of(result["id"])
        if name not in times.get(path, {}):
            seconds[path, name] += result["seconds"]
    if seconds:
        what = f"{len(seconds)} functions whose cost is not known ran whole"
        say(f"{what}, in {seconds.total():.0f} s: make test-times ROOM=... records it")


def say_totals(all_ran: Sequence[Ran], seconds: float, sources: Path) -> None:
    """How many items ran, how long it took, CPU time and memory."""
    counts = Counter(result["outcome"] for ran in all_ran for result in ran.results)
    words = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()))
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = usage.ru_utime + usage.ru_stime
    lines = sum(len(file.read_bytes().splitlines()) for file in sources.rglob("*.py"))
    rate = f", {1000 * cpu / lines:.2f} for 1,000 lines of source" if lines else ""
    largest = max(all_ran, key=lambda ran: ran.held, default=None)
    if largest:
        say(f"the largest process held {largest.held} MB after a test ({largest.shard.name})")
    say(f"{words or 'nothing'} in {seconds:.0f} s; {cpu:.0f} s of CPU{rate}")
