"""What an attack is: code, the proof that it would succeed unhindered, what the host checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from textwrap import dedent
from typing import Any

from tests.tinyagent.execution.attacks.outcome import Outcome

_SLOW = re.compile(r"\b(numpy|pandas|pyarrow|matplotlib\.pyplot)\b")

Check = Callable[[Outcome], None]


class Proof(StrEnum):
    """What the attack does in plain Python: how it is shown that its code is not a mere typo."""

    ESCAPES = "prints the mark of success"
    HANGS = "does not come back"
    RUNS_OUT = "ends with a MemoryError or RecursionError"
    CRASHES = "is ended by a signal"
    FLOODS = "prints more than a megabyte"
    WRITES = "writes frames to a socket of the host"
    RUNS = "comes to its end without an error"
    RAISES = "raises what it means to raise"
    NONE = "is not run: it would harm the machine, or needs the sandbox around it"


@dataclass(frozen=True, slots=True)
class Attack:
    """Steps of hostile code. They print `WON` (see `preamble`) when they really got something.

    Args:
        name: unique within the group.
        steps: source code.
        proof: what plain Python makes of it.
        checks: asked after the steps, besides what is asked after every attack.
        may_lose: whether the session's variables may be lost, if that is said.
        resets: whether the code breaks its own session, so that only `reset` repairs it.
        imports: of the sandbox.
        root: whether the proof needs root.
        group: what it belongs to.
    """

    name: str
    steps: tuple[str, ...]
    proof: Proof = Proof.ESCAPES
    checks: tuple[Check, ...] = ()
    may_lose: bool = False
    resets: bool = False
    imports: tuple[str, ...] = ("*",)
    root: bool = False
    group: str = ""

    @property
    def libraries(self) -> list[str]:
        """The modules that it uses and that take long to load."""
        return sorted({name for step in self.steps for name in _SLOW.findall(step)})

    @property
    def loops(self) -> bool:
        """Whether its last step never ends."""
        return "while True: pass" in self.steps[-1]

    @property
    def leaves_its_mark(self) -> bool:
        """Whether it makes processes that go by the attacks' mark."""
        return any("MARK.encode()" in step for step in self.steps)

    @property
    def id(self) -> str:
        """Its name among all."""
        return f"{self.group}: {self.name}"


def attack(name: str, *steps: str, **options: Any) -> Attack:
    """An attack; its steps may be indented."""
    return Attack(name, tuple(dedent(step).strip("\n") for step in steps), **options)


def gets(name: str, expression: str, setup: str = "", **options: Any) -> Attack:
    """An attack that wins if the expression gives anything."""
    return attack(name, f"{dedent(setup)}\ngot = {expression}\nif got: print(WON, got)", **options)


def gets_any(setup: str = "", /, *, root: bool = False, **expressions: str) -> Iterator[Attack]:
    """One attack an expression, each after the same setup."""
    for name, expression in expressions.items():
        yield gets(name.replace("_", " "), expression, setup, root=root)


def hangs(name: str, *steps: str, **options: Any) -> Attack:
    """An attack that does not return."""
    return attack(name, *steps, **{"proof": Proof.HANGS, "checks": (timed_out,), **options})


def group(name: str, *attacks: Attack | Iterable[Attack]) -> tuple[Attack, ...]:
    """The attacks, each with its group."""
    flat: list[Attack] = []
    for item in attacks:
        flat.extend([item] if isinstance(item, Attack) else item)
    return tuple(replace(item, group=name) for item in flat)


def timed_out(outcome: Outcome) -> None:
    """The last step was ended by its time limit."""
    assert outcome.results[-1].timed_out, outcome.results[-1]


def ended(outcome: Outcome) -> None:
    """Whatever happened was reported as an error."""
    assert outcome.results[-1].error, outcome.results[-1]


def no_answer(outcome: Outcome) -> None:
    """No final answer was taken."""
    assert not any(result.is_final for result in outcome.results), outcome.results


@dataclass(frozen=True, slots=True)
class Answers:
    """The last step's final answer is this one."""

    value: Any

    def __call__(self, outcome: Outcome) -> None:
        last = outcome.results[-1]
        assert (last.is_final, last.final_value) == (True, self.value), last


@dataclass(frozen=True, slots=True)
class Prints:
    """The last step printed this and nothing else."""

    text: str

    def __call__(self, outcome: Outcome) -> None:
        assert outcome.results[-1].output == self.text, outcome.results[-1]


@dataclass(frozen=True, slots=True)
class Heard:
    """The host's tool `echo` was given these values, as plain data, in this order."""

    values: tuple[Any, ...] = field(default_factory=tuple[Any, ...])

    def __call__(self, outcome: Outcome) -> None:
        assert tuple(outcome.heard) == self.values, (outcome.heard, outcome.results)
