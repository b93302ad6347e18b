"""`skillian skills`: lists, creates and checks skills."""

from pathlib import Path
from typing import Annotated

import typer

from skillian.cli.shell import ExitCode, explained, out, read_settings, say
from skillian.display import show_rows

skills_app = typer.Typer(help="Skills: tools, knowledge and instructions.", no_args_is_help=True)


@skills_app.command("list")
def list_skills() -> None:
    """List the skills that skillian uses, and their folders."""
    from skillian.skills.discovery import find_skills
    from skillian.skills.front_matter import FILE, read_skill_file

    with explained():
        folders = find_skills(read_settings().skills)
        rows = [(folder, read_skill_file(folder / FILE)[0]) for folder in folders]
    for folder, front in rows:
        lines = (front.name, f"  {front.description}", f"  {folder}")
        say("\n".join(lines), console=out)


@skills_app.command("new")
def new(
    name: Annotated[str, typer.Argument(help="Lower-case letters, digits and hyphens.")],
    folder: Annotated[
        Path, typer.Option("--in", help="The folder in which to create the skill's folder.")
    ] = Path(),
) -> None:
    """Write a small working skill that you can change."""
    from skillian.skills.writing import write_skill

    with explained():
        path = write_skill(name, folder)
    out.print(f"Wrote {path}. Next: skillian skills check {path}", markup=False, soft_wrap=True)


@skills_app.command("check")
def check(
    path: Annotated[Path, typer.Argument(help="A skill's folder, or a folder of skills.")],
) -> None:
    """Check skills against the Agent Skills format, and load their `tools.py`.

    Exit codes: 0 no faults, 1 faults.
    """
    from skillian.errors import ConfigurationError
    from skillian.skills.discovery import skills_in
    from skillian.skills.loader import load_skill

    has_faults = False
    try:
        folders = list(skills_in(path))
    except ConfigurationError as error:
        say(str(error), "red")
        raise typer.Exit(ExitCode.FINDINGS) from None
    for folder in folders:
        try:
            skill = load_skill(folder, None)
        except ConfigurationError as error:
            has_faults = True
            say(str(error), "red")
            continue
        rows = [(tool.name, ", ".join(tool.phrases), tool.description) for tool in skill.tools]
        out.print(
            f"{skill.name}: no faults; tools: {len(skill.tools)},"
            f" knowledge passages: {len(skill.knowledge)}",
            markup=False,
        )
        if rows:
            show_rows(out, ("tool", "phrases", "description"), rows)
    raise typer.Exit(ExitCode.FINDINGS if has_faults else ExitCode.OK)
