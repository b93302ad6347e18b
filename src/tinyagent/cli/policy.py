"""`tinyagent policy`: draft a policy, check it with recorded conversations, explain it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tinyagent.cli.durable import complete, opened
from tinyagent.cli.policy_file import read_policy
from tinyagent.cli.shell import ExitStatus, load, notes, printable
from tinyagent.core.errors import ConfigurationError
from tinyagent.core.untrusted import as_array, one_line

if TYPE_CHECKING:
    from tinyagent.cli.playing import Played, PlayedCall
    from tinyagent.core.messages import Message
    from tinyagent.tools.tool import Tool

app = typer.Typer(
    help="Policies for labelled data: draft one, check it, explain its verdicts.",
    no_args_is_help=True,
)

Reference = Annotated[
    str, typer.Argument(help="module:name of an agent, a tool or a list of tools.")
]
PolicyFile = Annotated[Path, typer.Argument(metavar="POLICY", help="A YAML or JSON file.")]
_A_FILE = "A file with json.dumps(result.memory.to_list()), or with --database a run's id."
Run = Annotated[str, typer.Argument(metavar="RUN", help=_A_FILE)]
Runs = Annotated[list[str], typer.Argument(metavar="RUN...", help=_A_FILE)]
Durable = Annotated[
    str | None, typer.Option("--database", help="URL of the database with the durable runs RUN.")
]
Output = Annotated[Path | None, typer.Option(help="A new file for the policy.")]


@app.command()
def draft(reference: Reference, *, output: Output = None) -> None:
    """Write a first policy for the tools of REFERENCE, with the reason of each line."""

    async def work() -> None:
        from tinyagent.provenance.policies.draft import draft as drafted

        text = drafted(_tools(reference).values())
        if output is None:
            typer.echo(printable(text), nl=False)
        else:
            _write(output, text)

    complete(work())


@app.command()
def check(
    policy: PolicyFile, reference: Reference, runs: Runs, *, database: Durable = None
) -> None:
    """Show which calls of recorded conversations POLICY makes, and which it asks about.

    No tool is executed. A call that is asked about counts as approved for those after it.
    Exit codes: 0 no call is asked about, 1 some are, 2 bad usage.
    """
    played = _played(policy, reference, runs, database)
    for run, conversation in played:
        typer.echo(printable(run))
        for number, call in enumerate(conversation.calls, 1):
            typer.echo(f"{number}. {one_line(call.call.name)}: {_verdict(call)}")
    calls = [call for _, conversation in played for call in conversation.calls]
    asked = sum(bool(call.doubt) for call in calls)
    made = sum(call.is_made and not call.doubt for call in calls)
    typer.echo(f"made: {made}, asked about: {asked}, faulty: {len(calls) - made - asked}")
    if asked:
        raise typer.Exit(ExitStatus.FAILED)


@app.command()
def explain(
    policy: PolicyFile, reference: Reference, run: Run, *, database: Durable = None
) -> None:
    """Show where each argument of a recorded conversation comes from, and the verdict of its rule.

    No tool is executed. A call that is asked about counts as approved for those after it.
    """
    for _, conversation in _played(policy, reference, [run], database):
        for text in conversation.explanations:
            typer.echo(printable(text))


def _played(
    policy: Path, reference: str, runs: Sequence[str], database: str | None
) -> list[tuple[str, Played]]:
    """Each conversation, played against the policy."""

    async def work() -> list[tuple[str, Played]]:
        from tinyagent.cli.playing import play, read_conversation
        from tinyagent.provenance.policies.checks import check_names

        tools = _tools(reference)
        provenance = read_policy(policy, "POLICY")
        check_names(provenance.policy, tools)
        conversations = (
            [(run, read_conversation(Path(run))) for run in runs]
            if database is None
            else await _recorded(runs, database)
        )
        played: list[tuple[str, Played]] = []
        for run, messages in conversations:
            try:
                played.append((run, await play(messages, provenance, tools)))
            except ConfigurationError as error:
                raise ConfigurationError(f"{run!r}: {error}") from None
        return played

    return complete(work())


async def _recorded(runs: Sequence[str], database: str) -> list[tuple[str, Sequence[Message]]]:
    """The conversations of durable runs, each with the run's whole id."""
    from tinyagent.cli.playing import messages_of

    conversations: list[tuple[str, Sequence[Message]]] = []
    async with opened(database) as store:
        for run in runs:
            whole = await store.find(run)
            memory = await store.memory(whole)
            if memory is None:
                raise ConfigurationError(f"run {whole!r} has not ended: wait for it first")
            try:
                conversations.append((whole, messages_of(memory)))
            except ValueError as error:
                raise ConfigurationError(f"run {whole!r}: {error}") from None
    return conversations


def _tools(reference: str) -> dict[str, Tool]:
    """The tools of an agent, a tool or a list of tools, by name.

    Raises:
        ConfigurationError: There is no such object, or it is something else.
    """
    from tinyagent.agents.base import BaseAgent
    from tinyagent.tools.registry import collect_tools

    value: Any = load(reference, "REFERENCE", "my_tools:tools")
    tools: Sequence[Tool | Callable[..., Any]] = (
        value.tools if isinstance(value, BaseAgent) else as_array(value) or [value]
    )
    return collect_tools(tools)


def _write(file: Path, text: str) -> None:
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise ConfigurationError(f"--output {str(file)!r}: the file exists already") from None
    except OSError as error:
        raise ConfigurationError(f"--output {str(file)!r}: {error.strerror}") from None
    notes.print(printable(f"{file}: a draft; read each line"), style="dim")


def _verdict(call: PlayedCall) -> str:
    """What becomes of a call, on one line; the record may hold anything."""
    if call.doubt:
        return one_line(f"{'asked about' if call.is_made else 'refused'}, {call.doubt}")
    return "made" if call.is_made else one_line(f"faulty, {call.fault}")
