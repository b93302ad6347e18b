"""The bench on which promises are tried: fresh sessions, canaries, and what came of a try."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tinyagent.execution.doctor.canaries import Canaries
from tinyagent.execution.limits import ExecutionLimits, TrustLevel
from tinyagent.execution.protocol import ExecutionResult, Executor

LIMITS = ExecutionLimits(timeout_seconds=5, max_memory_bytes=2**26, max_file_bytes=2**20)
_TRYING = """
found = {}

def fail():
    raise LookupError("not there")

def attempt(name, act):
    try:
        act()
    except Exception as error:
        found[name] = type(error).__name__
    else:
        found[name] = ""

"""


class Finding(NamedTuple):
    """What came of trying a promise: whether it held, and what was done, in words."""

    held: bool
    tried: str


class ProbeFailed(Exception):
    """A probe did not come to its end, so it shows nothing; the message says what ended it."""


Open = Callable[[ExecutionLimits], Executor]


@dataclass(frozen=True, slots=True)
class Bench:
    """Where a probe runs.

    Args:
        trust_level: that is tried.
        engine: its engine; None for the level's own.
        canaries: what must stay untouched.
        open: makes an executor of this level.
    """

    trust_level: TrustLevel
    engine: str | None
    canaries: Canaries
    open: Open

    async def steps(self, *codes: str, limits: ExecutionLimits = LIMITS) -> list[ExecutionResult]:
        """Run the steps in one fresh session, which knows where the canaries are."""
        async with self.open(limits) as executor:
            for name, value in self.canaries.facts().items():
                executor.inject(name, value)
            return [await executor.run(code) for code in codes]

    async def attempts(self, acts: Mapping[str, str], setup: str = "") -> Finding:
        """Whether all of these are refused.

        Args:
            acts: expressions, by what they try; each raises if it gets nothing.
            setup: statements before them.

        Raises:
            ProbeFailed: the code ended before all had been tried.
        """
        lines = [f"attempt({name!r}, lambda: {act})" for name, act in acts.items()]
        code = "\n".join([setup, _TRYING, *lines, "found"])
        (result,) = await self.steps(code)
        if result.error is not None:
            raise ProbeFailed(result.error.strip().splitlines()[-1])
        outcomes: dict[str, str] = result.value
        harm = self.canaries.harm()
        succeeded = [name for name in acts if not outcomes.get(name)]
        if succeeded or harm:
            return Finding(held=False, tried=f"went through: {', '.join([*succeeded, *harm])}")
        return Finding(held=True, tried=f"{', '.join(acts)}: refused")


Probe = Callable[[Bench], Awaitable[Finding]]
