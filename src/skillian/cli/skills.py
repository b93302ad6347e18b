"""`skillian skills`: those there are, a new one, whether one is as it should be."""

from pathlib import Path
from typing import Annotated

import typer

from skillian.cli.shell import ExitCode, explained, notes, out, read_settings
from skillian.display import printable, show_rows

skills_app = typer.Typer(help="The skills: tools, knowledge, instructions.", no_args_is_help=True)


@skills_app.command("list")
def list_skills() -> None:
    """Show the skills that `ask` and `serve` use, and where they lie."""
    from skillian.skills.discovery import find_skills
    from skillian.skills.front_matter import FILE, read_skill_file

    with explained():
        folders = find_skills(read_settings().skills)
        rows = [(folder, read_skill_file(folder / FILE)[0]) for folder in folders]
    for folder, front in rows:
        lines = (front.name, f"  {front.description}", f"  {folder}")
        out.print(printable("\n".join(lines)), markup=False, soft_wrap=True)


@skills_app.command("new")
def new(
    name: Annotated[str, typer.Argument(help="Lower-case letters, digits and hyphens.")],
    folder: Annotated[Path, typer.Option("--in", help="Where to make its folder.")] = Path(),
) -> None:
    """Write a small skill that works, to change from there."""
    from skillian.skills.writing import write_skill

    with explained():
        made = write_skill(name, folder)
    out.print(f"{made} written; next: skillian skills check {made}", markup=False, soft_wrap=True)


@skills_app.command("check")
def check(
    path: Annotated[Path, typer.Argument(help="A skill's folder, or a folder of skills.")],
) -> None:
    """Check skills by the rules of the Agent Skills format, and run their `tools.py`.

    Exit codes: 0 no fault, 1 faults.
    """
    from skillian.errors import ConfigurationError
    from skillian.skills.discovery import skills_in
    from skillian.skills.loader import load_skill

    faulty = False
    try:
        folders = list(skills_in(path))
    except ConfigurationError as error:
        notes.print(printable(str(error)), style="red", markup=False, soft_wrap=True)
        raise typer.Exit(ExitCode.FINDINGS) from None
    for folder in folders:
        try:
            skill = load_skill(folder, None)
        except ConfigurationError as error:
            faulty = True
            notes.print(printable(str(error)), style="red", markup=False, soft_wrap=True)
            continue
        rows = [(tool.name, ", ".join(tool.phrases), tool.description) for tool in skill.tools]
        out.print(
            f"{skill.name}: no fault; tools: {len(skill.tools)},"
            f" passages of knowledge: {len(skill.knowledge)}",
            markup=False,
        )
        if rows:
            show_rows(out, ("tool", "phrases", "does"), rows)
    raise typer.Exit(ExitCode.FINDINGS if faulty else ExitCode.OK)
