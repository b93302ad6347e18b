"""The command line: `skillian demo`, `ask`, `compare`, `sources`."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Coroutine, Generator
from contextlib import aclosing, contextmanager
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import typer
from rich.console import Console

import tinyagent
from skillian.chat.agent import AgentResponse, respond
from skillian.chat.opening import open_agent
from skillian.data.comparison import ComparisonEngine
from skillian.data.results import ComparisonResult
from skillian.data.services import DataServices
from skillian.data.sources import SourceRegistry
from skillian.demo.ledger import write_demo
from skillian.display import printable, show_call, show_differences, show_result
from skillian.errors import SkillianError
from skillian.settings import Settings
from tinyagent import RunFinished, ToolFinished, ToolStarted

R = TypeVar("R")

DEMO_QUESTION = "Compare amounts between fi_reporting and bpc_reporting for company 1001"

app = typer.Typer(
    help="Compare two systems that should agree.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
sources_app = typer.Typer(help="The configured sources.", no_args_is_help=True)
app.add_typer(sources_app, name="sources")
out = Console(highlight=False)
notes = Console(stderr=True, highlight=False)

SourcesFile = Annotated[
    Path | None, typer.Option("--sources", help="A sources.yaml; default SKILLIAN_SOURCES.")
]


class ExitCode(IntEnum):
    """What the process says to the shell."""

    OK = 0
    FINDINGS = 1
    FAILED = 1
    COULD_NOT = 2
    INTERRUPTED = 130


class FailOn(StrEnum):
    """From which class on a comparison counts as a finding."""

    MINOR = "minor"
    MAJOR = "major"


class Format(StrEnum):
    """How a comparison is printed."""

    TABLE = "table"
    JSON = "json"


@app.command()
def demo(
    keep: Annotated[
        Path | None, typer.Option(help="Write the demo's files there and leave them.")
    ] = None,
) -> None:
    """Make a small ledger and its planning copy, ask a question about them, show the answer."""
    with _demo_folder(keep) as folder:
        sources = _write_demo(folder)
        out.print("Question: ", style="bold", end="")
        out.print(DEMO_QUESTION, markup=False)
        response = _run(_ask(DEMO_QUESTION, sources, Settings().model))
    if keep is not None:
        out.print(f"\nGo on with: skillian ask --sources {sources} '...'", markup=False)
    raise typer.Exit(ExitCode.OK if response.finished else ExitCode.FAILED)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="In words.")],
    sources: SourcesFile = None,
) -> None:
    """Answer one question about the configured sources."""
    settings = Settings()
    response = _run(_ask(question, sources or settings.sources, settings.model))
    raise typer.Exit(ExitCode.OK if response.finished else ExitCode.FAILED)


@app.command()
def compare(  # noqa: PLR0913 - a command's options are its arguments
    source_a: Annotated[str, typer.Argument(help="The baseline.")],
    source_b: Annotated[str, typer.Argument(help="Compared with it.")],
    measure: Annotated[list[str], typer.Option(help="What to compare; repeatable.")],
    by: Annotated[list[str] | None, typer.Option(help="Dimensions to align on.")] = None,
    where: Annotated[
        list[str] | None, typer.Option(help="dimension=value; of several, any.")
    ] = None,
    *,
    output: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TABLE,
    fail_on: Annotated[FailOn, typer.Option(help="What counts as a finding.")] = FailOn.MINOR,
    sources: SourcesFile = None,
) -> None:
    """Compare two sources without a model.

    Exit codes: 0 equal, 1 findings, 2 could not compare (also: no rows on either side).
    """
    filters: dict[str, list[str]] = {}
    for name, value in map(_split_filter, where or ()):
        filters.setdefault(name, []).append(value)
    path = sources or Settings().sources

    async def work() -> ComparisonResult:
        async with DataServices(SourceRegistry.load(path)) as services:
            engine: ComparisonEngine = services.comparison
            with notes.status("Comparing ..."):
                return await engine.compare(source_a, source_b, measure, by, filters)

    result = _run(work())
    data: dict[str, Any] = result.to_dict()
    if output is Format.JSON:
        typer.echo(json.dumps(data, ensure_ascii=False, indent=2))
    else:
        show_differences(out, data)
        for sentence in result.interpretation:
            out.print(printable(sentence), markup=False)
    classes = result.summary.classes
    if not classes.groups:
        raise typer.Exit(ExitCode.COULD_NOT)
    minor = classes.minor_diff if fail_on is FailOn.MINOR else 0
    findings = classes.major_diff + classes.missing_in_a + classes.missing_in_b + minor
    raise typer.Exit(ExitCode.FINDINGS if findings else ExitCode.OK)


@sources_app.command("list")
def list_sources(sources: SourcesFile = None) -> None:
    """Show the sources with their dimensions, measures, rows and freshness."""
    path = sources or Settings().sources

    async def work() -> list[dict[str, Any]]:
        async with DataServices(SourceRegistry.load(path)) as services:
            return [source.to_dict() for source in await services.catalogue.sources()]

    for source in _run(work()):
        freshness = f", up to {source['freshness']}" if source["freshness"] else ""
        lines = (
            source["name"],
            f"  {source['description']}",
            f"  dimensions: {', '.join(source['dimensions'])}",
            f"  measures: {', '.join(source['measures'])}",
            f"  {source['row_count']} rows{freshness}",
        )
        out.print(printable("\n".join(lines)), markup=False)


async def _ask(question: str, sources: Path, model: str | None) -> AgentResponse:
    """Ask, showing each tool call and its result as they come, then the answer."""
    async with open_agent(sources, model) as agent:
        out.print(f"Answered by: {agent.model_name}", style="dim", markup=False)
        response: AgentResponse | None = None
        async with aclosing(agent.stream(question)) as events:
            async for event in events:
                match event:
                    case ToolStarted(call=call):
                        show_call(out, call.name, call.arguments)
                    case ToolFinished(result=result):
                        show_result(out, result.call.name, _as_object(result.content))
                    case RunFinished(result=run):
                        response = respond(run)
                    case _:
                        pass
        if response is None:
            raise AssertionError("a run always ends with RunFinished")
        out.print(printable(f"\n{response.content}"), markup=False)
        return response


def _run(work: Coroutine[Any, Any, R]) -> R:
    """Run it; what the user can mend ends the process with a sentence, not a traceback."""
    try:
        return asyncio.run(work)
    except (SkillianError, tinyagent.TinyAgentError) as error:
        notes.print(printable(f"Error: {error}"), style="red", markup=False)
        raise typer.Exit(ExitCode.COULD_NOT) from None
    except KeyboardInterrupt:
        notes.print("Interrupted.", style="yellow")
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def _write_demo(folder: Path) -> Path:
    """Write the demo's files; what is there already is never replaced."""
    taken = [name for name in ("sources.yaml", "ledger.duckdb") if (folder / name).exists()]
    if taken:
        raise typer.BadParameter(
            f"{folder} holds {' and '.join(taken)} already; name a folder without",
            param_hint="--keep",
        )
    try:
        return write_demo(folder)
    except OSError as error:
        raise typer.BadParameter(
            f"{folder} cannot be written: {error.strerror}", param_hint="--keep"
        ) from None


@contextmanager
def _demo_folder(keep: Path | None) -> Generator[Path, None, None]:
    if keep is not None:
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="skillian-demo-") as folder:
        yield Path(folder)


def _split_filter(entry: str) -> tuple[str, str]:
    name, equals, value = entry.partition("=")
    if not equals or not name:
        raise typer.BadParameter(f"--where {entry!r} is not of the form dimension=value")
    return name, value


def _as_object(text: str) -> dict[str, Any]:
    """A tool's result as JSON; text that is none is an error in words."""
    try:
        value: object = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    return {"error": True, "type": "runtime_error", "message": text}


def main() -> None:
    """The entry point of the `skillian` command."""
    app()
