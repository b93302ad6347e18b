"""Blocks of code of a durable run: recorded when they end, run again for their variables.

The model sees the recorded result of a block. Its variables come back by running it again in the
new sandbox, its tool calls answered from the journal. A block that a sandbox stopped left no
variables, and is not run again; if it lost all variables, they are dropped again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace

from tinyagent.core.context import RunControl
from tinyagent.core.errors import ReplayDiverged
from tinyagent.core.events import Event, OutputDelta
from tinyagent.core.execution import ExecutionResult
from tinyagent.core.logs import logger
from tinyagent.core.provenance import UNKNOWN
from tinyagent.durable.cursor import Cursor
from tinyagent.durable.journal import Suspended
from tinyagent.durable.records import execution_from_dict, execution_to_dict
from tinyagent.middleware.base import CodeRun


async def run_block(cursor: Cursor, place: str, code: str, call_next: CodeRun) -> ExecutionResult:
    """Run one block, for the first time or again.

    A block without a record may have been interrupted: its recorded calls are made again, too.

    Raises:
        ReplayDiverged: It does not make the same calls, or does not end as it did before.
    """
    entry = cursor.journal.find("code", place)
    if entry is None:
        result = await call_next(code)
        if cursor.journal.questions:  # the run is suspended
            raise Suspended
        _expect_all_calls(cursor, place)
        if cursor.run.label is not None:
            result = replace(result, label=cursor.run.label(None))
        record = {**execution_to_dict(result), **cursor.now()}
        await cursor.journal.record("code", place, "", record)
        return execution_from_dict(record)
    recorded = cursor.read(entry, execution_from_dict)
    cursor.expect_recorded_calls()
    if recorded.state_lost and recorded.error is not None and cursor.run.forget_variables:
        await cursor.run.forget_variables()
    if _has_left_variables(recorded):
        with _without_output(cursor.run):
            result = await call_next(code)
        _compare(cursor, place, recorded, result)
    cursor.journal.pass_over(cursor.step)
    cursor.go_on_from(entry.value)
    if cursor.run.label is not None and recorded.label is None:
        return replace(recorded, label=UNKNOWN)  # recorded before the run had labels
    return recorded


def _has_left_variables(recorded: ExecutionResult) -> bool:
    return not recorded.undone and not (recorded.state_lost and recorded.error is not None)


def _expect_all_calls(cursor: Cursor, place: str) -> None:
    for missed in cursor.journal.unread(("tool", "begin"), cursor.step):
        raise ReplayDiverged(
            f"the block of code at {place} does not make the same calls again: it leaves out"
            f" {missed.name!r} (record {missed.number})"
        )


def _compare(
    cursor: Cursor, place: str, recorded: ExecutionResult, result: ExecutionResult
) -> None:
    _expect_all_calls(cursor, place)
    ends = [(one.error is None, one.is_final) for one in (recorded, result)]
    if ends[0] != ends[1]:
        raise ReplayDiverged(
            f"the block of code at {place} does not end as it did before: it ended with"
            f" {_ending(recorded)}, and now with {_ending(result)}"
        )
    if recorded.output != result.output:
        logger.warning("the block of code at %s prints something different from before", place)


def _ending(result: ExecutionResult) -> str:
    if result.error is not None:
        return f"the error {result.error.strip().rpartition(chr(10))[2]!r:.200}"
    return "an answer" if result.is_final else "no error"


@contextmanager
def _without_output(run: RunControl) -> Generator[None]:
    """Drop the events of what the code prints: they were emitted before."""
    emit: Callable[[Event], None] = run.emit

    def emit_other(event: Event) -> None:
        if not isinstance(event, OutputDelta):
            emit(event)

    run.emit = emit_other
    try:
        yield
    finally:
        run.emit = emit
