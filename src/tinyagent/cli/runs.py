"""`tinyagent runs`: start, list, show, resume, cancel, approve."""

from __future__ import annotations

import json
import shlex
from collections.abc import Awaitable, Callable, Sequence
from string import hexdigits
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer
from rich.cells import cell_len, set_cell_size
from rich.console import Console

from tinyagent.cli.durable import DEFAULT_DATABASE, Database, complete, opened
from tinyagent.cli.shell import ExitStatus, notes, print_doubt, printable
from tinyagent.core.errors import ConfigurationError, RunConflict

if TYPE_CHECKING:
    from tinyagent.durable import DurableRuns, DurableState, RunRecord
    from tinyagent.durable.states import Choice

app = typer.Typer(
    help="Durable runs: start, list, show, resume, approve and cancel them.", no_args_is_help=True
)

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id, or its beginning.")]
Call = Annotated[str, typer.Option(help="Which call, if several wait; `runs show` names them.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_MAX_CELL = 60
_LEAST_CELL = 12
_GAP = "  "
_SHORT_ID, _LONG_ID, _MADE_ID = 8, 24, 32
_WAITING = {"waiting", "needs_decision"}
_APPROVAL = {"approve {}": "make the call", "approve {} --no": "refuse it"}
_DOUBT = {
    "resume {} --retry": "make the call again",
    "resume {} --skip": "continue without it",
    "resume {} --abort": "end the run",
}


@app.command()
def start(  # noqa: PLR0913 - one for each option of the command
    agent: Annotated[str, typer.Argument(help="The name of the agent in its workers.")],
    task: Annotated[str, typer.Argument(help="What to do, in words.")],
    *,
    database: Database = DEFAULT_DATABASE,
    run_id: Annotated[
        str | None, typer.Option("--id", help="The run's id; the same id is the same run.")
    ] = None,
    queue: Annotated[str, typer.Option(help="The queue that workers take it from.")] = "default",
    priority: Annotated[int, typer.Option(help="1 comes first; 0 comes before all.")] = 0,
    key: Annotated[
        str | None, typer.Option(help="The key, if the queue has a limit per key.")
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for the run and print its answer.")
    ] = False,
) -> None:
    """Start a run of AGENT in a queue, and print its id."""

    async def work(runs: DurableRuns) -> None:
        started = await runs.start(
            agent, task, run_id=run_id, queue=queue, priority=priority, key=key
        )
        if not wait:
            typer.echo(started)
            return
        notes.print(printable(f"run {started}"), style="dim")
        _end(await runs.wait(started))

    _with(database, work, create=True)


@app.command("list")
def list_runs(
    *,
    database: Database = DEFAULT_DATABASE,
    state: Annotated[str | None, typer.Option(help="Only runs in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many runs, newest first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List runs, newest first."""

    async def work(runs: DurableRuns) -> None:
        records = await runs.list(state=_state(state), limit=limit)
        if as_json:
            _print_json([record.to_dict() for record in records])
            return
        ids = _short_ids([record.run_id for record in records])
        rows = [
            (short, r.agent, r.state, f"{r.created:%Y-%m-%d %H:%M}", r.task)
            for short, r in zip(ids, records, strict=True)
        ]
        _print_table(("run", "agent", "state", "created (UTC)", "task"), rows, ("task", "agent"))

    _with(database, work)


@app.command()
def show(run_id: RunId, *, database: Database = DEFAULT_DATABASE, as_json: AsJson = False) -> None:
    """Show a run, its questions and its records."""

    async def work(runs: DurableRuns) -> None:
        record = await runs.get(await runs.find(run_id))
        steps = await runs.steps(record.run_id)
        if as_json:
            recorded = [{"name": s.name, "recorded": s.recorded.isoformat()} for s in steps]
            _print_json({**record.to_dict(), "steps": recorded})
            return
        _print_record(record)
        rows = [(f"{step.recorded:%Y-%m-%d %H:%M:%S}", step.name) for step in steps]
        _print_table(("recorded (UTC)", "step"), rows, ("step",))

    _with(database, work)


@app.command()
def resume(
    run_id: RunId,
    *,
    database: Database = DEFAULT_DATABASE,
    retry: Annotated[bool, typer.Option("--retry", help="Make the call again.")] = False,
    skip: Annotated[bool, typer.Option("--skip", help="Continue without it.")] = False,
    abort: Annotated[bool, typer.Option("--abort", help="End the run.")] = False,
    call: Call = "",
) -> None:
    """Continue a run that was cancelled or failed, or decide on its call in doubt.

    A call is in doubt if its process died before its result was recorded: it may have been made.
    """
    options: list[tuple[Choice, bool]] = [("retry", retry), ("skip", skip), ("abort", abort)]
    chosen: list[Choice] = [choice for choice, is_set in options if is_set]
    if len(chosen) > 1:
        raise typer.BadParameter("--retry, --skip and --abort exclude each other")

    async def work(runs: DurableRuns) -> None:
        record = await runs.get(await runs.find(run_id))
        if chosen:
            await runs.decide(record.run_id, chosen[0], call=call)
        elif record.state in _WAITING:
            _print_questions(record)
            raise RunConflict(f"run {record.run_id!r} waits for an answer; see above")
        else:
            await runs.resume(record.run_id)
        _print_state(await runs.get(record.run_id))

    _with(database, work)


@app.command()
def cancel(run_id: RunId, *, database: Database = DEFAULT_DATABASE) -> None:
    """End a run before its next call."""

    async def work(runs: DurableRuns) -> None:
        whole = await runs.find(run_id)
        await runs.cancel(whole)
        _print_state(await runs.get(whole))

    _with(database, work)


@app.command()
def approve(
    run_id: RunId,
    *,
    database: Database = DEFAULT_DATABASE,
    no: Annotated[bool, typer.Option("--no", help="Refuse it.")] = False,
    reason: Annotated[str, typer.Option(help="The reason of a refusal; the model reads it.")] = "",
    call: Call = "",
) -> None:
    """Approve or refuse a call of a waiting run."""

    async def work(runs: DurableRuns) -> None:
        whole = await runs.find(run_id)
        await runs.approve(whole, approved=not no, reason=reason, call=call)
        _print_state(await runs.get(whole))

    _with(database, work)


def _with(
    database: str, work: Callable[[DurableRuns], Awaitable[None]], *, create: bool = False
) -> None:
    async def opened_and_closed() -> None:
        async with opened(database, create=create) as runs:
            await work(runs)

    complete(opened_and_closed())


def _state(text: str | None) -> DurableState | None:
    from tinyagent.durable import DurableState

    known = get_args(DurableState)
    if text is not None and text not in known:
        raise ConfigurationError(f"--state {text!r} is unknown; the states are: {', '.join(known)}")
    return cast("DurableState | None", text)


def _print_state(record: RunRecord) -> None:
    notes.print(printable(f"run {record.run_id} is {record.state}"))


def _end(record: RunRecord) -> None:
    if record.state == "completed":
        output = record.output
        typer.echo(output if isinstance(output, str) else json.dumps(output, ensure_ascii=False))
        return
    _print_state(record)
    if record.error:
        notes.print(printable(record.error), style="red")
    _print_questions(record)
    limited = record.state in {"step_limit_reached", "usage_limit_reached"}
    raise typer.Exit(ExitStatus.LIMIT_REACHED if limited else ExitStatus.FAILED)


def _print_record(record: RunRecord) -> None:
    for name in ("run_id", "agent", "queue", "task", "state", "output", "error", "executor_id"):
        value = getattr(record, name)
        if value not in {None, ""}:
            typer.echo(printable(f"{name}: {value}"))
    _print_questions(record)


def _print_questions(record: RunRecord) -> None:
    if record.state not in _WAITING:
        return
    run = shlex.quote(record.run_id)
    for question in record.questions:
        arguments = json.dumps(dict(question.arguments), ensure_ascii=False)
        notes.print(printable(f"{question.kind}: {question.tool} {arguments}"), style="yellow")
        if question.doubt:
            print_doubt(question.doubt, question.origins)
        call = f"--call {shlex.quote(question.place)}"
        ways = _APPROVAL if question.kind == "approval" else _DOUBT
        for way, effect in ways.items():
            notes.print(printable(f"  tinyagent runs {way.format(run)} {call}  # {effect}"))


def _short_ids(ids: Sequence[str]) -> list[str]:
    """The shortest beginnings, of some length, by which these ids differ; other ids are whole."""
    shortened: list[str] = []
    for run_id in ids:
        least = _SHORT_ID if _is_hex(run_id) else _LONG_ID
        others = [other for other in ids if other != run_id]
        while least < len(run_id) and any(other.startswith(run_id[:least]) for other in others):
            least += 1
        shortened.append(run_id[:least])
    return shortened


def _is_hex(run_id: str) -> bool:
    """Whether it is an id that was made for a run, rather than chosen."""
    return len(run_id) == _MADE_ID and not set(run_id) - set(hexdigits)


def _print_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], shrinking: Sequence[str]
) -> None:
    """Print a table in the width of the terminal; only the columns `shrinking` are cut, in turn."""
    lines = [tuple(head), *(tuple(printable(_short(cell)) for cell in row) for row in rows)]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    for name in shrinking:
        excess = sum(widths) + len(_GAP) * (len(head) - 1) - console.width
        at = head.index(name)
        widths[at] = min(widths[at], max(widths[at] - excess, _LEAST_CELL))
    for line in lines:
        cells = [_fitted(cell, width) for cell, width in zip(line, widths, strict=True)]
        console.print(_GAP.join(cells).rstrip())


def _fitted(text: str, width: int) -> str:
    cut = text if cell_len(text) <= width else f"{set_cell_size(text, width - 1).rstrip()}…"
    return set_cell_size(cut, width)


def _short(text: str) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= _MAX_CELL else line[: _MAX_CELL - 1] + "…"


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))
