"""`skillian ask`: a question in words."""

import json
from collections.abc import Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from skillian.chat.agent import AgentResponse, respond
from skillian.chat.opening import open_agent
from skillian.cli.shell import ExitCode, SourcesFile, out, run
from skillian.display import printable, show_call, show_result
from skillian.settings import Settings
from tinyagent import RunFinished, ToolFinished, ToolStarted


def ask(
    question: Annotated[str, typer.Argument(help="In words.")],
    sources: SourcesFile = None,
) -> None:
    """Answer one question about the configured sources."""
    settings = Settings()
    asked = answer(question, sources or settings.sources, settings.model, settings.skills)
    response = run(asked)
    raise typer.Exit(ExitCode.OK if response.finished else ExitCode.FAILED)


async def answer(
    question: str, sources: Path, model: str | None, skills: Iterable[Path] = ()
) -> AgentResponse:
    """Ask, showing each tool call and its result as they come, then the answer."""
    async with open_agent(sources, model, skills) as agent:
        out.print(f"Answered by: {agent.model_name}", style="dim", markup=False)
        response: AgentResponse | None = None
        async with aclosing(agent.stream(question)) as events:
            async for event in events:
                match event:
                    case ToolStarted(call=call):
                        show_call(out, call.name, call.arguments)
                    case ToolFinished(result=result):
                        show_result(out, result.call.name, _as_object(result.content))
                    case RunFinished(result=finished):
                        response = respond(finished)
                    case _:
                        pass
        if response is None:
            raise AssertionError("a run always ends with RunFinished")
        out.print(printable(f"\n{response.content}"), markup=False)
        return response


def _as_object(text: str) -> dict[str, Any]:
    """A tool's result as JSON; text that is none is an error in words."""
    try:
        value: object = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    return {"error": True, "type": "runtime_error", "message": text}
