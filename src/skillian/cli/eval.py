"""`skillian eval`: asks a model the team's verified questions."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillian.cli.shell import (
    AsJson,
    ExitCode,
    check_output,
    explained,
    notes,
    out,
    read_settings,
    run,
    say,
)

if TYPE_CHECKING:
    from skillian.evaluation.questions import QuestionSet
    from skillian.evaluation.running import Evaluation, QuestionResult
    from skillian.history.findings import Standing
    from skillian.settings import Settings

_STYLES = {"right": "green", "wrong": "bold red", "asked back": "yellow", "refused": "yellow"}
_LONGEST = 300


def evaluate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The questions, as YAML.")],
    *,
    model: Annotated[
        str | None,
        typer.Option(help="The model; default SKILLIAN_MODEL; `offline` is the offline planner."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.xml", help="Write a JUnit report to this file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask a model the verified questions of a file, and compare its answers with the expected ones.

    Each run is kept in the history. Exit codes: 0 all right, 1 some not, 2 could not ask.
    """
    from skillian.cli.compare_report import write_text
    from skillian.evaluation.questions import read_questions
    from skillian.evaluation.report import evaluation_json, evaluation_junit

    settings = read_settings(model=model)
    _check_output(output)
    with explained():
        questions = read_questions(file)
    evaluation = run(_evaluate(questions, settings, quiet=as_json))
    standing = _recorded(evaluation, settings)
    is_written = output is None or write_text(output, evaluation_junit(evaluation))
    if as_json:
        report = evaluation_json(evaluation, standing, datetime.now(UTC).date())
        typer.echo(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        counts = f"\n{len(evaluation.results)} questions: {evaluation.sentence}"
        out.print(counts, soft_wrap=True)
        if standing is not None and not standing.is_empty:
            out.print(f"Compared with earlier runs: {standing.sentence}")
    if not is_written:
        raise typer.Exit(ExitCode.COULD_NOT)
    raise typer.Exit(ExitCode.OK if evaluation.is_right else ExitCode.FINDINGS)


async def _evaluate(questions: QuestionSet, settings: Settings, *, quiet: bool) -> Evaluation:
    from skillian.evaluation.running import open_questions

    async with open_questions(
        questions, settings.model, settings.skills, settings.context_tokens
    ) as asking:
        if quiet:
            return await asking.run()
        out.print(f"Answered by: {asking.model_name}", style="dim", markup=False)
        with notes.status("Asking ..."):
            return await asking.run(_show)


def _recorded(evaluation: Evaluation, settings: Settings) -> Standing | None:
    """Record the run; without a history its result stands."""
    from skillian.errors import ToolError
    from skillian.history.store import open_history

    try:
        with open_history(settings.database_url.get_secret_value()) as history:
            return evaluation.record(history)
    except ToolError as error:
        say(f"warning: this run is not in the history: {error}", "yellow")
        return None


def _show(result: QuestionResult) -> None:
    verdict = result.judgement.verdict
    out.print(f"{verdict:<10}", style=_STYLES[verdict], end=" ", markup=False)
    say(result.expected.question, console=out)
    if result.judgement.reason:
        say(f"           {result.judgement.reason[:_LONGEST]}", "dim", console=out)


def _check_output(output: Path | None) -> None:
    """Refuse immediately what would fail after a long run."""
    check_output(output)
    if output is not None and output.suffix != ".xml":
        reason = f"{output} is not the name of an .xml file"
        raise typer.BadParameter(reason, param_hint="--output")
