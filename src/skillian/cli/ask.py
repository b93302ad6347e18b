"""`skillian ask`: one question in words."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from skillian.cli.shell import (
    AsJson,
    ExitCode,
    SourcesFile,
    notes,
    out,
    read_settings,
    result_object,
    run,
    show_answer,
)
from skillian.display import show_call, show_result

if TYPE_CHECKING:
    from skillian.chat.agent import AgentResponse
    from skillian.settings import Settings
    from tinyagent import Event

_STATES = {
    ExitCode.OK: "answered",
    ExitCode.FAILED: "failed",
    ExitCode.NOT_UNDERSTOOD: "not_understood",
}


class AskResult(NamedTuple):
    """The answer to a question, the model that gave it, and the exit code.

    `verified` is whether it is the answer that the team has verified; None if there is none. The
    numbers of `unverified` are in no result.
    """

    model: str
    response: AgentResponse
    code: ExitCode
    verified: bool | None
    unverified: tuple[str, ...]


def ask(
    question: Annotated[str, typer.Argument(help="The question, in words.")],
    *,
    sources: SourcesFile = None,
    as_json: AsJson = False,
) -> None:
    """Ask one question about the configured sources.

    Exit codes: 0 answered, 1 no answer found, 2 could not ask, 3 not understood.
    """
    answer = run(answer_question(question, read_settings(sources=sources), quiet=as_json))
    if as_json:
        typer.echo(json.dumps(_to_json(question, answer), ensure_ascii=False, indent=2))
    raise typer.Exit(answer.code)


async def answer_question(question: str, settings: Settings, *, quiet: bool = False) -> AskResult:
    """Ask a question; unless `quiet`, print each tool call and result, and the answer."""
    from skillian.chat.agent import respond
    from skillian.chat.answer_check import check_answer
    from skillian.chat.opening import open_agent
    from skillian.evaluation.judging import given_answer
    from skillian.evaluation.marking import open_verified, read_examples
    from skillian.offline.planner import NOT_UNDERSTOOD, TOOL_FAILED
    from tinyagent import RunFinished
    from tinyagent.core import ModelResponded

    opened = open_agent(
        settings.sources,
        settings.model,
        settings.skills,
        read_examples(settings.questions),
        settings.context_tokens,
    )
    async with AsyncExitStack() as stack:
        with notes.status("Reading the sources ..."):
            agent = await stack.enter_async_context(opened)
        verified = open_verified(settings.questions, settings.sources, agent.skills)
        if not quiet:
            out.print(f"Answered by: {agent.model_name}", style="dim", markup=False)
        unanswered = {
            NOT_UNDERSTOOD: ExitCode.NOT_UNDERSTOOD,
            TOOL_FAILED: ExitCode.FAILED,
        }
        response: AgentResponse | None = None
        reason = ""
        async with aclosing(agent.stream(question)) as events:
            async for event in events:
                if not quiet:
                    _show(event)
                if isinstance(event, ModelResponded):
                    reason = event.response.finish_reason
                elif isinstance(event, RunFinished):
                    response = respond(event.result)
        if response is None:
            raise AssertionError("a run always ends with RunFinished")
        answer = given_answer(response, reason)
        agrees = None if verified is None else verified.agrees(question, answer)
        code = unanswered.get(reason, ExitCode.OK) if response.finished else ExitCode.FAILED
        results = [call.result for call in response.tool_calls_made]
        checked = check_answer(response.content, results, question)
        unverified = checked.unverified if code is ExitCode.OK else ()
        if not quiet:
            show_answer(response.content, agrees, _scopes(response), unverified)
        return AskResult(agent.model_name, response, code, agrees, unverified)


def _scopes(response: AgentResponse) -> list[list[str]]:
    from skillian.chat.scope import scopes_of

    return scopes_of(_parsed(call.result) for call in response.tool_calls_made)


def _show(event: Event) -> None:
    from tinyagent import ToolFinished, ToolStarted

    match event:
        case ToolStarted(call=call):
            show_call(out, call.name, call.arguments)
        case ToolFinished(result=result):
            show_result(out, result.call.name, _parsed(result.content))
        case _:
            pass


def _to_json(question: str, answer: AskResult) -> dict[str, Any]:
    """The answer as JSON; docs/skillian.md describes the keys."""
    calls = [
        {
            "tool": call.tool,
            "arguments": call.arguments,
            "result": _parsed(call.result),
            "duration_ms": call.duration_ms,
        }
        for call in answer.response.tool_calls_made
    ]
    return {
        "question": question,
        "model": answer.model,
        "state": _STATES[answer.code],
        "answer": answer.response.content,
        "verified": answer.verified,
        "unverified": answer.unverified,
        "scope": _scopes(answer.response),
        "tool_calls": calls,
    }


def _parsed(text: str) -> dict[str, Any]:
    try:
        return result_object(json.loads(text))
    except ValueError:
        return result_object(text)
