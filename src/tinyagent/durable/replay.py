"""Blocks of code of a durable run: recorded when they end, run again for their variables.

What the model sees of a block is what was recorded. Its variables come back by running it again in
the new sandbox, its tool calls answered from the journal. A block that a sandbox stopped left no
variables, and is not run again; where all variables were lost, they are forgotten again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tinyagent.core.context import RunControl
from tinyagent.core.errors import ReplayDiverged
from tinyagent.core.events import Event, OutputDelta
from tinyagent.core.execution import ExecutionResult
from tinyagent.core.logs import logger
from tinyagent.durable.approval import Suspended
from tinyagent.durable.records import execution_from_dict, execution_to_dict
from tinyagent.middleware.base import CodeRun

if TYPE_CHECKING:
    from tinyagent.durable.bound import BoundJournal


async def run_block(
    bound: BoundJournal, place: str, code: str, call_next: CodeRun
) -> ExecutionResult:
    """Run one block, for the first time or again.

    Raises:
        ReplayDiverged: it does not call, or does not end, as it did before.
    """
    entry = bound.journal.find("code", place)
    if entry is None:
        result = await call_next(code)
        if bound.journal.questions:  # the run is put away; a block at LOCAL has caught that
            raise Suspended
        record = {**execution_to_dict(result), **bound.now()}
        await bound.journal.record("code", place, "", record)
        return execution_from_dict(record)
    recorded = bound.read(entry, execution_from_dict)
    bound.expect_recorded_calls()
    if recorded.state_lost and recorded.error is not None and bound.run.forget_variables:
        await bound.run.forget_variables()
    if _has_left_variables(recorded):
        with _without_output(bound.run):
            result = await call_next(code)
        _compare(bound, place, recorded, result)
    bound.journal.pass_over(bound.step)
    bound.go_on_from(entry.value)
    return recorded


def _has_left_variables(recorded: ExecutionResult) -> bool:
    return not recorded.undone and not (recorded.state_lost and recorded.error is not None)


def _compare(
    bound: BoundJournal, place: str, recorded: ExecutionResult, result: ExecutionResult
) -> None:
    missed = bound.journal.unread("tool", bound.step)
    if missed:
        raise ReplayDiverged(
            f"the block of code at {place} does not ask for the same again: it does not make the"
            f" call {missed[0].name!r} (record {missed[0].number})"
        )
    ends = [(one.error is None, one.is_final) for one in (recorded, result)]
    if ends[0] != ends[1]:
        raise ReplayDiverged(
            f"the block of code at {place} does not end as it did: it ended with"
            f" {_ending(recorded)}, and now with {_ending(result)}"
        )
    if recorded.output != result.output:
        logger.warning("the block of code at %s prints something else than it did", place)


def _ending(result: ExecutionResult) -> str:
    if result.error is not None:
        return f"the error {result.error.strip().rpartition(chr(10))[2]!r:.200}"
    return "an answer" if result.is_final else "no error"


@contextmanager
def _without_output(run: RunControl) -> Generator[None]:
    """Do not tell again what the code prints."""
    emit: Callable[[Event], None] = run.emit

    def tell(event: Event) -> None:
        if not isinstance(event, OutputDelta):
            emit(event)

    run.emit = tell
    try:
        yield
    finally:
        run.emit = emit
