"""`skillian ask`: a question in words."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

from skillian.cli.shell import AsJson, ExitCode, SourcesFile, out, read_settings, run
from skillian.display import printable, show_call, show_result

if TYPE_CHECKING:
    from skillian.chat.agent import AgentResponse
    from skillian.settings import Settings
    from tinyagent import Event

_STATES = {
    ExitCode.OK: "answered",
    ExitCode.FAILED: "failed",
    ExitCode.NOT_UNDERSTOOD: "not_understood",
}


class Answer(NamedTuple):
    """What a question led to: who answered, the answer, and how the command ends."""

    model: str
    response: AgentResponse
    code: ExitCode


def ask(
    question: Annotated[str, typer.Argument(help="In words.")],
    *,
    sources: SourcesFile = None,
    as_json: AsJson = False,
) -> None:
    """Answer one question about the configured sources.

    Exit codes: 0 answered, 1 no answer was found, 2 could not ask, 3 not understood.
    """
    asked = answer(question, read_settings(sources=sources), quiet=as_json)
    found = run(asked)
    if as_json:
        typer.echo(json.dumps(_for_programs(question, found), ensure_ascii=False, indent=2))
    raise typer.Exit(found.code)


async def answer(question: str, settings: Settings, *, quiet: bool = False) -> Answer:
    """Ask, and show each tool call and its result as they come, then the answer; `quiet`: don't."""
    from skillian.chat.agent import respond
    from skillian.chat.opening import open_agent
    from skillian.offline.planner import NOT_UNDERSTOOD, TOOL_FAILED
    from tinyagent import RunFinished
    from tinyagent.core import ModelResponded

    async with open_agent(settings.sources, settings.model, settings.skills) as agent:
        if not quiet:
            out.print(f"Answered by: {agent.model_name}", style="dim", markup=False)
        unanswered = {
            NOT_UNDERSTOOD: ExitCode.NOT_UNDERSTOOD,
            TOOL_FAILED: ExitCode.FAILED,
        }
        response: AgentResponse | None = None
        code = ExitCode.OK
        async with aclosing(agent.stream(question)) as events:
            async for event in events:
                if not quiet:
                    _show(event)
                if isinstance(event, ModelResponded):
                    code = unanswered.get(event.response.finish_reason, ExitCode.OK)
                elif isinstance(event, RunFinished):
                    response = respond(event.result)
        if response is None:
            raise AssertionError("a run always ends with RunFinished")
        if not quiet:
            out.print(printable(f"\n{response.content}"), markup=False)
        return Answer(agent.model_name, response, code if response.finished else ExitCode.FAILED)


def _show(event: Event) -> None:
    from tinyagent import ToolFinished, ToolStarted

    match event:
        case ToolStarted(call=call):
            show_call(out, call.name, call.arguments)
        case ToolFinished(result=result):
            show_result(out, result.call.name, _as_object(result.content))
        case _:
            pass


def _for_programs(question: str, found: Answer) -> dict[str, Any]:
    """The answer as JSON; docs/skillian.md names the keys."""
    calls = [
        {
            "tool": call.tool,
            "arguments": call.arguments,
            "result": _as_object(call.result),
            "duration_ms": call.duration_ms,
        }
        for call in found.response.tool_calls_made
    ]
    return {
        "question": question,
        "model": found.model,
        "state": _STATES[found.code],
        "answer": found.response.content,
        "tool_calls": calls,
    }


def _as_object(text: str) -> dict[str, Any]:
    """A tool's result as JSON; text that is none is an error in words."""
    try:
        value: object = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    return {"error": True, "type": "runtime_error", "message": text}
