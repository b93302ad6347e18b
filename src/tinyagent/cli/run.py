"""`tinyagent run TASK`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import tinyagent_commands
from tinyagent.cli.execute import Lock, Network, Packages, Require, Without, sandbox_of
from tinyagent.cli.shell import ExitStatus, load, notes, printable
from tinyagent.core.errors import (
    ArtifactError,
    CallerError,
    ConfigurationError,
    SandboxUnavailable,
)
from tinyagent.core.parts import attachment
from tinyagent.core.untrusted import as_array
from tinyagent.execution.trust import TrustLevel

if TYPE_CHECKING:
    from tinyagent.agents.code import TinyCodeAgent
    from tinyagent.agents.options import CodeOptions
    from tinyagent.agents.react import ReactAgent
    from tinyagent.cli.workspace import WorkspaceReview
    from tinyagent.core.events import Event
    from tinyagent.core.messages import Task
    from tinyagent.core.results import RunResult
    from tinyagent.execution.definition import Sandbox
    from tinyagent.middleware.base import Middleware
    from tinyagent.tools.tool import Tool

    Agent = ReactAgent[str] | TinyCodeAgent[str]

_NEEDS_LOCKS = (
    "--without, --require, --package, --lock and --network need --code, and not --trust local"
)
_Trust = Annotated[TrustLevel, typer.Option(help="How that code is isolated.")]
_Artifacts = Annotated[
    Path | None, typer.Option(help="A folder for the files that the code creates.")
]
_Policy = Annotated[
    Path | None, typer.Option(help="A YAML or JSON file with the policy for labelled data.")
]
_Sealed = Annotated[bool, typer.Option("--sealed", help="Keep untrusted results out of the code.")]
_Workspace = Annotated[
    Path | None, typer.Option(help="A folder to work on; you are asked before it is changed.")
]
DEFAULT_MODEL = "openai:gpt-4.1-mini"


def run(  # noqa: PLR0913 - one for each option of the command
    task: Annotated[str, typer.Argument(help="What to do, in words.")],
    model: Annotated[
        str, typer.Option(envvar="TINYAGENT_MODEL", help="For example openai:gpt-4.1.")
    ] = DEFAULT_MODEL,
    tools: Annotated[
        list[str] | None, typer.Option(help="module:name of a tool or a list of tools; repeatable.")
    ] = None,
    image: Annotated[
        list[Path] | None, typer.Option(help="An image or a PDF that goes with TASK; repeatable.")
    ] = None,
    max_steps: Annotated[int, typer.Option(min=1, help="The most model calls.")] = 10,
    *,
    code: Annotated[bool, typer.Option("--code", help="Let the model write Python.")] = False,
    trust: _Trust = TrustLevel.ISOLATED,
    artifacts: _Artifacts = None,
    provenance: _Policy = None,
    sealed: _Sealed = False,
    workspace: _Workspace = None,
    without: Without = None,
    require: Require = None,
    package: Packages = None,
    lock: Lock = None,
    network: Network = None,
    stream: Annotated[bool, typer.Option(help="Print the answer as it is written.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Give TASK to an agent and print its answer.

    With --code the agent writes Python, otherwise it calls the tools. The model is served by
    OPENAI_BASE_URL with OPENAI_API_KEY. Progress goes to standard error.
    Exit codes: 0 answered, 1 failed, 2 bad usage, 3 step or usage limit.
    """
    from tinyagent.cli.display import Display

    if stream and as_json:
        raise typer.BadParameter("use --stream or --json, not both")
    try:
        prompt: Task = [task, *map(attachment, image)] if image else task
        options: CodeOptions = {"max_steps": max_steps, "middleware": _layers(provenance)}
        options["sealed"] = _is_sealed(sealed=sealed, is_possible=code and provenance is not None)
        lists = {"without": without, "require": require, "packages": package, "network": network}
        _refuse((*lists.values(), lock), trust, workspace, code=code)
        sandbox = sandbox_of(trust, lists, lock=lock, workspace=workspace)
        review = _run_in(sandbox, options) if code else None
        agent = _agent(model, _load_tools(tools or []), options, code=code)
        show = Display(stream=stream, quiet=as_json, code=code)
        result = tinyagent_commands.run(_run(agent, prompt, show.show, review))
        _save(result, artifacts)
    except (CallerError, SandboxUnavailable) as error:
        notes.print(printable(f"error: {error}"), style="red")
        raise typer.Exit(ExitStatus.BAD_USAGE) from None
    except KeyboardInterrupt:
        notes.print("Interrupted; the run was cancelled.", style="yellow")
        raise typer.Exit(ExitStatus.INTERRUPTED) from None
    if as_json:
        typer.echo(json.dumps(_as_json(result, review), ensure_ascii=False, indent=2))
    show.end(result)
    is_reviewed = review is None or tinyagent_commands.run(review.finish(ask=not as_json))
    raise typer.Exit(_exit_code(result) if is_reviewed else ExitStatus.FAILED)


def _is_sealed(*, sealed: bool, is_possible: bool) -> bool:
    if sealed and not is_possible:
        raise typer.BadParameter("--sealed needs --code and --provenance")
    return sealed


def _refuse(
    of_locks: Iterable[object], trust: TrustLevel, workspace: Path | None, *, code: bool
) -> None:
    """Refuse options that need locks, or code, where there are none."""
    if any(of_locks) and not (code and trust is not TrustLevel.LOCAL):
        raise typer.BadParameter(_NEEDS_LOCKS)
    if workspace is not None and not code:
        raise typer.BadParameter("--workspace needs --code")


def _run_in(sandbox: Sandbox, options: CodeOptions) -> WorkspaceReview | None:
    """Let the agent's code run in the sandbox; gives its workspace, if it has one."""
    if sandbox.workspace is None:
        options["sandbox"] = sandbox
        return None
    from tinyagent.cli.workspace import WorkspaceReview

    review = WorkspaceReview(sandbox)
    options["executor"] = review.executor
    return review


def _agent(
    model: str,
    tools: list[Tool | Callable[..., Any]],
    options: CodeOptions,
    *,
    code: bool,
) -> Agent:
    """An agent that writes code, or one that calls tools."""
    if code:
        from tinyagent.agents.code import TinyCodeAgent

        return TinyCodeAgent(model, tools, **options)
    from tinyagent.agents.react import ReactAgent

    steps, layers = options.get("max_steps", 10), options.get("middleware", ())
    return ReactAgent(model, tools, max_steps=steps, middleware=layers)


def _layers(file: Path | None) -> list[Middleware]:
    """The policy in a file, if there is one, and questions to the person at the terminal.

    Raises:
        ConfigurationError: The file cannot be read, or is not a policy.
    """
    from tinyagent.cli.display import ask_person
    from tinyagent.middleware.approval import Approval

    if file is None:
        return [Approval(ask_person)]
    from tinyagent.cli.policy_file import read_policy

    return [read_policy(file, "--provenance"), Approval(ask_person)]


def _save(result: RunResult[str], folder: Path | None) -> None:
    """Write the files that the code created to the folder."""
    if folder is None:
        return
    try:
        for artifact in result.artifacts:
            artifact.save(folder)
    except ArtifactError as error:
        raise ConfigurationError(f"--artifacts {str(folder)!r}: {error}") from None


async def _run(
    agent: Agent, task: Task, show: Callable[[Event], None], review: WorkspaceReview | None
) -> RunResult[str]:
    from tinyagent.core.events import RunFinished

    result: RunResult[str] | None = None
    async with aclosing(agent.stream(task)) as events:
        async for event in events:
            show(event)
            if review is not None:
                review.note(event)
            if isinstance(event, RunFinished):
                result = event.result
    if result is None:
        raise AssertionError("a run always ends with RunFinished")
    return result


def _as_json(result: RunResult[str], review: WorkspaceReview | None) -> dict[str, Any]:
    return {
        "output": result.output,
        "state": result.state,
        "error": None if result.error is None else str(result.error),
        "steps_taken": result.steps_taken,
        "duration_seconds": round(result.duration_seconds, 3),
        "usage": result.usage.to_dict(),
        "cost": result.cost.to_dict(),
        "artifacts": [artifact.name for artifact in result.artifacts],
        **({} if review is None else {"changes": [asdict(change) for change in review.changes]}),
    }


def _exit_code(result: RunResult[Any]) -> ExitStatus:
    if result.state == "completed":
        return ExitStatus.ANSWERED
    limited = result.state in {"step_limit_reached", "usage_limit_reached"}
    return ExitStatus.LIMIT_REACHED if limited else ExitStatus.FAILED


def _load_tools(references: list[str]) -> list[Tool | Callable[..., Any]]:
    """The tools that `module:name` refers to; the working folder is searched too."""
    tools: list[Tool | Callable[..., Any]] = []
    for reference in references:
        value: Any = load(reference, "--tools", "my_tools:search")
        tools += as_array(value) or [value]
    return tools
