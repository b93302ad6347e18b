"""`tinyagent doctor`: tests what each trust level promises on this machine."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import tinyagent_commands
from tinyagent.cli.shell import ExitStatus, notes
from tinyagent.execution.trust import TrustLevel

if TYPE_CHECKING:
    from tinyagent.execution.doctor.examine import Examination

_MEANINGS = {
    TrustLevel.LOCAL: "a process without locks: a guard against accidents, not a boundary",
    TrustLevel.ISOLATED: "every lock that this kernel has",
    TrustLevel.SANDBOXED: "every promise is kept, or nothing runs",
}


def doctor(
    *, machine: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False
) -> None:
    """Test what each trust level promises on this machine, by small attacks in fresh sessions.

    Exit codes: 0 everything enforced holds, 1 something does not, or could not be tested.
    """
    from tinyagent.execution.advice import advise
    from tinyagent.execution.doctor.examine import examine_all

    try:
        with notes.status("testing what is promised") as status:
            examinations = tinyagent_commands.run(
                examine_all(lambda what: status.update(f"testing: {what}"))
            )
    except KeyboardInterrupt:
        notes.print("Interrupted.", style="yellow")
        raise typer.Exit(ExitStatus.INTERRUPTED) from None
    advice = advise(examinations)
    if machine:
        typer.echo(json.dumps(_as_json(examinations, advice), ensure_ascii=False, indent=2))
    else:
        _show(examinations, advice)
    sound = all(examination.is_sound for examination in examinations)
    raise typer.Exit(ExitStatus.ANSWERED if sound else ExitStatus.FAILED)


def _about_here() -> dict[str, str]:
    return {
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "python": platform.python_version(),
        "user": "root" if sys.platform != "win32" and os.geteuid() == 0 else "ordinary",
    }


def _as_json(examinations: Sequence[Examination], advice: list[str]) -> dict[str, object]:
    from tinyagent.execution.doctor.examine import as_json

    return {
        "here": _about_here(),
        "levels": [as_json(examination) for examination in examinations],
        "how_to_get_more": advice,
    }


def _show(examinations: Sequence[Examination], advice: list[str]) -> None:
    console = Console(highlight=False, markup=False, emoji=False)
    console.print(verdict(examinations), style="bold", soft_wrap=True)
    here = _about_here()
    console.print(
        f"{here['system']} on {here['machine']}, Python {here['python']}, {here['user']} user"
    )
    strongest_first = reversed(_alike(examinations))
    for alike in sorted(strongest_first, key=lambda group: not group[0].trials):
        console.print()
        console.print(_table(alike) if alike[0].trials else _absence(alike[0]))
    if advice:
        console.print("\nHow to get more:")
        for line in advice:
            console.print(f"- {line}")


def verdict(examinations: Sequence[Examination]) -> str:
    """Whether untrusted code can run here, in one line."""
    failed = [
        f"{trial.guarantee.id} at {each.trust_level}"
        for each in examinations
        for trial in each.failed
    ]
    if failed:
        return (
            "Verdict: do not run untrusted code here. Promised, but not held or not tested:"
            f" {', '.join(dict.fromkeys(failed))}."
        )
    levels = {each.trust_level: each for each in examinations if each.trials}
    if TrustLevel.SANDBOXED in levels:
        return "Verdict: untrusted code can run here, at isolated and at sandboxed."
    if TrustLevel.ISOLATED not in levels:
        return "Verdict: only trusted code can run here: there is no isolation on this machine."
    lacking = [t.guarantee for t in levels[TrustLevel.ISOLATED].trials if not t.guarantee.enforced]
    without = f", without {', '.join(each.id for each in lacking)}" if lacking else ""
    return f"Verdict: untrusted code can run here at isolated{without}; sandboxed is not available."


def _alike(examinations: Sequence[Examination]) -> list[list[Examination]]:
    """Group examinations with the same result, so that one table shows them."""
    groups: dict[object, list[Examination]] = {}
    for examination in examinations:
        outcome = tuple((trial.guarantee, trial.verdict) for trial in examination.trials)
        groups.setdefault(outcome or id(examination), []).append(examination)
    return list(groups.values())


def _title(examination: Examination) -> str:
    engine = f" by {examination.engine}" if examination.engine else ""
    return f"{examination.trust_level}{engine}: {_MEANINGS[examination.trust_level]}"


def _absence(examination: Examination) -> str:
    return f"{_title(examination)}\nNot available: {examination.unavailable}"


def _table(alike: Sequence[Examination]) -> Table:
    from tinyagent.execution.doctor.examine import ProbeVerdict

    styles = {
        ProbeVerdict.HELD: "green",
        ProbeVerdict.BROKEN: "bold red",
        ProbeVerdict.UNTRIED: "yellow",
        ProbeVerdict.NOT_PROMISED: "dim",
    }
    title = "\n".join(map(_title, alike))
    table = Table(title=title, title_justify="left", title_style="bold")
    for name, ratio in (("promise", 4), ("enforced by", 4), ("tried", 7), ("verdict", 2)):
        table.add_column(name, ratio=ratio, overflow="fold")
    for trial in alike[0].trials:
        by = (
            trial.guarantee.by
            if trial.guarantee.enforced
            else f"not enforced: {trial.guarantee.by}"
        )
        verdict = Text(str(trial.verdict), style=styles[trial.verdict])
        table.add_row(
            Text(f"{trial.guarantee.id} {trial.guarantee.promise}".strip()),
            Text(by),
            Text(trial.tried),
            verdict,
        )
    return table
