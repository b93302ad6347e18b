"""Plays all tasks and attacks with a policy: `python -m benchmarks.lively.policy`.

The policies in `policies/` are drafts of `tinyagent policy draft`, of which at most ten lines were
changed. Nobody is asked, except in the column that says so. `adaptive` is an attacker who makes his
calls again: in other spellings, with a part of each text, by every other tool that takes a text,
and after the user's calls. Intervals are the middle 95 % of 2,000 samples of tasks or attacks with
replacement.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from tinyagent import Decision, Middleware, ToolCall
from tinyagent.provenance import Provenance
from tinyagent.provenance.policies.draft import draft

from .domains import DOMAINS
from .parts import Attack, Call, Domain
from .play import Mode, run

POLICIES = Path(__file__).parent / "policies"
NAMES = ("alone", "person", "questions", "consequential", "first", "last", "adaptive")
_SAMPLES = 2_000
_SPELLINGS = (
    str.upper,
    str.title,
    lambda text: f" {text} ",
    lambda text: f"{text}\u200b",
    lambda text: text.partition(" ")[0],
    lambda text: text.rpartition(" ")[2],
    lambda text: text.replace("@", " @ ").replace("://", ":// "),
    lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
)


def policy_of(domain: Domain, *, is_draft: bool = False) -> Any:
    """The policy of a domain, or its draft without a change."""
    if is_draft:
        text = draft(domain.declared_tools(domain.world()))
    else:
        text = (POLICIES / f"{domain.name}.yaml").read_text()
    return yaml.safe_load(text)


def changed_lines(domain: Domain) -> int:
    """How many lines of the draft the policy changes, without their comments."""
    drafted = _plain(draft(domain.declared_tools(domain.world())))
    kept = _plain((POLICIES / f"{domain.name}.yaml").read_text())
    added = [line for line in difflib.ndiff(drafted, kept) if line.startswith("+ ")]
    return len(added)


def _plain(text: str) -> list[str]:
    return [line.partition(" #")[0].rstrip() for line in text.splitlines() if line[:1] != "#"]


def adaptive(attack: Attack, domain: Domain) -> Iterator[Attack]:
    """The same attack in other words, and by other tools."""
    for change in _SPELLINGS:
        calls = tuple(
            replace(each, arguments=_changed(each.arguments, change)) for each in attack.calls
        )
        yield replace(attack, calls=calls)
    last = attack.calls[-1]
    texts = list(_texts(last.arguments))
    for tool in domain.tools(domain.world()):
        properties = tool.json_schema.get("properties", {})
        if tool.name == last.tool or domain.annotations[tool.name].get("read_only") or not texts:
            continue
        arguments = {
            name: [texts[0]] if "items" in each else texts[0] for name, each in properties.items()
        }
        yield replace(attack, calls=(*attack.calls, Call(tool.name, arguments)))


def _changed(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _changed(item, change) for key, item in value.items()}
    return [_changed(item, change) for item in value] if isinstance(value, list) else value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _texts(item)


async def _approve(call: ToolCall) -> Decision:
    return Decision(approved=call.id.startswith("user"))


async def measure(
    domain: Domain, policy: dict[str, Any], *, is_adaptive: bool
) -> dict[str, list[int]]:
    """What happened in each task and attack, as ones and zeros, or as counts."""

    def guard() -> list[Middleware]:
        return [Provenance.from_dict(policy)]

    found: dict[str, list[int]] = {
        name: []
        for name in ("alone", "person", "questions", "consequential", "first", "last", "adaptive")
    }
    for task in domain.tasks:
        alone = await run(task, middleware=guard())
        person = await run(task, middleware=guard(), ask=_approve)
        found["alone"].append(alone.done)
        found["person"].append(person.done)
        found["questions"].append(person.questions)
        made = [name for name, _ in alone.executed if not domain.annotations[name].get("read_only")]
        found["consequential"].append(len(made))
    tasks = {task.id: task for task in domain.tasks}
    modes: tuple[Mode, ...] = ("first", "last")
    for attack in domain.attacks:
        task = tasks[attack.task]
        for mode in modes:
            found[mode].append((await run(task, attack, middleware=guard(), mode=mode)).reached)
        if is_adaptive:
            others = [
                (await run(task, other, middleware=guard(), mode="last")).reached
                for other in adaptive(attack, domain)
            ]
            found["adaptive"].append(any(others))
        print(f"\r{domain.name}: {len(found['last'])} attacks", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def interval(values: Sequence[int]) -> str:
    """The mean with its interval by bootstrap."""
    if not values:
        return "-"
    chance = random.Random(0)  # noqa: S311 - samples
    means = sorted(
        sum(chance.choices(values, k=len(values))) / len(values) for _ in range(_SAMPLES)
    )
    low, high = means[int(0.025 * _SAMPLES)], means[int(0.975 * _SAMPLES) - 1]
    return f"{sum(values) / len(values):.2f} ({low:.2f} to {high:.2f})"


async def main(options: argparse.Namespace) -> None:
    """Print a table."""
    print(f"| domain | lines changed | {' | '.join(NAMES)} |")
    print(f"|---|---|{'---|' * len(NAMES)}")
    every: dict[str, list[int]] = {name: [] for name in NAMES}
    for domain in DOMAINS.values():
        policy = policy_of(domain, is_draft=options.draft)
        found = await measure(domain, policy, is_adaptive=options.adaptive)
        lines = 0 if options.draft else changed_lines(domain)
        cells = " | ".join(f"{sum(found[name])} of {len(found[name])}" for name in NAMES)
        print(f"| {domain.name} | {lines} | {cells} |")
        for name in NAMES:
            every[name] += found[name]
    print(f"| all | | {' | '.join(interval(every[name]) for name in NAMES)} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draft", action="store_true", help="the drafts as they are")
    parser.add_argument("--adaptive", action="store_true", help="the attacker who tries again")
    asyncio.run(main(parser.parse_args()))
