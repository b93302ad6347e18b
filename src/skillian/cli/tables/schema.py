"""`skillian schema`: how the columns of two tables differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from skillian.cli.shell import (
    ExitCode,
    SourcesFile,
    check_output,
    column_map,
    listed,
    out,
    run,
    say,
)
from skillian.display import as_text, show_rows

if TYPE_CHECKING:
    from skillian.data.results.rows import Proposal
    from skillian.data.schema.diff import SchemaColumn, SchemaDiff, SchemaPair


class SchemaFormat(StrEnum):
    """The formats of the report on two schemas."""

    TABLE = "table"
    JSON = "json"
    JUNIT = "junit"


class SchemaFailOn(StrEnum):
    """Which differences are findings: those that lose data, or any."""

    LOSS = "loss"
    SCHEMA = "schema"


_SUFFIXES = {".txt": SchemaFormat.TABLE, ".json": SchemaFormat.JSON, ".xml": SchemaFormat.JUNIT}
_NAMED = "a source, a file, or URL#table"
_RELATIONS = {"equivalent": "=", "widens": "holds more", "loses": "loses", "differs": "other kind"}


def schema(  # noqa: PLR0913 - the options of a command are its arguments
    a: Annotated[str, typer.Argument(metavar="A", help=f"The baseline: {_NAMED}.")],
    b: Annotated[str, typer.Argument(metavar="B", help=f"What to compare with A: {_NAMED}.")],
    mapping: Annotated[
        list[str] | None,
        typer.Option("--map", help="A column with another name in B, as a=b; repeatable."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Columns to leave out: a,b; repeatable.")
    ] = None,
    *,
    form: Annotated[
        SchemaFormat | None,
        typer.Option("--format", help="Default: by the suffix of OUTPUT, otherwise a table."),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Write the report to this file.")] = None,
    fail_on: Annotated[
        SchemaFailOn, typer.Option(help="What is a finding: what loses data, or any difference.")
    ] = SchemaFailOn.LOSS,
    sources: SourcesFile = None,
) -> None:
    """Compare the columns of two tables: names, types, NULL, order, collation, primary key.

    Exit codes: 0 no findings, 1 findings (a column on one side only, a type that loses), 2 could
    not compare.
    """
    from skillian.cli.compare_input import addressed

    check_output(output)
    form = form or _format_of(output)
    pairs = column_map(mapping or ())
    names = addressed(a, b)
    diff, proposals = run(_compared(names, pairs, listed(ignore or ()), sources, output))
    text = _text(diff, proposals, form, every=fail_on is SchemaFailOn.SCHEMA)
    if output is not None:
        from skillian.cli.compare_report import write_text

        if not write_text(output, text):
            show_schema(out, diff, proposals)
            raise typer.Exit(ExitCode.COULD_NOT)
        say(f"The report is in {output}")
    elif form is SchemaFormat.TABLE:
        show_schema(out, diff, proposals)
    else:
        typer.echo(text, nl=False)
    findings = diff.differences if fail_on is SchemaFailOn.SCHEMA else diff.findings
    raise typer.Exit(ExitCode.FINDINGS if findings else ExitCode.OK)


def show_schema(console: Console, diff: SchemaDiff, proposals: Sequence[Proposal]) -> None:
    """Print the columns of both sides next to each other, and the differences in words."""
    from skillian.cli.compare_report import mapping_advice

    rows = [
        *((_words(pair.a), _words(pair.b), _relation(pair)) for pair in diff.pairs),
        *((_words(column), "", "only in a") for column in diff.only_in_a),
        *(("", _words(column), "only in b") for column in diff.only_in_b),
    ]
    show_rows(console, (f"a: {diff.source_a}", f"b: {diff.source_b}", ""), rows)
    lines = [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in diff.sentences]
    lines += [f"{each.sentence}." for each in proposals]
    for line in (*lines, *mapping_advice([(each.a, each.b) for each in proposals])):
        say(line, console=console)
    if not diff.differences:
        console.print("The schemas are equivalent.", style="green")


def _words(column: SchemaColumn) -> str:
    return f"{column.name} {column.type}{' NOT NULL' if column.nullable is False else ''}"


def _relation(pair: SchemaPair) -> str:
    return " ".join((_RELATIONS[pair.relation.kind], ", ".join(pair.relation.losses))).strip()


def _format_of(output: Path | None) -> SchemaFormat:
    if output is None:
        return SchemaFormat.TABLE
    form = _SUFFIXES.get(output.suffix.lower())
    if form is None:
        known = ", ".join(_SUFFIXES)
        raise typer.BadParameter(
            f"{output} has no suffix of a report format; supported suffixes: {known}; or use"
            " --format",
            param_hint="--output",
        )
    return form


async def _compared(
    names: tuple[str, str],
    mapping: dict[str, str],
    ignore: Iterable[str],
    sources: Path | None,
    output: Path | None,
) -> tuple[SchemaDiff, tuple[Proposal, ...]]:
    """The difference of two tables' schemas, and proposals of renamed columns."""
    from skillian.cli.compare_input import named_by_command
    from skillian.cli.compare_report import check_inputs
    from skillian.data import sql
    from skillian.data.declare.sources import Connections
    from skillian.data.query.binding import Binder, match_name
    from skillian.data.schema.diff import compare_schemas, distinct_names
    from skillian.data.tables.place import SideRows
    from skillian.data.tables.proposals import proposed_renames
    from skillian.errors import UnknownNameError

    registry, (a, b) = await named_by_command(names, sources)
    check_inputs(registry, (a, b), [output])
    async with Connections(registry) as connections:
        binder = Binder(registry, connections)
        bound = await binder.bind(a), await binder.bind(b)
        one, other = bound[0].table, bound[1].table
        known = {*one.columns, *one.forbidden, *other.columns, *other.forbidden}
        for name in ignore:
            if match_name(name, known) is None:
                raise UnknownNameError("column", name, known)
        names = distinct_names((a, b))
        diff = compare_schemas(one, other, mapping, [*ignore], names=names)
        only_a = [column.name for column in diff.only_in_a]
        only_b = [column.name for column in diff.only_in_b]
        values = sql.BoundValues()
        sides = SideRows(bound[0], (), values), SideRows(bound[1], (), values)
        return diff, await proposed_renames(only_a, only_b, sides)


def _text(
    diff: SchemaDiff, proposals: Sequence[Proposal], form: SchemaFormat, *, every: bool
) -> str:
    from skillian.reports.tables.schema import schema_json, schema_junit

    if form is SchemaFormat.JSON:
        return schema_json(diff, proposals, every=every)
    if form is SchemaFormat.JUNIT:
        return schema_junit(diff, proposals, every=every)
    return as_text(lambda console: show_schema(console, diff, proposals))
