"""`skillian doctor`: whether what is set up works, and what to do where it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from skillian.cli.shell import ExitCode, SourcesFile, notes, out, run, settings_faults
from skillian.display import printable

if TYPE_CHECKING:
    from skillian.cli.checks import Finding
    from skillian.settings import Settings

_STYLES = {"ok": "green", "FAULT": "bold red", "absent": "yellow"}


def doctor(sources: SourcesFile = None) -> None:
    """Try the settings, sources, model, session store, skills, sandbox and optional packages.

    A model is asked one short question. Exit codes: 0 no fault, 1 faults.
    """
    from pydantic import ValidationError

    from skillian.cli.checks import Finding, Verdict
    from skillian.settings import Settings

    try:
        settings = Settings()
    except ValidationError as error:
        for fault in settings_faults(error):
            _show(Finding("settings", Verdict.FAULT, fault, "in the environment or .env"))
        raise typer.Exit(ExitCode.FINDINGS) from None
    if sources is not None:
        settings = settings.model_copy(update={"sources": sources})
    faults = run(_examine(settings))
    out.print(f"{faults} faults" if faults != 1 else "1 fault")
    raise typer.Exit(ExitCode.FINDINGS if faults else ExitCode.OK)


async def _examine(settings: Settings) -> int:
    from skillian.cli.checks import Verdict, examine

    faults = 0
    with notes.status("Trying ..."):
        async for finding in examine(settings):
            _show(finding)
            faults += finding.verdict is Verdict.FAULT
    return faults


def _show(finding: Finding) -> None:
    out.print(f"{finding.verdict:<7}", style=_STYLES[finding.verdict], end="", markup=False)
    told = f"{finding.part}: {finding.text}"
    out.print(printable(told), markup=False, soft_wrap=True)
    if finding.mend:
        out.print(printable(f"       {finding.mend}"), style="dim", markup=False, soft_wrap=True)
