"""Several candidates for one answer, of which a check chooses."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any, Generic, TypeVar

from pydantic_core import to_jsonable_python

from tinyagent.core.errors import CallerError, ConfigurationError, NoCandidatePassed
from tinyagent.core.results import RunResult
from tinyagent.core.threads import run_in_thread
from tinyagent.core.types import Usage
from tinyagent.execution.protocol import Executor, Forkable

__all__ = ["BestOf", "Check", "NoCandidatePassed", "choose"]

T = TypeVar("T")
Score = bool | int | float
Check = str | Callable[[RunResult[Any]], Score | Awaitable[Score]]
"""Code that tests `answer` in the candidate's sandbox, or a function of a candidate's result."""


@dataclass(frozen=True, slots=True)
class BestOf(Generic[T]):
    """The candidates for an answer, and the one that a check chose.

    Attributes:
        chosen: The candidate with the highest score; the first of several.
        candidates: The result of each run, in the order in which they were begun.
        scores: What the check gave each candidate; None if it has no answer or did not pass.
    """

    chosen: RunResult[T]
    candidates: tuple[RunResult[T], ...]
    scores: tuple[float | None, ...]

    @property
    def output(self) -> T:
        """The answer that was chosen."""
        return self.chosen.output

    @property
    def usage(self) -> Usage:
        """The model requests and tokens of all candidates together."""
        return reduce(add, (each.usage for each in self.candidates))


async def choose(
    executor: Executor, n: int, run_in: Callable[[Executor], Awaitable[RunResult[T]]], check: Check
) -> BestOf[T]:
    """Run candidates in branches of the executor, side by side, and let the check choose.

    Raises:
        ConfigurationError: `n` is less than 1, or the executor cannot have branches.
        CallerError: The check gave something else than a bool or a number, or there is no room for
            so many branches.
        NoCandidatePassed: No candidate has an answer that passes.
    """
    if not isinstance(executor, Forkable):
        raise ConfigurationError("best_of: the executor has no fork(n)")
    branches = await executor.fork(n)
    tasks = [asyncio.ensure_future(_judged(branch, run_in, check)) for branch in branches]
    try:
        judged = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await asyncio.gather(*(branch.aclose() for branch in branches))
    results, scores = tuple(result for result, _ in judged), tuple(score for _, score in judged)
    passed = [number for number, score in enumerate(scores) if score is not None]
    if not passed:
        raise NoCandidatePassed(results)
    return BestOf(results[max(passed, key=lambda at: scores[at] or 0.0)], results, scores)


async def _judged(
    branch: Executor, run_in: Callable[[Executor], Awaitable[RunResult[T]]], check: Check
) -> tuple[RunResult[T], float | None]:
    result = await run_in(branch)
    if result.state != "completed":
        return result, None
    if isinstance(check, str):
        return result, await _tested(branch, result.output, check)
    if inspect.iscoroutinefunction(check):
        return result, _score(await check(result))
    given = await run_in_thread(partial(check, result))
    return result, _score(await given if inspect.isawaitable(given) else given)


async def _tested(branch: Executor, answer: object, code: str) -> float | None:
    """The score that code gives an answer: its last value if that is one, otherwise 1."""
    branch.inject("answer", to_jsonable_python(answer))
    outcome = await branch.run(code)
    if outcome.error is not None:
        return None
    return _score(outcome.value) if isinstance(outcome.value, Score) else 1.0


def _score(given: object) -> float | None:
    """A number as it is; True is 1, and False does not pass."""
    if not isinstance(given, Score) or math.isnan(given):
        raise CallerError(f"the check must give a bool or a number, not {given!r}")
    return None if given is False else float(given)
