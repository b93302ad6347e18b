"""`skillian sources`: lists sources, checks their declaration, and writes a first one."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from skillian.cli.shell import (
    AsJson,
    ExitCode,
    SourcesFile,
    check_output,
    notes,
    out,
    run,
    sources_file,
)
from skillian.display import printable, show_rows

if TYPE_CHECKING:
    from skillian.data.declare.check import SourceFinding
    from skillian.data.declare.infer import Inferred

sources_app = typer.Typer(help="The configured sources.", no_args_is_help=True)


@sources_app.command("list")
def list_sources(*, sources: SourcesFile = None, as_json: AsJson = False) -> None:
    """List the sources with their dimensions, measures, row counts and freshness."""
    from skillian.data.declare.sources import SourceRegistry
    from skillian.data.services import DataServices

    path = sources_file(sources)

    async def work() -> list[dict[str, Any]]:
        async with DataServices(SourceRegistry.load(path)) as services:
            return [source.to_dict() for source in await services.catalogue.sources()]

    infos = run(work())
    if as_json:
        typer.echo(json.dumps(infos, ensure_ascii=False, indent=2, default=str))
        return
    for source in infos:
        freshness = f", up to {source['freshness']}" if source["freshness"] else ""
        lines = (
            source["name"],
            f"  {source['description']}" if source["description"] else "",
            f"  dimensions: {', '.join(source['dimensions'])}",
            f"  measures: {', '.join(source['measures'])}" if source["measures"] else "",
            f"  {source['row_count']} rows{freshness}",
        )
        out.print(printable("\n".join(filter(None, lines))), markup=False)


@sources_app.command("check")
def check(sources: SourcesFile = None) -> None:
    """Check each source against its data: tables, types, values, NULLs and keys.

    Exit codes: 0 no faults, 1 faults, 2 could not check.
    """
    from skillian.data.declare.check import check_sources
    from skillian.data.declare.sources import SourceRegistry

    path = sources_file(sources)

    async def work() -> list[SourceFinding]:
        findings: list[SourceFinding] = []
        with notes.status("Checking ...") as status:
            async for finding in check_sources(SourceRegistry.load(path), _starting):
                done = f"{finding.source}: {finding.part} done"
                status.update(Text(printable(f"Checking ... {done}")))
                findings.append(finding)
        return findings

    findings = run(work())
    rows = [
        (finding.source, finding.part, "FAULT" if finding.is_fault else "ok", finding.text)
        for finding in findings
    ]
    show_rows(out, ("source", "part", "", "result"), rows)
    faults = sum(finding.is_fault for finding in findings)
    out.print(f"{faults} faults" if faults != 1 else "1 fault")
    raise typer.Exit(ExitCode.FINDINGS if faults else ExitCode.OK)


@sources_app.command("infer")
def infer(
    urls: Annotated[
        list[str],
        typer.Argument(
            metavar="URL...",
            help="Databases and folders: data/, shop.duckdb, postgresql://…; may contain ${ENV}.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option(help="The file to write; default the terminal.")
    ] = None,
) -> None:
    """Write a first sources.yaml for databases. Paths in URLs are relative to that file."""
    from skillian.data.declare.infer import infer_sources
    from skillian.data.declare.sources_yaml import secret_variable, written

    check_output(output)
    if output is not None and output.exists():
        raise typer.BadParameter(f"{output} exists already", param_hint="--output")
    folder = output.resolve().parent if output is not None else Path.cwd()
    urls = [_url_of(name, folder) for name in urls]

    async def work() -> list[Inferred]:
        databases: list[Inferred] = []
        for url in urls:
            databases.append(await infer_sources(url, folder, databases, _starting))
        return databases

    databases = list(zip(run(work()), urls, strict=True))
    if not any(inferred.sources for inferred, _ in databases):
        names = ", ".join(inferred.connection for inferred, _ in databases)
        raise typer.BadParameter(f"there is no table in {names}", param_hint="URL")
    text = written(databases)
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise typer.BadParameter(
            f"{output} cannot be written: {error.strerror}", param_hint="--output"
        ) from None
    for inferred, url in databases:
        variable = secret_variable(inferred.connection, url)
        if variable is not None:
            notes.print(
                f"Set {variable} to the URL, which is not written to the file.", markup=False
            )
    count = sum(len(inferred.sources) for inferred, _ in databases)
    notes.print(
        f"Wrote {count} {'source' if count == 1 else 'sources'}."
        f" Next: skillian sources check --sources {shlex.quote(str(output))}",
        markup=False,
    )


def _starting(name: str) -> None:
    notes.print(f"{printable(name)} ...", style="dim", markup=False)


def _url_of(name: str, folder: Path) -> str:
    """The URL of a database, or of a folder or a database file that is named by its path."""
    from skillian.connectors.files.options import split_name
    from skillian.data.named import database_kind

    if "://" in name or "${" in name:
        return name
    stated, query = split_name(name)
    path = Path(stated)
    kind = "files" if path.is_dir() else database_kind(path)
    if not kind:
        reason = (
            f"it is not a database; for files, name their folder: {path.parent}"
            if path.exists()
            else f"there is no such folder or database file in {Path.cwd()}"
        )
        raise typer.BadParameter(f"{name}: {reason}", param_hint="URL")
    place = path if path.is_absolute() else os.path.relpath(path, folder)
    return f"{kind}:///{place}" + (f"?{query}" if query else "")
