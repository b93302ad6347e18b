"""`skillian doctor`: checks the setup, and says how to fix what does not work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from skillian.cli.shell import ExitCode, SourcesFile, notes, out, run, say, settings_faults

if TYPE_CHECKING:
    from skillian.cli.setup.checks import CheckResult
    from skillian.settings import Settings

_STYLES = {"ok": "green", "FAULT": "bold red", "absent": "yellow"}


def doctor(sources: SourcesFile = None) -> None:
    """Check the settings, sources, model, session store, skills, sandbox and optional packages.

    The model gets one short question, then ten about the demo, whose answers are known.

    Exit codes: 0 no faults, 1 faults.
    """
    from pydantic import ValidationError

    from skillian.cli.setup.checks import CheckResult, CheckVerdict
    from skillian.settings import Settings

    try:
        settings = Settings()
    except ValidationError as error:
        for fault in settings_faults(error):
            _show(
                CheckResult(
                    "settings", CheckVerdict.FAULT, fault, "change it in the environment or in .env"
                )
            )
        raise typer.Exit(ExitCode.FINDINGS) from None
    if sources is not None:
        settings = settings.model_copy(update={"sources": sources})
    faults = run(_check(settings))
    out.print(f"{faults} faults" if faults != 1 else "1 fault")
    raise typer.Exit(ExitCode.FINDINGS if faults else ExitCode.OK)


async def _check(settings: Settings) -> int:
    from skillian.cli.setup.checks import CheckVerdict, check_all

    faults = 0
    with notes.status("Checking ..."):
        async for result in check_all(settings):
            _show(result)
            faults += result.verdict is CheckVerdict.FAULT
    return faults


def _show(result: CheckResult) -> None:
    out.print(f"{result.verdict:<7}", style=_STYLES[result.verdict], end="", markup=False)
    say(f"{result.part}: {result.text}", console=out)
    if result.fix:
        say(f"       {result.fix}", "dim", console=out)
